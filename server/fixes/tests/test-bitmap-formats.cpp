/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A bitmap of a format that the canvas cannot draw on a surface is refused. The server goes on.
 */
#include <config.h>

#include "test-drawing.h"

#include "push-visibility.h"

enum { FORMATS = 256, COLOURS = 256 };

struct Surface
{
    uint32_t format;
    int bits;
    bool has_palettes;
};

static const Surface surfaces[] = {
    { SPICE_SURFACE_FMT_32_xRGB, 32, true },
    { SPICE_SURFACE_FMT_32_ARGB, 32, true },
    { SPICE_SURFACE_FMT_16_555, 16, true },
    { SPICE_SURFACE_FMT_16_565, 16, false },
    { SPICE_SURFACE_FMT_8_A, 8, false },
};

/* A picture of white, and a palette of white. */
struct White
{
    std::vector<uint8_t> data = std::vector<uint8_t>(SIDE * SIDE * 4, 0xff);
    std::vector<uint8_t> palette =
        std::vector<uint8_t>(sizeof(QXLPalette) + COLOURS * sizeof(uint32_t), 0xff);
    BitmapImage image;

    White(uint8_t format, bool has_palette):
        image(format, data.data(), SIDE * 4)
    {
        auto head = reinterpret_cast<QXLPalette *>(palette.data());

        head->num_ents = COLOURS;
        if (has_palette) {
            image.bitmap.palette = reinterpret_cast<uintptr_t>(head);
        }
    }
};

static bool draws(const Surface &surface, uint8_t format, bool has_palette)
{
    White white(format, has_palette);
    DrawingGuest guest(surface.format, surface.bits);
    auto &copy = guest.drawable.u.copy;

    guest.drawable.type = QXL_DRAW_COPY;
    copy.src_bitmap = white.image.address();
    copy.src_area = guest.drawable.bbox;
    copy.rop_descriptor = SPICE_ROPD_OP_PUT;
    guest.draw();
    return guest.is_drawn();
}

static void formats()
{
    for (int format = 0; format < FORMATS; format += format < 16 ? 1 : 239) {
        const bool uses_palette =
            format == SPICE_BITMAP_FMT_1BIT_BE || format == SPICE_BITMAP_FMT_4BIT_BE ||
            format == SPICE_BITMAP_FMT_8BIT;
        const bool has_pixels =
            format >= SPICE_BITMAP_FMT_16BIT && format <= SPICE_BITMAP_FMT_RGBA;

        if (format == SPICE_BITMAP_FMT_8BIT_A) {
            continue;
        }
        for (bool has_palette : { false, true }) {
            g_assert_cmpint(draws(surfaces[0], format, has_palette), ==,
                            has_pixels || (uses_palette && has_palette));
        }
    }
}

static void depths()
{
    for (const Surface &surface : surfaces) {
        for (uint8_t format : { SPICE_BITMAP_FMT_1BIT_BE, SPICE_BITMAP_FMT_4BIT_BE,
                                SPICE_BITMAP_FMT_8BIT }) {
            g_assert_cmpint(draws(surface, format, true), ==, surface.has_palettes);
        }
    }
}

/* A palette that is not used changes nothing. */
static void pixels()
{
    for (const Surface &surface : surfaces) {
        for (uint8_t format : { SPICE_BITMAP_FMT_16BIT, SPICE_BITMAP_FMT_24BIT,
                                SPICE_BITMAP_FMT_32BIT, SPICE_BITMAP_FMT_RGBA,
                                SPICE_BITMAP_FMT_8BIT_A }) {
            g_assert_cmpint(draws(surface, format, true), ==, draws(surface, format, false));
        }
    }
}

/* Neither is a mask with a palette refused. */
static void mask()
{
    for (const Surface &surface : surfaces) {
        for (bool has_palette : { false, true }) {
            White white(SPICE_BITMAP_FMT_1BIT_LE, has_palette);
            DrawingGuest guest(surface.format, surface.bits);

            guest.drawable.type = QXL_DRAW_WHITENESS;
            guest.drawable.u.whiteness.mask.bitmap = white.image.address();
            guest.draw();
            g_assert_true(guest.is_drawn());
        }
    }
}

/* As the brush of text, on a surface of one bit, where nothing is copied. */
static void one_bit()
{
    WhiteGlyph glyph;
    const Surface surface = { SPICE_SURFACE_FMT_1_A, 1, false };
    White white(SPICE_BITMAP_FMT_8BIT, true);
    DrawingGuest guest(surface.format, surface.bits);
    auto &text = guest.drawable.u.text;

    guest.drawable.type = QXL_DRAW_TEXT;
    text.str = glyph.address();
    text.fore_brush.type = SPICE_BRUSH_TYPE_PATTERN;
    text.fore_brush.u.pattern.pat = white.image.address();
    text.fore_mode = SPICE_ROPD_OP_PUT;
    guest.draw();
    g_assert_false(guest.is_drawn());
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of each */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/bitmap-formats/formats", formats);
    g_test_add_func("/server/bitmap-formats/depths", depths);
    g_test_add_func("/server/bitmap-formats/pixels", pixels);
    g_test_add_func("/server/bitmap-formats/mask", mask);
    g_test_add_func("/server/bitmap-formats/one-bit", one_bit);
    return g_test_run();
}
