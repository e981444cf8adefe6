/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Drawing a line of any points and any style comes to an end, and lines that come from far
 * away pass where they should.
 */
#include <config.h>

#include <unistd.h>

#include "test-line.h"

#include "push-visibility.h"

static const std::vector<QXLFIXED> long_dash = { 255 << 4, 0 };

static int abs_int(int x)
{
    return x < 0 ? -x : x;
}

/* The line from the first corner to the last one. */
static void check_diagonal(LineGuest *guest)
{
    for (int y = 0; y < SIDE; ++y) {
        for (int x = 0; x < SIDE; ++x) {
            g_assert_cmpint(guest->is_set(x, y), ==, x == y);
        }
    }
}

/* A style without any length is drawn as if there were none. */
static void check_style(const std::vector<QXLFIXED> &style)
{
    for (uint8_t flags : { 0, int(SPICE_LINE_FLAGS_START_WITH_GAP) }) {
        LineGuest guest;

        guest.add(LINE, { { 0, 0 }, { SIDE << 4, SIDE << 4 } });
        guest.set_style(style, flags);
        if (style.empty()) {
            guest.drawable.u.stroke.attr.style = reinterpret_cast<uintptr_t>(&guest);
        }
        guest.draw();
        check_diagonal(&guest);
    }
}

static void styles()
{
    check_style({ 0, 0 });
    check_style({ 256 << 4, 256 << 4 });
    check_style({});
}

/* A quarter of a pixel down for each to the right, and each pixel as near to it as can be. */
static void check_slope(LineGuest *guest)
{
    for (int x = 0; x < SIDE; ++x) {
        for (int y = 0; y < SIDE; ++y) {
            const int off = abs_int(4 * (y - SIDE / 4) - x);

            if (guest->is_set(x, y)) {
                g_assert_cmpint(off, <=, 2);
            } else {
                g_assert_cmpint(off, >=, 2);
            }
        }
    }
}

static void check_far(int32_t x, int32_t y, int32_t more_y, bool dashed,
                      void (*check)(LineGuest *))
{
    LineGuest guest;

    guest.add(LINE, { { -x, -y + more_y }, { x, y + more_y } });
    if (dashed) {
        guest.set_style(long_dash);
    }
    guest.draw();
    check(&guest);
}

static void far_away(bool dashed)
{
    for (int32_t far = SIDE << 4; far <= 1 << 28; far *= 2) {
        for (int32_t sign : { 1, -1 }) {
            check_far(4 * sign * far, 4 * sign * far, 0, dashed, check_diagonal);
            check_far(4 * sign * far, sign * far, SIDE << 2, dashed, check_slope);
        }
    }
}

static void solid()
{
    far_away(false);
}

static void dashed()
{
    far_away(true);
}

/* Points at random; some such lines took for ever. */
static void any()
{
    const std::vector<QXLFIXED> style = { 200 << 4, 100 << 4 };
    GRand *rand = g_rand_new_with_seed(1);

    for (int n = 0; n < 20; ++n) {
        LineGuest guest;
        std::vector<QXLPointFix> points;

        for (int i = 0; i < 100; ++i) {
            const int shift = g_rand_int_range(rand, 0, 24);

            points.push_back({ int32_t(g_rand_int(rand)) >> shift,
                               int32_t(g_rand_int(rand)) >> shift });
        }
        guest.add(LINE, points);
        if (n % 2) {
            guest.set_style(style);
        }
        guest.draw();
    }
    g_rand_free(rand);
}

/* Curves that are straight, and one that is a point. */
static void curve(const std::vector<QXLPointFix> &points, bool seen)
{
    LineGuest guest;

    guest.add(SPICE_PATH_BEGIN, { points[0] });
    guest.add(SPICE_PATH_BEZIER | SPICE_PATH_END, { points[1], points[2], points[3] });
    guest.draw();
    if (seen) {
        check_diagonal(&guest);
    }
}

static void curves()
{
    const int32_t far = 1 << 30;
    const QXLPointFix start = { 0, 0 }, end = { SIDE << 4, SIDE << 4 };

    curve({ start, start, start, start }, false);
    curve({ start, start, end, end }, true);
    curve({ { -far, -far }, { -far / 2, -far / 2 }, { far / 2, far / 2 }, { far, far } }, true);
    curve({ { -far, 0 }, { far, -far }, { -far, far }, { 0, far } }, false);
}

/* Points that are no whole curve are left out, with and without a beginning. */
static void curve_with_a_rest()
{
    const QXLPointFix start = { 0, 0 }, end = { SIDE << 4, SIDE << 4 };

    for (int rest = 1; rest < 3; ++rest) {
        std::vector<QXLPointFix> points = { start, end, end };
        LineGuest guest;

        points.insert(points.end(), rest, start);
        guest.add(SPICE_PATH_BEGIN, { start });
        guest.add(SPICE_PATH_BEZIER | SPICE_PATH_END, points);
        points.insert(points.begin(), start);
        guest.add(SPICE_PATH_BEGIN | SPICE_PATH_BEZIER | SPICE_PATH_END, points);
        guest.draw();
        check_diagonal(&guest);
    }
}

/* Whatever has no first point is left out. */
static void no_start()
{
    for (uint32_t flags : { int(SPICE_PATH_BEZIER | SPICE_PATH_END),
                            int(SPICE_PATH_END | SPICE_PATH_CLOSE), int(LINE) }) {
        LineGuest guest;

        guest.add(LINE, { { 0, 0 }, { SIDE << 4, SIDE << 4 } });
        if (flags & SPICE_PATH_BEZIER) {
            guest.add(flags, { { 0, SIDE << 3 }, { SIDE << 3, SIDE << 4 }, { SIDE << 4, 0 } });
        } else {
            guest.add(flags, {});
        }
        guest.draw();
        check_diagonal(&guest);
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* each takes less than a second, or for ever */
    alarm(100);
    g_test_add_func("/server/endless-lines/styles", styles);
    g_test_add_func("/server/endless-lines/solid", solid);
    g_test_add_func("/server/endless-lines/dashed", dashed);
    g_test_add_func("/server/endless-lines/any", any);
    g_test_add_func("/server/endless-lines/curves", curves);
    g_test_add_func("/server/endless-lines/curve-with-a-rest", curve_with_a_rest);
    g_test_add_func("/server/endless-lines/no-start", no_start);
    return g_test_run();
}
