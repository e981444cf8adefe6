/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is encoded as JPEG has its colours when it is decoded, whatever was encoded before with the
 * same encoder.
 */
#include <config.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <jpeglib.h>

#include "jpeg-encoder.h"
#include "test-glib-compat.h"

#include "push-visibility.h"

enum { SIZE = 16 };

struct Colour
{
    uint8_t red, green, blue;
};

/* which 16 bits hold exactly */
static const Colour colours[] = {
    { 255, 0, 0 },
    { 0, 255, 0 },
    { 0, 0, 255 },
    { 255, 255, 0 },
    { 0, 0, 0 },
    { 255, 255, 255 },
};

static int no_more(JpegEncoderUsrContext *, uint8_t **)
{
    return 0;
}

static std::vector<uint8_t> picture(JpegEncoderImageType type, const Colour &colour)
{
    std::vector<uint8_t> pixels;

    for (int i = 0; i < SIZE * SIZE; ++i) {
        if (type == JPEG_IMAGE_TYPE_RGB16) {
            const uint16_t pixel = (colour.red >> 3) << 10 | (colour.green >> 3) << 5 |
                                   colour.blue >> 3;
            pixels.push_back(pixel & 0xff);
            pixels.push_back(pixel >> 8);
            continue;
        }
        pixels.push_back(colour.blue);
        pixels.push_back(colour.green);
        pixels.push_back(colour.red);
        if (type == JPEG_IMAGE_TYPE_BGRX32) {
            pixels.push_back(0);
        }
    }
    return pixels;
}

static void check(const std::vector<uint8_t> &jpeg, const Colour &colour)
{
    struct jpeg_decompress_struct decoder;
    struct jpeg_error_mgr errors;
    uint8_t line[SIZE * 3];
    JSAMPROW lines[] = { line };

    decoder.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&decoder);
    jpeg_mem_src(&decoder, const_cast<uint8_t *>(jpeg.data()), jpeg.size());
    g_assert_cmpint(jpeg_read_header(&decoder, TRUE), ==, JPEG_HEADER_OK);
    decoder.out_color_space = JCS_RGB;
    g_assert_true(jpeg_start_decompress(&decoder));
    g_assert_cmpuint(decoder.output_width, ==, SIZE);
    g_assert_cmpuint(decoder.output_height, ==, SIZE);
    while (decoder.output_scanline < decoder.output_height) {
        g_assert_cmpuint(jpeg_read_scanlines(&decoder, lines, 1), ==, 1);
        for (int x = 0; x < SIZE; ++x) {
            g_assert_cmpint(abs(line[3 * x] - colour.red), <=, 4);
            g_assert_cmpint(abs(line[3 * x + 1] - colour.green), <=, 4);
            g_assert_cmpint(abs(line[3 * x + 2] - colour.blue), <=, 4);
        }
    }
    jpeg_finish_decompress(&decoder);
    jpeg_destroy_decompress(&decoder);
}

/* One encoder for pictures of these types, as that of a channel. */
static void encode(std::vector<JpegEncoderImageType> types)
{
    JpegEncoderUsrContext usr = { no_more, no_more };
    JpegEncoderContext *encoder = jpeg_encoder_create(&usr);

    for (JpegEncoderImageType type : types) {
        for (const Colour &colour : colours) {
            std::vector<uint8_t> pixels = picture(type, colour);
            std::vector<uint8_t> jpeg(64 * 1024);
            const int size = jpeg_encode(encoder, 95, type, SIZE, SIZE, pixels.data(), SIZE,
                                         pixels.size() / SIZE, jpeg.data(), jpeg.size());

            jpeg.resize(size);
            check(jpeg, colour);
        }
    }
    jpeg_encoder_destroy(encoder);
}

static void test_bgrx()
{
    encode({ JPEG_IMAGE_TYPE_BGRX32 });
}

static void test_bgr()
{
    encode({ JPEG_IMAGE_TYPE_BGR24 });
}

static void test_16_bits()
{
    encode({ JPEG_IMAGE_TYPE_RGB16 });
}

static void test_in_turn()
{
    encode({ JPEG_IMAGE_TYPE_RGB16, JPEG_IMAGE_TYPE_BGRX32, JPEG_IMAGE_TYPE_BGR24,
             JPEG_IMAGE_TYPE_RGB16, JPEG_IMAGE_TYPE_BGR24, JPEG_IMAGE_TYPE_BGRX32 });
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/jpeg-colours/32-bits", test_bgrx);
    g_test_add_func("/server/jpeg-colours/24-bits", test_bgr);
    g_test_add_func("/server/jpeg-colours/16-bits", test_16_bits);
    g_test_add_func("/server/jpeg-colours/in-turn", test_in_turn);
    return g_test_run();
}
