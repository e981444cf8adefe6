/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A drawing with a mask is drawn where the mask says, nowhere where its position is beyond the
 * mask, and everywhere if the mask is none.
 */
#include <config.h>

#include "test-drawing.h"

#include "push-visibility.h"

enum { STRIDE = SIDE };

/* The left half of the mask is set. Drawn are the columns from @left to @right. */
static void check(uint8_t format, const QXLPoint &pos, int left, int right)
{
    uint8_t bits[STRIDE * SIDE] = {};
    BitmapImage image(format, bits, STRIDE);
    DrawingGuest guest;

    for (int y = 0; y < SIDE; ++y) {
        memset(&bits[y * STRIDE], 0xff, SIDE / 2 / 8);
    }
    guest.drawable.type = QXL_DRAW_WHITENESS;
    guest.drawable.u.whiteness.mask.bitmap = image.address();
    guest.drawable.u.whiteness.mask.pos = pos;
    guest.draw();
    for (int y = 0; y < SIDE; ++y) {
        for (int x = 0; x < SIDE; ++x) {
            g_assert_cmpint(guest.is_set(x, y), ==, x >= left && x < right);
        }
    }
}

static void position()
{
    check(SPICE_BITMAP_FMT_1BIT_BE, { 0, 0 }, 0, SIDE / 2);
    check(SPICE_BITMAP_FMT_1BIT_BE, { 8, 0 }, 0, SIDE / 2 - 8);
    check(SPICE_BITMAP_FMT_1BIT_BE, { -8, 0 }, 8, SIDE / 2 + 8);
    for (int away : { int(SIDE), 0x10000000, INT32_MAX - 2 * SIDE, INT32_MAX, INT32_MIN }) {
        check(SPICE_BITMAP_FMT_1BIT_BE, { away, 0 }, 0, 0);
        check(SPICE_BITMAP_FMT_1BIT_BE, { 0, away }, 0, 0);
    }
}

static void format()
{
    g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*bad format of a mask*");
    check(SPICE_BITMAP_FMT_8BIT_A, { 0, 0 }, 0, SIDE);
    g_test_assert_expected_messages();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/masks/position", position);
    g_test_add_func("/server/masks/format", format);
    return g_test_run();
}
