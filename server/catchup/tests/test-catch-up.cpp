/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a slow client is sent: all that has changed and little else, in pieces of the requested
 * size, the latest change among the first. No change waits forever.
 */
#include <config.h>

#include <algorithm>
#include <vector>

#include <common/rect.h>

#include "red-catch-up.h"
#include "red-stream-policy.h"
#include "test-glib-compat.h"

#include "push-visibility.h"

enum { SIDE = 1000 };

struct Region: public QRegion
{
    Region() { region_init(this); }
    Region(int left, int top, int right, int bottom)
    {
        region_init(this);
        add(left, top, right, bottom);
    }
    Region(const Region &) = delete;
    ~Region() { region_destroy(this); }

    void add(int left, int top, int right, int bottom)
    {
        const SpiceRect rect = { left, top, right, bottom };
        region_add(this, &rect);
    }
};

static int64_t pixels_of(const QRegion *region)
{
    uint32_t n_rects;
    SpiceRect *rects = region_dup_rects(region, &n_rects);
    int64_t pixels = 0;

    for (uint32_t i = 0; i < n_rects; ++i) {
        pixels += int64_t{rects[i].right - rects[i].left} * (rects[i].bottom - rects[i].top);
    }
    g_free(rects);
    return pixels;
}

static void add_random(Region *region, GRand *rand, int boxes)
{
    for (int i = 0; i < boxes; ++i) {
        const int left = g_rand_int_range(rand, 0, SIDE - 100);
        const int top = g_rand_int_range(rand, 0, SIDE - 100);

        region->add(left, top, left + g_rand_int_range(rand, 1, 100),
                    top + g_rand_int_range(rand, 1, 100));
    }
}

static bool is_late(const RedCatchUpPath &path, uint64_t since)
{
    return path.refused(since) > RED_CATCH_UP_LATE;
}

/* A drawing is late if the path has not carried it for so long, not if nothing tried to send it. */
static void late_by_the_path()
{
    const uint64_t start = 1000000, drawn = start - RED_CATCH_UP_LATE * 2;
    RedCatchUpPath path;

    /* this thread has slept since it was drawn */
    g_assert_false(is_late(path, drawn));
    path.pushed(start, true);
    g_assert_false(is_late(path, drawn));
    /* and sleeps again: then the path takes all */
    path.pushed(start + RED_CATCH_UP_LATE * 2, false);
    g_assert_false(is_late(path, drawn));

    path.pushed(start, true);
    path.pushed(start + RED_CATCH_UP_LATE, true);
    g_assert_false(is_late(path, drawn));
    path.pushed(start + RED_CATCH_UP_LATE + 1, true);
    g_assert_true(is_late(path, drawn));
    g_assert_true(is_late(path, start));
    g_assert_false(is_late(path, start + 1));
    /* what comes then waits anew */
    path.pushed(start + RED_CATCH_UP_LATE + 2, false);
    g_assert_false(is_late(path, drawn));
}

/* No drawing waits much longer for the pipe than for the path. */
static void late_as_the_path()
{
    g_assert_cmpuint(red_catch_up_late(0), ==, RED_CATCH_UP_LATE);
    g_assert_cmpuint(red_catch_up_late(200), ==, RED_CATCH_UP_LATE / 3);
    g_assert_cmpuint(red_catch_up_late(60 * 1000), ==, 90 * 1000);
    g_assert_cmpuint(red_catch_up_late(600 * 1000), ==, RED_CATCH_UP_LATE);
}

/* The pieces contain all that has changed, none is too large, and they end. */
static void all_is_shown()
{
    GRand *rand = g_rand_new_with_seed(7);

    for (int i = 0; i < 200; ++i) {
        const uint32_t limit = g_rand_int_range(rand, 1, 20000);
        RedCatchUpArea area;
        Region changed, shown, nothing;
        SpiceRect piece;
        int pieces = 0;
        int64_t sent = 0;

        for (int round = 0; round < 3; ++round) {
            Region more;
            add_random(&more, rand, g_rand_int_range(rand, 1, 40));
            area.add(&more);
            region_or(&changed, &more);
            area.make_ready(&nothing);
            g_assert_true(area.is_dirty(&nothing));
            for (int n = 0; n < 5 && area.take(limit, &piece); ++n) {
                region_add(&shown, &piece);
                sent += int64_t{piece.right - piece.left} * (piece.bottom - piece.top);
            }
        }
        while (area.take(limit, &piece)) {
            const int64_t pixels = int64_t{piece.right - piece.left} * (piece.bottom - piece.top);

            g_assert_cmpint(pixels, >, 0);
            g_assert_cmpint(pixels, <=, limit);
            region_add(&shown, &piece);
            sent += pixels;
            g_assert_cmpint(++pieces, <, 3 * SIDE * SIDE);
        }
        g_assert_true(area.is_empty());
        g_assert_false(area.is_dirty(&nothing));
        g_assert_true(region_contains(&shown, &changed));
        /* each round may change what was shown before; no box is half empty */
        g_assert_cmpint(sent, <=, 3 * 2 * pixels_of(&changed));
    }
    g_rand_free(rand);
}

