/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A drawing that reads what it draws on reads no memory around it: it is refused, with a
 * warning, and the guest has its command back.
 */
#include <config.h>

#include "test-guest-surface.h"

#include "push-visibility.h"

/* Draws what is in @area of the surface onto all of it. */
static void check(const QXLRect &area, bool good)
{
    TestGuest guest;
    QXLDrawable &drawable = guest.drawable;

    drawable.type = QXL_DRAW_ALPHA_BLEND;
    drawable.self_bitmap = 1;
    drawable.self_bitmap_area = area;
    /* without a picture of its own */
    drawable.u.alpha_blend.src_area = drawable.bbox;
    drawable.u.alpha_blend.alpha = 255;
    if (good) {
        guest.draw();
        guest.check(TestGuest::OWN);
    } else {
        guest.refuse("*bad area of a self bitmap*");
    }
}

static void self_bitmap()
{
    /* top, left, bottom, right */
    check({ 0, 0, SIDE, SIDE }, true);
    check({ SIDE / 2, 0, SIDE, 1 }, true);
    /* before, behind and beside it */
    check({ -SIDE, 0, 0, SIDE }, false);
    check({ SIDE, 0, 2 * SIDE, SIDE }, false);
    check({ 0, -1, SIDE, SIDE - 1 }, false);
    check({ 0, 1, SIDE, SIDE + 1 }, false);
    /* without pixels */
    check({ 0, 0, 0, SIDE }, false);
    check({ 0, SIDE, SIDE, 0 }, false);
    /* what overflows when it is multiplied or subtracted */
    check({ INT32_MIN, 0, INT32_MAX, SIDE }, false);
    check({ 0, INT32_MIN, SIDE, INT32_MAX }, false);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/self-bitmap", self_bitmap);
    return g_test_run();
}
