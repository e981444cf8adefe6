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
#include "red-stream-path.h"
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
    return path.waited(since) > RED_CATCH_UP_LATE;
}

/* Of each pixel, as slow and simple as can be: whether it is in what RedCatchUpArea has. */
struct Pixels
{
    enum { SIDE = 60 };
    std::vector<bool> waiting = std::vector<bool>(SIDE * SIDE);
    std::vector<bool> ready = std::vector<bool>(SIDE * SIDE);

    template <typename Do> static void each(const QRegion *where, Do &&action)
    {
        for (int y = 0; y < SIDE; ++y) {
            for (int x = 0; x < SIDE; ++x) {
                if (region_contains_point(where, x, y)) {
                    action(y * SIDE + x);
                }
            }
        }
    }

    void copied(const QRegion *dest, int dx, int dy)
    {
        for (auto pixels : { &waiting, &ready }) {
            const std::vector<bool> before = *pixels;

            each(dest, [&](int i) { (*pixels)[i] = before[i - dy * SIDE - dx]; });
        }
    }

    void check(const RedCatchUpArea &area) const
    {
        Region all;
        bool is_empty = true;

        area.get_all(&all);
        for (int i = 0; i < SIDE * SIDE; ++i) {
            const bool is_there = waiting[i] || ready[i];

            g_assert_cmpint(region_contains_point(&all, i % SIDE, i / SIDE) != 0, ==, is_there);
            is_empty = is_empty && !is_there;
        }
        g_assert_cmpint(area.is_empty(), ==, is_empty);
        g_assert_cmpint(area.is_ready(), ==, std::count(ready.begin(), ready.end(), true) != 0);
    }
};

/* Whatever is drawn, copied and shown, of each pixel it is known whether the client has it. */
static void copied_with_the_picture()
{
    enum { SIDE = Pixels::SIDE, ROUNDS = 500, STEPS = 12 };
    GRand *rand = g_rand_new_with_seed(3);
    Region hidden;

    for (int round = 0; round < ROUNDS; ++round) {
        RedCatchUpArea area;
        Pixels pixels;

        for (int step = 0; step < STEPS; ++step) {
            const int width = g_rand_int_range(rand, 1, SIDE + 1);
            const int height = g_rand_int_range(rand, 1, SIDE + 1);
            const int left = g_rand_int_range(rand, 0, SIDE - width + 1);
            const int top = g_rand_int_range(rand, 0, SIDE - height + 1);
            const int from_x = g_rand_int_range(rand, 0, SIDE - width + 1);
            const int from_y = g_rand_int_range(rand, 0, SIDE - height + 1);
            /* as what is clipped */
            const SpiceRect hole = { left + width / 3, top + height / 3, left + width / 2,
                                     top + height / 2 };
            Region where(left, top, left + width, top + height);
            SpiceRect piece;

            region_remove(&where, &hole);
            switch (g_rand_int_range(rand, 0, 5)) {
            case 0:
                area.add(&where);
                Pixels::each(&where, [&](int i) { pixels.waiting[i] = true; });
                break;
            case 1:
                area.make_ready(&hidden);
                for (int i = 0; i < SIDE * SIDE; ++i) {
                    pixels.ready[i] = pixels.ready[i] || pixels.waiting[i];
                    pixels.waiting[i] = false;
                }
                break;
            case 2:
                if (area.take(width * height, &piece)) {
                    const Region shown(piece.left, piece.top, piece.right, piece.bottom);

                    Pixels::each(&shown, [&](int i) { pixels.ready[i] = false; });
                }
                break;
            default:
                area.copied(&where, left - from_x, top - from_y);
                pixels.copied(&where, left - from_x, top - from_y);
            }
            pixels.check(area);
        }
    }
    g_rand_free(rand);
}

/* Copies of what is copied, in pieces, do not take more and more rectangles. */
static void copied_in_bounded_memory()
{
    RedCatchUpArea area;
    Region stripes, all;

    for (int i = 0; i < SIDE; i += 4) {
        stripes.add(i, 0, i + 1, SIDE);
    }
    area.add(&stripes);
    for (int i = 1; i < SIDE / 2; ++i) {
        Region lines;

        for (int y = i % 3; y + 1 < SIDE; y += 3) {
            lines.add(1, y, SIDE, y + 1);
        }
        area.copied(&lines, 1, 0);
    }
    area.get_all(&all);
    g_assert_cmpint(pixman_region32_n_rects(&all), <=, 512);
    g_assert_true(region_contains_point(&all, 0, 0));
}