/* Of a surface that has become smaller nothing is taken that is not there, ready or not. */
static void nothing_beside_the_surface()
{
    GRand *rand = g_rand_new_with_seed(8);

    for (int i = 0; i < 200; ++i) {
        const SpiceRect bounds = {
            0, 0, g_rand_int_range(rand, 0, SIDE), g_rand_int_range(rand, 0, SIDE)
        };
        RedCatchUpArea area;
        Region changed, shown, nothing;
        SpiceRect piece;

        for (int round = 0; round < 3; ++round) {
            Region more;
            add_random(&more, rand, g_rand_int_range(rand, 1, 40));
            area.add(&more);
            region_or(&changed, &more);
            if (round < 2) {
                area.make_ready(&nothing);
                area.take(100, &piece);
                region_add(&shown, &piece);
            }
        }
        area.keep(&bounds);
        red_catch_up_keep(&changed, &bounds);
        area.make_ready(&nothing);
        while (area.take(20000, &piece)) {
            g_assert_true(rect_contains(&bounds, &piece));
            region_add(&shown, &piece);
        }
        g_assert_true(area.is_empty());
        g_assert_true(region_is_empty(&changed) || region_contains(&shown, &changed));
    }
    g_rand_free(rand);
}

/* What changes while a refresh is under way was not there when it was queued. */
static void later_changes_wait()
{
    RedCatchUpArea area;
    Region first(0, 0, 10, 10), second(0, 0, 20, 10), nothing;
    SpiceRect piece;

    area.add(&first);
    g_assert_false(area.take(SIDE, &piece));
    area.make_ready(&nothing);
    area.add(&second);
    g_assert_true(area.take(SIDE, &piece));
    g_assert_cmpint(piece.right, ==, 10);
    g_assert_false(area.take(SIDE, &piece));
    g_assert_true(area.is_dirty(&nothing));
    area.make_ready(&nothing);
    g_assert_true(area.take(SIDE, &piece));
    g_assert_cmpint(piece.right, ==, 20);
    g_assert_true(area.is_empty());
}

/* While all of the screen changes on and on a sweep takes no more pieces than it has, and the
 * oldest change that is not shown is never older than two sweeps. */
static void sweeps_end()
{
    enum { PIECE = SIDE * SIDE / 20, ROUNDS = 1000 };
    RedCatchUpArea area;
    Region all(0, 0, SIDE, SIDE), nothing;
    /* the last round in which each pixel was taken */
    std::vector<int> taken(SIDE * SIDE);
    SpiceRect piece;

    for (int now = 0; now < ROUNDS; ++now) {
        area.add(&all);
        area.make_ready(&nothing);
        g_assert_true(area.take(PIECE, &piece));
        for (int y = piece.top; y < piece.bottom; ++y) {
            std::fill(&taken[y * SIDE + piece.left], &taken[y * SIDE + piece.right], now);
        }
        g_assert_cmpint(now - *std::min_element(taken.begin(), taken.end()), <=, 2 * 21);
    }
}

/* Under a video nothing is refreshed, and no damage there is forgotten. */
static void hidden_waits()
{
    RedCatchUpArea area;
    Region changed(0, 0, 100, 100), video(0, 0, 100, 50), nothing;
    SpiceRect piece;

    area.add(&changed);
    area.make_ready(&video);
    g_assert_true(area.take(SIDE * SIDE, &piece));
    g_assert_cmpint(piece.top, ==, 50);
    g_assert_false(area.take(SIDE * SIDE, &piece));
    g_assert_false(area.is_dirty(&video));
    g_assert_false(area.is_empty());
    g_assert_true(area.is_dirty(&nothing));
    area.make_ready(&nothing);
    g_assert_true(area.take(SIDE * SIDE, &piece));
    g_assert_cmpint(piece.bottom, ==, 50);
    g_assert_true(area.is_empty());
}

/* A small change in a large one that is being shown comes next, each time, and the large one is
 * shown all the same. */
static void latest_first_and_nothing_last()
{
    enum { PIECE = SIDE * SIDE / 100 };
    RedCatchUpArea area;
    Region large(0, 0, SIDE, SIDE), key(700, 700, 710, 720), nothing;
    SpiceRect piece;
    int64_t left = SIDE * SIDE;

    area.add(&large);
    area.make_ready(&nothing);
    for (int rounds = 0; left > 0; ++rounds) {
        bool key_shown = false;
        Region all;

        g_assert_cmpint(rounds, <, 200);
        area.add(&key);
        area.make_ready(&nothing);
        for (int i = 0; i < 2 && area.take(PIECE, &piece); ++i) {
            key_shown |= piece.left <= 700 && piece.top <= 700 &&
                         piece.right >= 710 && piece.bottom >= 720;
        }
        g_assert_true(key_shown);
        area.get_all(&all);
        left = pixels_of(&all);
    }
}

