/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decodes a display client's images to pixels of 32 bits without alpha, from the top: LZ and
 * QUIC with spice-common, GLZ by itself. An image that is wrong ends the test. */
#ifndef TEST_IMAGE_DECODER_H_
#define TEST_IMAGE_DECODER_H_

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include <glib.h>

#include <common/draw.h>
#include <common/lz.h>
#include <common/quic.h>

#include "push-visibility.h"

class TestImageDecoder
{
public:
    using Pixels = std::vector<uint32_t>;

    TestImageDecoder()
    {
        lz_functions.error = fail_lz;
        lz_functions.more_space = [](LzUsrContext *, uint8_t **) { return 0; };
        quic_functions.error = fail_quic;
        quic_functions.more_space = [](QuicUsrContext *, uint32_t **, int) { return 0; };
        lz = lz_create(&lz_functions);
        quic = quic_create(&quic_functions);
        g_assert_true(lz && quic);
    }

    TestImageDecoder(const TestImageDecoder &) = delete;
    TestImageDecoder &operator=(const TestImageDecoder &) = delete;

    ~TestImageDecoder()
    {
        lz_destroy(lz);
        quic_destroy(quic);
    }

    /* @colours: the palette; empty for an image without one */
    Pixels decode_lz(std::vector<uint8_t> data, int width, int height,
                     const std::vector<uint32_t> &colours)
    {
        const size_t size = colours.size() * sizeof(uint32_t);
        const auto palette = static_cast<SpicePalette *>(g_malloc0(sizeof(SpicePalette) + size));
        LzImageType type;
        int lz_width, lz_height, n_pixels, top_down;

        palette->num_ents = colours.size();
        std::copy(colours.begin(), colours.end(), palette->ents);
        lz_decode_begin(lz, data.data(), data.size(), &type, &lz_width, &lz_height, &n_pixels,
                        &top_down, palette);
        g_assert_true(lz_width == width && lz_height == height && n_pixels % height == 0);
        Pixels decoded(n_pixels), pixels;
        lz_decode(lz, type == LZ_IMAGE_TYPE_RGBA ? type : LZ_IMAGE_TYPE_RGB32,
                  reinterpret_cast<uint8_t *>(decoded.data()));
        g_free(palette);
        /* lines of less than 32 bits per pixel end with a whole byte */
        for (int y = 0; y < height; ++y) {
            const auto line = decoded.begin() + y * (n_pixels / height);

            pixels.insert(pixels.end(), line, line + width);
        }
        return finish(std::move(pixels), width, top_down);
    }

    Pixels decode_quic(const std::vector<uint8_t> &data, int width, int height)
    {
        std::vector<uint32_t> words((data.size() + 3) / 4);
        Pixels pixels(width * height);
        QuicImageType type;
        int quic_width, quic_height;

        memcpy(words.data(), data.data(), data.size());
        g_assert_cmpint(quic_decode_begin(quic, words.data(), words.size(), &type, &quic_width,
                                          &quic_height), ==, QUIC_OK);
        g_assert_true(quic_width == width && quic_height == height);
        g_assert_cmpint(quic_decode(quic, type == QUIC_IMAGE_TYPE_RGBA ? type :
                                          QUIC_IMAGE_TYPE_RGB32,
                                    reinterpret_cast<uint8_t *>(pixels.data()), width * 4), ==,
                        QUIC_OK);
        return finish(std::move(pixels), width, true);
    }

    Pixels decode_glz(const std::vector<uint8_t> &data, int width, int height)
    {
        Input in = { data, 0 };

        g_assert_cmphex(in.big_endian(4), ==, LZ_MAGIC);
        in.big_endian(4);
        const int type = in.byte();
        g_assert_true((type & 15) == LZ_IMAGE_TYPE_RGB32 || (type & 15) == LZ_IMAGE_TYPE_RGBA);
        g_assert_cmpuint(in.big_endian(4), ==, width);
        g_assert_cmpuint(in.big_endian(4), ==, height);
        in.big_endian(4);
        const uint64_t id = in.big_endian(8), oldest = id - in.big_endian(4);
        Pixels pixels;

        while (pixels.size() < static_cast<size_t>(width) * height) {
            decode_glz_run(&in, id, oldest, &pixels);
        }
        g_assert_cmpuint(pixels.size(), ==, width * height);
        window.erase(window.begin(), window.lower_bound(oldest));
        window[id] = pixels;
        return finish(std::move(pixels), width, type & 16);
    }

private:
    struct Input
    {
        const std::vector<uint8_t> &data;
        size_t pos;