/* A drawing is late if the path has not carried it for so long, not if nothing tried to send it. */
static void late_by_the_path()
{
    const uint64_t start = 1000000, drawn = start - RED_CATCH_UP_LATE * 2;
    RedCatchUpPath path;

    /* this thread has slept since it was drawn */
    g_assert_false(is_late(path, drawn));
    path.pushed(start, true, 0, 0);
    g_assert_false(is_late(path, drawn));
    /* and sleeps again: then the path takes all */
    path.pushed(start + RED_CATCH_UP_LATE * 2, false, 0, 0);
    g_assert_false(is_late(path, drawn));

    path.pushed(start, true, 0, 0);
    path.pushed(start + RED_CATCH_UP_LATE, true, 0, 0);
    g_assert_false(is_late(path, drawn));
    path.pushed(start + RED_CATCH_UP_LATE + 1, true, 0, 0);
    g_assert_true(is_late(path, drawn));
    g_assert_true(is_late(path, start));
    g_assert_false(is_late(path, start + 1));
    /* what comes then waits anew */
    path.pushed(start + RED_CATCH_UP_LATE + 2, false, 0, 0);
    g_assert_false(is_late(path, drawn));
}

/* One message is not a path that does not keep up, however long it takes. */
static void late_behind_one_message()
{
    const uint64_t start = 1000000, gone = start + RED_CATCH_UP_LATE * 4;
    RedCatchUpPath path;

    path.pushed(start, true, 7, RED_CATCH_UP_LARGE - 1);
    path.pushed(gone - 1, true, 7, RED_CATCH_UP_LARGE - 1);
    g_assert_false(is_late(path, start));
    g_assert_false(path.is_passing());
    /* but the guest is not to wait for it */
    g_assert_cmpuint(path.refused(start), ==, RED_CATCH_UP_LATE * 4 - 1);

    /* what had its turn after it was not all */
    path.pushed(gone, true, 9, 0);
    g_assert_false(is_late(path, start));
    path.pushed(gone + RED_CATCH_UP_LATE, true, 9, 0);
    g_assert_false(is_late(path, start));
    path.pushed(gone + RED_CATCH_UP_LATE + 1, true, 9, 0);
    g_assert_true(is_late(path, start));
    g_assert_true(is_late(path, gone));
    g_assert_false(is_late(path, gone + 1));

    /* nor the client's answer, which is no message */
    path.pushed(gone, false, 0, 0);
    path.pushed(start, true, 0, 0);
    path.pushed(start + RED_CATCH_UP_LATE + 1, true, 12, RED_CATCH_UP_LARGE);
    g_assert_true(is_late(path, start));
    g_assert_false(path.is_passing());
}

/* While a large one is sent, and no longer, more drawings may wait. */
static void behind_a_large_message()
{
    const uint64_t start = 1000000, gone = start + RED_CATCH_UP_LATE * 4;
    RedCatchUpPath path;

    path.pushed(start, true, 7, RED_CATCH_UP_LARGE);
    g_assert_true(path.is_passing());
    path.pushed(gone - 1, true, 7, RED_CATCH_UP_LARGE);
    g_assert_true(path.is_passing());
    path.pushed(gone, true, 9, 0);
    g_assert_false(path.is_passing());
    path.pushed(start, false, 0, 0);
    path.pushed(start, true, 7, RED_CATCH_UP_LARGE);
    path.pushed(gone, false, 0, 0);
    g_assert_false(path.is_passing());
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
            std::fill_n(&taken[y * SIDE + piece.left], piece.right - piece.left, now);
        }
        g_assert_cmpint(now - *std::min_element(taken.begin(), taken.end()), <=, 2 * 21);
    }
}

/* An area that is drawn on again within the time is not still; areas beside it are not delayed by
 * it. */
static void what_is_still()
{
    enum { TIME = 1000000 };
    RedCatchUpStill still(TIME);
    Region moving(0, 0, 100, 100), quiet(200, 0, 300, 100);
    const uint64_t start = 3600 * UINT64_C(1000000);
    /* in the middle of a period */
    const uint64_t drawn = start + TIME / 2;

    for (uint64_t now = start; now < start + 10 * TIME; now += 100000) {
        Region lossy(0, 0, 300, 100);

        still.drawn(now, &moving);
        if (now == drawn) {
            still.drawn(now, &quiet);
        }
        still.keep_still(now, &lossy);
        const bool is_still = region_intersects(&lossy, &quiet);
        g_assert_false(region_intersects(&lossy, &moving));
        if (now >= drawn) {
            g_assert_true(is_still || now - drawn <= TIME * 2);
            g_assert_true(!is_still || now - drawn >= TIME);
        }
    }
    Region lossy(0, 0, 300, 100);
    still.keep_still(start + 100 * TIME, &lossy);
    g_assert_cmpint(pixels_of(&lossy), ==, 300 * 100);
}

