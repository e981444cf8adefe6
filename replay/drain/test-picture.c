/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A picture of every format: its hash, and its pixels in a PNG. */

#include <glib/gstdio.h>
#include <png.h>
#include <string.h>
#include <unistd.h>

#include "picture.h"

typedef struct Case {
    const char *name;
    enum SpiceSurfaceFmt format;
    uint8_t rows[2][12];   /* as in memory: two pixels and padding */
    int hashed;            /* bytes of a row that count */
    uint8_t hash_of[2][8]; /* a row as it is hashed */
    uint32_t png_format;   /* how to read the PNG back */
    uint8_t png[2][8];     /* its rows */
} Case;

#define PAD 0xee, 0xee, 0xee, 0xee

static const Case cases[] = {
    { "xRGB32", SPICE_SURFACE_FMT_32_xRGB,
      { { 1, 2, 3, 0xff, 4, 5, 6, 7, PAD }, { 8, 9, 10, 11, 12, 13, 14, 0, PAD } },
      8, { { 1, 2, 3, 0, 4, 5, 6, 0 }, { 8, 9, 10, 0, 12, 13, 14, 0 } },
      PNG_FORMAT_RGB, { { 3, 2, 1, 6, 5, 4 }, { 10, 9, 8, 14, 13, 12 } } },
    { "ARGB32", SPICE_SURFACE_FMT_32_ARGB,
      { { 1, 2, 3, 0xff, 4, 5, 6, 7, PAD }, { 8, 9, 10, 11, 12, 13, 14, 0, PAD } },
      8, { { 1, 2, 3, 0xff, 4, 5, 6, 7 }, { 8, 9, 10, 11, 12, 13, 14, 0 } },
      PNG_FORMAT_RGBA, { { 3, 2, 1, 0xff, 6, 5, 4, 7 }, { 10, 9, 8, 11, 14, 13, 12, 0 } } },
    { "RGB565", SPICE_SURFACE_FMT_16_565, /* red, green; blue, white */
      { { 0x00, 0xf8, 0xe0, 0x07, PAD }, { 0x1f, 0x00, 0xff, 0xff, PAD } },
      4, { { 0x00, 0xf8, 0xe0, 0x07 }, { 0x1f, 0x00, 0xff, 0xff } },
      PNG_FORMAT_RGB, { { 255, 0, 0, 0, 255, 0 }, { 0, 0, 255, 255, 255, 255 } } },
    { "RGB555", SPICE_SURFACE_FMT_16_555, /* the same, the unused bit set in two */
      { { 0x00, 0xfc, 0xe0, 0x03, PAD }, { 0x1f, 0x00, 0xff, 0xff, PAD } },
      4, { { 0x00, 0x7c, 0xe0, 0x03 }, { 0x1f, 0x00, 0xff, 0x7f } },
      PNG_FORMAT_RGB, { { 255, 0, 0, 0, 255, 0 }, { 0, 0, 255, 255, 255, 255 } } },
    { "A8", SPICE_SURFACE_FMT_8_A,
      { { 1, 2, PAD }, { 3, 4, PAD } },
      2, { { 1, 2 }, { 3, 4 } },
      PNG_FORMAT_GRAY, { { 1, 2 }, { 3, 4 } } },
};

static Picture make_picture(const Case *test)
{
    return (Picture) {
        .format = test->format,
        .width = 2,
        .height = 2,
        .stride = sizeof(test->rows[0]),
        .pixels = test->rows[0],
    };
}

static void test_hash(gconstpointer opaque)
{
    const Case *test = opaque;
    Picture picture = make_picture(test);
    uint8_t expected[16];

    for (int y = 0; y < 2; y++) {
        memcpy(expected + y * test->hashed, test->hash_of[y], test->hashed);
    }

    char *sha256 = picture_sha256(&picture);
    char *wanted = g_compute_checksum_for_data(G_CHECKSUM_SHA256, expected, 2 * test->hashed);

    g_assert_cmpstr(sha256, ==, wanted);
    g_free(wanted);
    g_free(sha256);
}

static void test_png(gconstpointer opaque)
{
    const Case *test = opaque;
    Picture picture = make_picture(test);
    png_image image = { .version = PNG_IMAGE_VERSION };
    uint8_t pixels[2 * sizeof(test->png[0])];
    GError *error = NULL;
    char *path = NULL;
    int fd = g_file_open_tmp("test-picture-XXXXXX.png", &path, NULL);

    close(fd);
    g_assert_true(picture_save_png(&picture, path, &error));
    g_assert_no_error(error);

    g_assert_true(png_image_begin_read_from_file(&image, path));
    g_assert_cmpuint(image.width, ==, 2);
    g_assert_cmpuint(image.height, ==, 2);
    g_assert_cmpuint(image.format, ==, test->png_format);

    size_t row_bytes = PNG_IMAGE_ROW_STRIDE(image);

    g_assert_true(png_image_finish_read(&image, NULL, pixels, 0, NULL));
    for (int y = 0; y < 2; y++) {
        g_assert_cmpmem(pixels + y * row_bytes, row_bytes, test->png[y], row_bytes);
    }
    g_unlink(path);
    g_free(path);
}

/* 40 by 33 pixels in four blocks: red rises from left to right, the last row is white. */
static void test_blocks(void)
{
    enum { WIDTH = 40, HEIGHT = 33 };
    static const uint8_t expected[] = { 15, 0, 7, 35, 0, 7, 255, 255, 255, 255, 255, 255 };
    uint8_t pixels[HEIGHT][WIDTH][4] = { 0 };
    Picture picture = { SPICE_SURFACE_FMT_32_xRGB, WIDTH, HEIGHT, sizeof(pixels[0]), pixels[0][0] };

    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            pixels[y][x][0] = 7;
            pixels[y][x][2] = x;
        }
    }
    memset(pixels[HEIGHT - 1], 0xff, sizeof(pixels[0]));

    char *text = picture_blocks(&picture, PICTURE_BLOCK);
    gsize size;
    guchar *means = g_base64_decode(text, &size);

    g_assert_cmpmem(means, size, expected, sizeof(expected));
    g_free(means);
    g_free(text);

    text = picture_blocks(&picture, PICTURE_TILE);
    means = g_base64_decode(text, &size);
    g_assert_cmpuint(size, ==, 5 * 5 * 3);
    g_assert_cmpmem(means, 6, ((const uint8_t[]){ 3, 0, 7, 11, 0, 7 }), 6);
    g_free(means);
    g_free(text);
}

static void test_unknown_format(void)
{
    Picture picture = make_picture(&cases[0]);
    GError *error = NULL;

    picture.format = SPICE_SURFACE_FMT_1_A;
    g_assert_null(picture_sha256(&picture));
    g_assert_null(picture_blocks(&picture, PICTURE_BLOCK));
    g_assert_false(picture_save_png(&picture, "/dev/null", &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL);
    g_error_free(error);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *hash_path = g_strdup_printf("/picture/hash/%s", cases[i].name);
        char *png_path = g_strdup_printf("/picture/png/%s", cases[i].name);

        g_test_add_data_func(hash_path, &cases[i], test_hash);
        g_test_add_data_func(png_path, &cases[i], test_png);
        g_free(hash_path);
        g_free(png_path);
    }
    g_test_add_func("/picture/blocks", test_blocks);
    g_test_add_func("/picture/unknown-format", test_unknown_format);
    return g_test_run();
}
