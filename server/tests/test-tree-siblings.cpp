/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a drawing touches among its siblings is found as if each were looked at, from the newest
 * to the oldest, whatever was added, replaced and removed.
 */
#include <config.h>

#include <vector>

#include "tree.h"
#include "test-glib-compat.h"

#include "push-visibility.h"

enum { SIDE = 400 };

static void set_random_region(QRegion *rgn, GRand *rand, int size_max)
{
    SpiceRect rect;

    rect.left = g_rand_int_range(rand, -10, SIDE);
    rect.top = g_rand_int_range(rand, -10, SIDE);
    rect.right = rect.left + g_rand_int_range(rand, 1, size_max);
    rect.bottom = rect.top + g_rand_int_range(rand, 1, size_max);
    region_init(rgn);
    region_add(rgn, &rect);
}

static DrawItem *item_new(GRand *rand, int size_max)
{
    auto item = g_new0(DrawItem, 1);

    item->base.type = TREE_ITEM_TYPE_DRAWABLE;
    set_random_region(&item->base.rgn, rand, size_max);
    return item;
}

static void item_free(TreeItem *item)
{
    siblings_remove(item);
    region_destroy(&item->rgn);
    g_free(item);
}

static TreeItem *item_at(RingItem *link)
{
    return SPICE_CONTAINEROF(link, TreeItem, siblings_link);
}

/* From everywhere: from the beginning and from each item. */
static void check_touching(Siblings *siblings, const QRegion *rgn)
{
    RingItem *touching = nullptr;

    for (RingItem *pos = siblings->ring.prev; ; pos = pos->prev) {
        g_assert_true(siblings_next_touching(siblings, pos, rgn) == touching);
        if (pos == &siblings->ring) {
            return;
        }
        if (region_bounds_intersects(&item_at(pos)->rgn, rgn)) {
            touching = pos;
        }
    }
}

static void check_random(Siblings *siblings, GRand *rand, int size_max)
{
    QRegion rgn;

    set_random_region(&rgn, rand, size_max);
    check_touching(siblings, &rgn);
    region_destroy(&rgn);
}

/* Adds, replaces, cuts and removes, around @count of them. */
static void change(Siblings *siblings, std::vector<TreeItem *> &items, GRand *rand, size_t count)
{
    const size_t which = items.empty() ? 0 : g_rand_int_range(rand, 0, items.size());
    const int size_max = g_rand_int_range(rand, 0, 10) ? 20 : SIDE;

    if (items.empty() || g_rand_int_range(rand, 0, 2 * count) >= (int) items.size()) {
        items.push_back(&item_new(rand, size_max)->base);
        siblings_add(siblings, items.back());
    } else if (g_rand_boolean(rand)) {
        item_free(items[which]);
        items.erase(items.begin() + which);
    } else if (g_rand_boolean(rand)) {
        TreeItem *old = items[which];

        items[which] = &item_new(rand, size_max)->base;
        siblings_replace(old, items[which]);
        item_free(old);
    } else {
        QRegion rgn;

        set_random_region(&rgn, rand, 20);
        region_exclude(&items[which]->rgn, &rgn);
        region_destroy(&rgn);
    }
}

static void finds_what_touches()
{
    GRand *rand = g_rand_new_with_seed(7);

    for (int count : { 1, 15, 40, 300 }) {
        std::vector<TreeItem *> items;
        Siblings siblings;

        siblings_init(&siblings);
        for (int i = 0; i < 4000; ++i) {
            change(&siblings, items, rand, count);
            check_random(&siblings, rand, 60);
        }
        for (TreeItem *item : items) {
            item_free(item);
        }
        siblings_destroy(&siblings);
    }
    g_rand_free(rand);
}

/* The places of what was removed are used again, though the oldest stays. Large bounds are forgotten. */
static void stays_small()
{
    GRand *rand = g_rand_new_with_seed(8);
    Siblings siblings;

    siblings_init(&siblings);
    TreeItem *oldest = &item_new(rand, 20)->base;
    siblings_add(&siblings, oldest);

    TreeItem *before = nullptr;
    for (int i = 0; i < 1000; ++i) {
        TreeItem *item = &item_new(rand, i < 900 ? 20 * SIDE : 20)->base;

        siblings_add(&siblings, item);
        if (before) {
            item_free(before);
        }
        before = item;
    }
    g_assert_cmpuint(siblings.allocated, ==, 1);
    g_assert_cmpint(siblings.blocks->bounds.x2, <, SIDE + 20);
    item_free(before);
    item_free(oldest);
    siblings_destroy(&siblings);
    g_rand_free(rand);
}

/* A container stands where its first item stood, and the last one that is left where it stood. */
static void keeps_the_place()
{
    GRand *rand = g_rand_new_with_seed(9);
    DrawItem *items[40];
    Siblings siblings;

    siblings_init(&siblings);
    for (DrawItem *&item : items) {
        item = item_new(rand, 20);
        siblings_add(&siblings, &item->base);
    }
    for (int which : { 0, 16, 21, 39 }) {
        Container *container = container_new(items[which]);
        TreeItem *above = &item_new(rand, 20)->base;

        above->container = container;
        siblings_add(&container->items, above);
        check_random(&siblings, rand, SIDE);
        check_random(&container->items, rand, SIDE);
        item_free(above);
        container_cleanup(container);
        g_assert_null(items[which]->base.container);
        check_random(&siblings, rand, SIDE);
    }
    RingItem *link = &siblings.ring;
    for (DrawItem *item : items) {
        link = link->prev;
        g_assert_true(item_at(link) == &item->base);
    }
    for (DrawItem *item : items) {
        item_free(&item->base);
    }
    siblings_destroy(&siblings);
    g_rand_free(rand);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/tree-siblings/finds-what-touches", finds_what_touches);
    g_test_add_func("/tree-siblings/stays-small", stays_small);
    g_test_add_func("/tree-siblings/keeps-the-place", keeps_the_place);
    return g_test_run();
}
