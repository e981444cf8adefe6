/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A surface without pixels, or with a stride that pixman does not take, is refused, and a drawing
 * that needs it as well.
 */
#include <config.h>

#include "test-guest-surface.h"

#include "push-visibility.h"

/* The surface is the pattern of what is drawn onto the screen. */
static void check(uint32_t width, uint32_t height, int32_t stride, uint32_t format,
                  bool good)
{
    TestGuest guest;
    auto &surface = guest.surface.u.surface_create;
    auto &fill = guest.drawable.u.fill;

    surface.width = width;
    surface.height = height;
    surface.stride = stride;
    surface.format = format;
    guest.drawable.surface_id = 0;
    guest.drawable.surfaces_dest[0] = SURFACE;
    guest.drawable.surfaces_rects[0] = { 0, 0, SIDE, SIDE };
    guest.drawable.type = QXL_DRAW_FILL;
    fill.brush.type = SPICE_BRUSH_TYPE_PATTERN;
    fill.brush.u.pattern.pat = guest.image.address();
    fill.rop_descriptor = SPICE_ROPD_OP_PUT;
    if (!good) {
        g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*surface 1 is NULL*");
    }
    guest.draw();
    guest.check(TestGuest::OWN);
}

static void good() { check(SIDE, SIDE, SIDE * 4, SPICE_SURFACE_FMT_32_xRGB, true); }
static void no_width() { check(0, SIDE, SIDE * 4, SPICE_SURFACE_FMT_32_xRGB, false); }
static void no_height() { check(SIDE, 0, SIDE * 4, SPICE_SURFACE_FMT_32_xRGB, false); }
static void odd_stride() { check(3, SIDE, 6, SPICE_SURFACE_FMT_16_555, false); }
static void odd_stride_up() { check(3, SIDE, -6, SPICE_SURFACE_FMT_16_555, false); }

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/surface-sizes/good", good);
    g_test_add_func("/server/surface-sizes/no-width", no_width);
    g_test_add_func("/server/surface-sizes/no-height", no_height);
    g_test_add_func("/server/surface-sizes/odd-stride", odd_stride);
    g_test_add_func("/server/surface-sizes/odd-stride-up", odd_stride_up);
    return g_test_run();
}
