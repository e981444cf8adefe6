/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Colours that a palette lacks, and what lies around a pattern, are not found on the surface.
 */
#include <config.h>

#include "test-drawing.h"

#include "push-visibility.h"

enum { OWN = 0x111111, SECRET = 0x44 };

static void check_pixels(DrawingGuest *guest, bool black)
{
    for (int i = 0; i < SIDE * SIDE; ++i) {
        const uint32_t pixel = guest->pixels()[i] & 0xffffff;

        if (pixel != 0 || !black) {
            g_assert_cmphex(pixel, ==, OWN);
        }
    }
}

/* The surface is its own pattern. */
static void pattern()
{
    const SurfaceImage image;

    for (const QXLPoint &pos : { QXLPoint{ 0, 0 }, QXLPoint{ SIDE - 1, 0 }, QXLPoint{ 0, SIDE - 1 },
                                 QXLPoint{ INT32_MAX, INT32_MAX },
                                 QXLPoint{ INT32_MIN, INT32_MIN } }) {
        DrawingGuest guest(SPICE_SURFACE_FMT_32_xRGB, 32, SECRET);
        auto &rop3 = guest.drawable.u.rop3;

        std::fill_n(guest.pixels(), SIDE * SIDE, uint32_t{ OWN });
        guest.drawable.type = QXL_DRAW_ROP3;
        rop3.src_bitmap = image.address();
        rop3.src_area = guest.drawable.bbox;
        rop3.brush.type = SPICE_BRUSH_TYPE_PATTERN;
        rop3.brush.u.pattern.pat = image.address();
        rop3.brush.u.pattern.pos = pos;
        rop3.rop3 = 0xfe;   /* or */
        guest.draw();
        check_pixels(&guest, false);
    }
}

/* A picture of all colours that a pixel can name, with a palette of @entries. */
static void check_palette(uint8_t format, uint32_t colours, uint32_t entries)
{
    const uint32_t own = OWN;
    std::vector<uint8_t> data(SIDE * SIDE);
    std::vector<uint8_t> command(sizeof(QXLPalette) + entries * sizeof(uint32_t));
    BitmapImage image(format, data.data(), SIDE);
    DrawingGuest guest;
    auto &copy = guest.drawable.u.copy;

    for (size_t i = 0; i < data.size(); ++i) {
        data[i] = i;
    }
    reinterpret_cast<QXLPalette *>(command.data())->num_ents = entries;
    for (uint32_t i = 0; i < entries; ++i) {
        memcpy(command.data() + sizeof(QXLPalette) + i * sizeof(own), &own, sizeof(own));
    }
    image.bitmap.palette = reinterpret_cast<uintptr_t>(command.data());
    guest.drawable.type = QXL_DRAW_COPY;
    copy.src_bitmap = image.address();
    copy.src_area = guest.drawable.bbox;
    copy.rop_descriptor = SPICE_ROPD_OP_PUT;
    guest.draw();
    check_pixels(&guest, entries < colours);
}

static void palettes()
{
    for (uint32_t entries : { 256, 255, 254, 16, 1, 0 }) {
        check_palette(SPICE_BITMAP_FMT_8BIT, 256, entries);
    }
    for (uint32_t entries : { 16, 15, 1, 0 }) {
        check_palette(SPICE_BITMAP_FMT_4BIT_BE, 16, entries);
    }
    for (uint32_t entries : { 2, 1, 0 }) {
        check_palette(SPICE_BITMAP_FMT_1BIT_BE, 2, entries);
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/picture-bounds/pattern", pattern);
    g_test_add_func("/server/picture-bounds/palettes", palettes);
    return g_test_run();
}