/* Of very many small changes the bounds are kept. */
static void memory_is_bounded()
{
    RedCatchUpArea area;
    Region all;

    for (int y = 0; y < SIDE; y += 2) {
        for (int x = 0; x < 40; x += 2) {
            Region dot(x, y, x + 1, y + 1);
            area.add(&dot);
        }
    }
    area.get_all(&all);
    g_assert_cmpint(pixman_region32_n_rects(&all), <=, 1024);
}

/* Words of a line share a piece, what is far apart does not. */
static void pieces_are_shared()
{
    Region words(10, 10, 50, 26);

    words.add(58, 10, 90, 26);
    words.add(98, 10, 120, 26);
    words.add(800, 900, 810, 916);
    const SpiceRect piece = red_catch_up_piece(&words, 100000);
    g_assert_cmpint(piece.left, ==, 10);
    g_assert_cmpint(piece.top, ==, 10);
    g_assert_cmpint(piece.right, ==, 120);
    g_assert_cmpint(piece.bottom, ==, 26);
}

/* The smallest piece of a large area is a square. A larger one is wider, not lower. */
static void pieces_have_lines()
{
    enum { LINES = RedCatchUpPace::RED_CATCH_UP_PIECE_SIDE };
    const Region all(0, 0, SIDE, SIDE);

    for (int width = LINES; width <= SIDE; width += LINES) {
        const SpiceRect piece = red_catch_up_piece(&all, width * LINES);

        g_assert_cmpint(piece.right, ==, width);
        g_assert_cmpint(piece.bottom, ==, LINES);
    }
    /* and damage of fewer lines makes longer pieces, not smaller ones */
    const Region line(0, 0, 1000, LINES / 4);
    const SpiceRect piece = red_catch_up_piece(&line, LINES * LINES);

    g_assert_cmpint(piece.right, ==, 4 * LINES);
    g_assert_cmpint(piece.bottom, ==, LINES / 4);
}

/* A path that takes a piece every 100 ms gets smaller ones, one that takes them at once larger
 * ones; a time in which nothing was sent does not count. */
static void pace_follows_path()
{
    RedCatchUpPace pace;
    uint64_t now = 1000000;

    g_assert_false(pace.is_started());
    pace.start(250000);
    g_assert_true(pace.is_started());
    const uint32_t first = pace.get_pixels();
    for (int i = 0; i < 20; ++i) {
        pace.sent(now, pace.get_pixels());
        now += 100000;
    }
    const uint32_t slow = pace.get_pixels();
    g_assert_cmpuint(slow, <, first);

    pace.pause();
    now += 60 * 1000000;
    pace.sent(now, slow);
    g_assert_cmpuint(pace.get_pixels(), ==, slow);

    for (int i = 0; i < 2000; ++i) {
        pace.sent(now, pace.get_pixels());
        now += 1000;
    }
    /* a screen of 4K, at once */
    g_assert_cmpuint(pace.get_pixels(), >, 3840 * 2160);
}

/* Only flow leaves out what was drawn, for only flow knows that the path is behind. */
static void settings()
{
    RedStreamPolicy policy = { };

    for (const char *mode : { "normal", "cork", "batch" }) {
        g_assert_true(red_stream_policy_parse(mode, &policy));
        g_assert_false(policy.catch_up);
    }
    g_assert_true(red_stream_policy_parse("flow", &policy));
    g_assert_true(policy.catch_up);
    g_assert_true(red_stream_policy_parse("flow,catchup=on,catchup=off", &policy));
    g_assert_false(policy.catch_up);
    for (const char *text : { "flow,catchup=", "flow,catchup=1", "flow,catchup" }) {
        g_assert_false(red_stream_policy_parse(text, &policy));
        g_assert_true(policy.catch_up);
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/catch-up/settings", settings);
    g_test_add_func("/server/catch-up/late-by-the-path", late_by_the_path);
    g_test_add_func("/server/catch-up/late-as-the-path", late_as_the_path);
    g_test_add_func("/server/catch-up/all-is-shown", all_is_shown);
    g_test_add_func("/server/catch-up/nothing-beside-the-surface", nothing_beside_the_surface);
    g_test_add_func("/server/catch-up/later-changes-wait", later_changes_wait);
    g_test_add_func("/server/catch-up/sweeps-end", sweeps_end);
    g_test_add_func("/server/catch-up/hidden-waits", hidden_waits);
    g_test_add_func("/server/catch-up/latest-first-and-nothing-last",
                    latest_first_and_nothing_last);
    g_test_add_func("/server/catch-up/memory-is-bounded", memory_is_bounded);
    g_test_add_func("/server/catch-up/pieces-are-shared", pieces_are_shared);
    g_test_add_func("/server/catch-up/pieces-have-lines", pieces_have_lines);
    g_test_add_func("/server/catch-up/pace-follows-path", pace_follows_path);

    return g_test_run();
}