/* Under a video nothing is refreshed, and no damage there is forgotten. */
static void hidden_waits()
{
    RedCatchUpArea area;
    Region changed(0, 0, 100, 100), video(0, 0, 100, 50), nothing;
    SpiceRect piece;

    area.add(&changed);
    g_assert_true(area.is_dirty(&video));
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
    for (int rounds = 0; left > pixels_of(&key); ++rounds) {
        bool key_shown = false;
        Region all;

        g_assert_cmpint(rounds, <, 200);
        for (int i = 0; i < 2; ++i) {
            area.add(&key);
            area.make_ready(&nothing);
            g_assert_true(area.take(PIECE, &piece));
            key_shown |= piece.left <= 700 && piece.top <= 700 &&
                         piece.right >= 710 && piece.bottom >= 720;
        }
        g_assert_true(key_shown);
        area.get_all(&all);
        left = pixels_of(&all);
    }
}

/* Of very many small changes the bounds are kept, ready or not. */
static void memory_is_bounded(gconstpointer data)
{
    RedCatchUpArea area;
    Region all, nothing;

    for (int y = 0; y < SIDE; y += 2) {
        for (int x = 0; x < 40; x += 2) {
            Region dot(x, y, x + 1, y + 1);
            area.add(&dot);
            if (GPOINTER_TO_INT(data)) {
                area.make_ready(&nothing);
            }
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

static bool catches_up(const RedStreamPolicy *policy)
{
    return red_catch_up_setting.get(policy);
}

static bool is_exact(const RedStreamPolicy *policy)
{
    return red_catch_up_exact.get(policy);
}

/* Only flow leaves out what was drawn, for only flow knows that the path is behind. */
static void settings()
{
    RedStreamPolicy policy = { };

    for (const char *mode : { "cork", "batch" }) {
        g_assert_true(red_stream_policy_parse(mode, &policy));
        g_assert_false(catches_up(&policy) || is_exact(&policy));
    }
    g_assert_true(red_stream_policy_parse(red_stream_mode_flow.name, &policy));
    g_assert_true(catches_up(&policy) && !is_exact(&policy));
    g_assert_true(red_stream_policy_parse("flow,exact=on,catchup=on,catchup=off", &policy));
    g_assert_true(!catches_up(&policy) && is_exact(&policy));
    for (const char *text : { "flow,catchup=", "flow,catchup=1", "flow,exact", "flow,exact=yes" }) {
        g_assert_false(red_stream_policy_parse(text, &policy));
        g_assert_true(catches_up(&policy) && !is_exact(&policy));
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/catch-up/settings", settings);
    g_test_add_func("/server/catch-up/late-by-the-path", late_by_the_path);
    g_test_add_func("/server/catch-up/late-behind-one-message", late_behind_one_message);
    g_test_add_func("/server/catch-up/behind-a-large-message", behind_a_large_message);
    g_test_add_func("/server/catch-up/late-as-the-path", late_as_the_path);
    g_test_add_func("/server/catch-up/all-is-shown", all_is_shown);
    g_test_add_func("/server/catch-up/nothing-beside-the-surface", nothing_beside_the_surface);
    g_test_add_func("/server/catch-up/later-changes-wait", later_changes_wait);
    g_test_add_func("/server/catch-up/sweeps-end", sweeps_end);
    g_test_add_func("/server/catch-up/what-is-still", what_is_still);
    g_test_add_func("/server/catch-up/hidden-waits", hidden_waits);
    g_test_add_func("/server/catch-up/copied-with-the-picture", copied_with_the_picture);
    g_test_add_func("/server/catch-up/copied-in-bounded-memory", copied_in_bounded_memory);
    g_test_add_func("/server/catch-up/latest-first-and-nothing-last",
                    latest_first_and_nothing_last);
    g_test_add_data_func("/server/catch-up/memory-is-bounded", GINT_TO_POINTER(false),
                         memory_is_bounded);
    g_test_add_data_func("/server/catch-up/memory-is-bounded-when-ready", GINT_TO_POINTER(true),
                         memory_is_bounded);
    g_test_add_func("/server/catch-up/pieces-are-shared", pieces_are_shared);
    g_test_add_func("/server/catch-up/pieces-have-lines", pieces_have_lines);
    g_test_add_func("/server/catch-up/pace-follows-path", pace_follows_path);

    return g_test_run();
}
