/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A line may have a surface as its pattern.
 */
#include <config.h>

#include "test-line.h"

#include "push-visibility.h"

enum { OWN = 0x112233 };

/* The lower half of the surface has a colour; the pattern has it in the upper half. */
static void check(uint16_t mode, uint32_t lower)
{
    const SurfaceImage image;
    LineGuest guest;
    uint32_t *pixels = guest.pixels();

    std::fill_n(pixels + SIDE * SIDE / 2, SIDE * SIDE / 2, uint32_t{ OWN });
    guest.add(LINE, { { 0, 0 }, { SIDE << 4, SIDE << 4 } });
    guest.drawable.u.stroke.fore_mode = mode;
    guest.drawable.u.stroke.brush.type = SPICE_BRUSH_TYPE_PATTERN;
    guest.drawable.u.stroke.brush.u.pattern.pat = image.address();
    guest.drawable.u.stroke.brush.u.pattern.pos = { 0, SIDE / 2 };
    guest.draw();
    for (int i = 0; i < SIDE; ++i) {
        g_assert_cmphex(pixels[i * SIDE + i] & 0xffffff, ==, i < SIDE / 2 ? uint32_t{ OWN } : lower);
    }
}

static void copy()
{
    check(SPICE_ROPD_OP_PUT, 0);
}

static void raster_operation()
{
    check(SPICE_ROPD_OP_OR, OWN);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/surface-pattern/copy", copy);
    g_test_add_func("/server/surface-pattern/raster-operation", raster_operation);
    return g_test_run();
}