        uint32_t byte()
        {
            g_assert_cmpuint(pos, <, data.size());
            return data[pos++];
        }

        uint64_t big_endian(int bytes)
        {
            uint64_t value = 0;

            while (bytes-- > 0) {
                value = value << 8 | byte();
            }
            return value;
        }
    };

    /* Literal pixels, or a copy: of this image from so many pixels before, or of an earlier
     * image from so many after its first. */
    void decode_glz_run(Input *in, uint64_t id, uint64_t oldest, Pixels *pixels)
    {
        const uint32_t control = in->byte();
        size_t length = control >> 5, pixel = control & 15;
        uint64_t distance = 0;

        if (length == 0) {
            for (uint32_t i = 0; i <= control; ++i) {
                const uint32_t blue = in->byte(), green = in->byte();

                pixels->push_back(blue | green << 8 | in->byte() << 16);
            }
            return;
        }
        for (uint32_t more = length == 7 ? 255 : 0; more == 255; length += more) {
            more = in->byte();
        }
        pixel |= in->byte() << 4;
        const uint32_t flags = in->byte();
        const bool is_far = control & 16;
        int shift = is_far ? 0 : 6;
        if (is_far) {
            pixel |= (flags & 31) << 12;
        } else {
            distance = flags & 63;
        }
        for (uint32_t bytes = flags >> 6; bytes > 0; --bytes, shift += 8) {
            distance |= uint64_t{in->byte()} << shift;
        }
        if (is_far && (flags & 32)) {
            pixel |= in->byte() << 17;
        }
        if (distance == 0) {
            g_assert_cmpuint(pixel, <, pixels->size());
            for (size_t from = pixels->size() - 1 - pixel; length > 0; --length) {
                pixels->push_back(pixels->at(from++));
            }
            return;
        }
        const auto image = window.find(id - distance);
        g_assert_true(image != window.end() && image->first >= oldest);
        for (; length > 0; --length) {
            pixels->push_back(image->second.at(pixel++));
        }
    }

    static Pixels finish(Pixels &&pixels, int width, bool top_down)
    {
        const size_t lines = pixels.size() / width;

        for (size_t y = 0; !top_down && y < lines / 2; ++y) {
            std::swap_ranges(pixels.begin() + y * width, pixels.begin() + (y + 1) * width,
                             pixels.begin() + (lines - 1 - y) * width);
        }
        for (uint32_t &pixel : pixels) {
            pixel &= 0xffffff;
        }
        return std::move(pixels);
    }

    SPICE_GNUC_NORETURN static void fail_lz(LzUsrContext *, const char *format, ...)
    {
        g_error("LZ: %s", format);
    }

    SPICE_GNUC_NORETURN static void fail_quic(QuicUsrContext *, const char *format, ...)
    {
        g_error("QUIC: %s", format);
    }

    template <typename Usr> static void ignore(Usr *, const char *, ...) {}

    /* All of an image is there, and room for all of its pixels. */
    template <typename Usr> static Usr functions()
    {
        Usr usr = {};

        usr.warn = usr.info = ignore<Usr>;
        usr.malloc = [](Usr *, int size) { return g_malloc(size); };
        usr.free = [](Usr *, void *memory) { g_free(memory); };
        usr.more_lines = [](Usr *, uint8_t **) { return 0; };
        return usr;
    }

    LzUsrContext lz_functions = functions<LzUsrContext>();
    QuicUsrContext quic_functions = functions<QuicUsrContext>();
    LzContext *lz;
    QuicContext *quic;
    /* GLZ's images that later ones may refer to */
    std::map<uint64_t, Pixels> window;
};

#include "pop-visibility.h"

#endif /* TEST_IMAGE_DECODER_H_ */
