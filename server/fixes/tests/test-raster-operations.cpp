/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A raster operation on a surface of 8 bits or of 1 writes nothing but the surface.
 */
#include <config.h>

#include "test-drawing.h"

#include "push-visibility.h"

enum { BESIDE = 0x33 };

static void check(DrawingGuest *guest, const char *warning = nullptr)
{
    const bool good = !warning;

    if (warning) {
        g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, warning);
    }
    guest->draw();
    for (size_t i = 0; i < guest->size; ++i) {
        g_assert_cmphex(guest->memory[i], ==, BESIDE);
        g_assert_cmphex(guest->memory[2 * guest->size + i], ==, BESIDE);
        g_assert_cmphex(guest->memory[guest->size + i], ==, good ? 0xff : 0);
    }
    g_test_assert_expected_messages();
}

static void invert_8()
{
    DrawingGuest guest(SPICE_SURFACE_FMT_8_A, 8, BESIDE);

    guest.drawable.type = QXL_DRAW_INVERS;
    check(&guest);
}

static void invert_1()
{
    DrawingGuest guest(SPICE_SURFACE_FMT_1_A, 1, BESIDE);

    guest.drawable.type = QXL_DRAW_INVERS;
    check(&guest, "*no raster operations on an image of 1 bits*");
}

static void rop3(uint32_t format, int bits)
{
    const SurfaceImage image;

    for (uint8_t brush : { SPICE_BRUSH_TYPE_SOLID, SPICE_BRUSH_TYPE_PATTERN }) {
        DrawingGuest guest(format, bits, BESIDE);
        auto &rop3 = guest.drawable.u.rop3;

        guest.drawable.type = QXL_DRAW_ROP3;
        rop3.src_bitmap = image.address();
        rop3.src_area = guest.drawable.bbox;
        rop3.brush.type = brush;
        if (brush == SPICE_BRUSH_TYPE_PATTERN) {
            rop3.brush.u.pattern.pat = image.address();
        } else {
            rop3.brush.u.color = 0x4242;
        }
        rop3.rop3 = 0xfe;   /* or */
        check(&guest, "*rop3 on a surface of*");
    }
}

static void rop3_8()
{
    rop3(SPICE_SURFACE_FMT_8_A, 8);
}

static void rop3_1()
{
    rop3(SPICE_SURFACE_FMT_1_A, 1);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/raster-operations/invert-8", invert_8);
    g_test_add_func("/server/raster-operations/invert-1", invert_1);
    g_test_add_func("/server/raster-operations/rop3-8", rop3_8);
    g_test_add_func("/server/raster-operations/rop3-1", rop3_1);
    return g_test_run();
}
