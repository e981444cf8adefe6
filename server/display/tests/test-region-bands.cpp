/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Excluding a box from a large region, or looking for one, visits only the boxes that it touches,
 * and gives the same result as pixman, which visits all.
 */
#include <config.h>

#include <common/region.h>

#include "test-glib-compat.h"

#include "push-visibility.h"

enum { SIDE = 400 };

static void add_box(QRegion *rgn, int left, int top, int width, int height)
{
    const SpiceRect rect = { left, top, left + width, top + height };

    region_add(rgn, &rect);
}

static void init_box(QRegion *rgn, int left, int top, int width, int height)
{
    region_init(rgn);
    add_box(rgn, left, top, width, height);
}

/* A window with lines of small holes, as text leaves them: a band for each line. */
static void init_window(QRegion *rgn, int lines, int holes)
{
    init_box(rgn, 0, 0, SIDE, SIDE);
    for (int line = 0; line < lines; ++line) {
        for (int hole = 0; hole < holes; ++hole) {
            const int left = 5 + hole * (SIDE - 10) / holes;
            const int top = 5 + line * (SIDE - 10) / lines;
            const SpiceRect rect = { left, top, left + 3, top + 3 };

            region_remove(rgn, &rect);
        }
    }
}

static void init_random(QRegion *rgn, GRand *rand, int boxes, int size_max)
{
    region_init(rgn);
    for (int i = 0; i < boxes; ++i) {
        add_box(rgn, g_rand_int_range(rand, -10, SIDE), g_rand_int_range(rand, -10, SIDE),
                g_rand_int_range(rand, 1, size_max), g_rand_int_range(rand, 1, size_max));
    }
}

/* Of what is empty, pixman compares the place. */
static bool is_equal(const QRegion *rgn1, const QRegion *rgn2)
{
    return region_is_empty(rgn1) ? region_is_empty(rgn2) : region_is_equal(rgn1, rgn2);
}

static void check_equal(const QRegion *rgn, const QRegion *expected)
{
    g_assert_true(region_is_valid(rgn));
    g_assert_true(is_equal(rgn, expected));
}

static void check_exclude(QRegion *rgn, QRegion *other)
{
    QRegion expected;

    region_init(&expected);
    pixman_region32_subtract(&expected, rgn, other);
    region_exclude(rgn, other);
    check_equal(rgn, &expected);
    region_destroy(&expected);
}

static void check_and(QRegion *rgn, QRegion *other)
{
    QRegion expected, result;

    region_init(&expected);
    pixman_region32_intersect(&expected, rgn, other);
    region_clone(&result, rgn);
    region_and(&result, other);
    check_equal(&result, &expected);

    int test = region_is_empty(&expected) ? 0 : REGION_TEST_SHARED;
    if (!is_equal(&expected, rgn)) {
        test |= REGION_TEST_LEFT_EXCLUSIVE;
    }
    if (!is_equal(&expected, other)) {
        test |= REGION_TEST_RIGHT_EXCLUSIVE;
    }
    g_assert_cmpint(region_test(rgn, other, REGION_TEST_ALL), ==, test);
    g_assert_cmpint(!!region_intersects(rgn, other), ==, !region_is_empty(&expected));

    region_destroy(&result);
    region_destroy(&expected);
}

/* Until nothing is left. */
static void wear_away(QRegion *rgn, GRand *rand, int boxes, int size_max)
{
    while (!region_is_empty(rgn)) {
        QRegion other;

        init_random(&other, rand, boxes, size_max);
        check_and(rgn, &other);
        check_and(&other, rgn);
        check_exclude(rgn, &other);
        region_destroy(&other);
    }
    region_destroy(rgn);
}

static void same_as_pixman()
{
    GRand *rand = g_rand_new_with_seed(5);

    for (int i = 0; i < 20; ++i) {
        QRegion rgn;

        init_window(&rgn, g_rand_int_range(rand, 1, 40), g_rand_int_range(rand, 1, 40));
        wear_away(&rgn, rand, 1, 60);
        init_random(&rgn, rand, 200, 30);
        wear_away(&rgn, rand, 3, 40);
        init_random(&rgn, rand, 200, 100);
        wear_away(&rgn, rand, 2, SIDE);
    }
    g_rand_free(rand);
}

/* The bands above and below become one with what is left between them. */
static void joins_bands()
{
    QRegion rgn, line;

    init_window(&rgn, 20, 1);
    const int boxes = pixman_region32_n_rects(&rgn);
    /* as wide as the gap of the holes, over three lines of them and what is between */
    init_box(&line, 5, 24, 3, 41);
    check_exclude(&rgn, &line);
    g_assert_cmpint(pixman_region32_n_rects(&rgn), <, boxes);
    region_destroy(&line);
    region_destroy(&rgn);
}

/* The corners are all that holds the extents where they are. */
static void shrinks_extents()
{
    const int corners[][2] = { { -5, -5 }, { SIDE, -5 }, { -5, SIDE }, { SIDE, SIDE } };
    QRegion rgn, corner;

    init_window(&rgn, 20, 20);
    for (const auto &at : corners) {
        add_box(&rgn, at[0], at[1], 5, 5);
    }
    for (const auto &at : corners) {
        init_box(&corner, at[0], at[1], 5, 5);
        check_exclude(&rgn, &corner);
        region_destroy(&corner);
    }
    region_destroy(&rgn);
}

/* A box in a band of its own makes three of it: those fit in the room that there is. */
static void excludes_in_place()
{
    QRegion rgn, box;

    init_window(&rgn, 30, 30);
    init_box(&box, 100, 100, 1, 1);
    check_exclude(&rgn, &box);
    region_destroy(&box);

    const pixman_region32_data_t *data = rgn.data;
    init_box(&box, 300, 300, 1, 1);
    check_exclude(&rgn, &box);
    g_assert_true(rgn.data == data);
    region_destroy(&box);
    region_destroy(&rgn);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/region-bands/same-as-pixman", same_as_pixman);
    g_test_add_func("/region-bands/joins-bands", joins_bands);
    g_test_add_func("/region-bands/shrinks-extents", shrinks_extents);
    g_test_add_func("/region-bands/excludes-in-place", excludes_in_place);
    return g_test_run();
}
