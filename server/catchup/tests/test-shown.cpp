/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which losses of a client's screen are repaired: those that upstream's client would not have,
 * be they sent by whatever, once the area has not changed for a while.
 */
#include <config.h>

#include <common/rect.h>

#include "red-shown.h"
#include "test-glib-compat.h"

#include "push-visibility.h"

enum { SIDE = 64, TIME = 1000, OFF_SCREEN = 7 };

static const SpiceRect screen = { 0, 0, SIDE, SIDE };

struct Region: public QRegion
{
    Region() { region_init(this); }
    explicit Region(const SpiceRect &rect)
    {
        region_init(this);
        region_add(this, &rect);
    }
    Region(const Region &) = delete;
    ~Region() { region_destroy(this); }
};

struct Lossy: RedShown::Regions
{
    Lossy() { for (auto &region : *this) { region_init(&region); } }
    ~Lossy() { for (auto &region : *this) { region_destroy(&region); } }
    void add(const SpiceRect &rect, uint32_t surface=0) { region_add(&(*this)[surface], &rect); }
    void remove(const SpiceRect &rect) { region_remove(&(*this)[0], &rect); }
};

struct Client
{
    Lossy lossy;
    RedShown shown;

    explicit Client(bool exact=false): shown(&lossy, TIME, exact) {}

    void draw(const SpiceRect &rect, bool is_lossy, uint32_t surface=0)
    {
        const Region region(rect);
        shown.drawn(surface, &region, is_lossy);
    }

    void copy(const SpiceRect &dest, uint32_t to, uint32_t from, int dx, int dy)
    {
        const Region region(dest);
        shown.copied(to, &region, from, dx, dy);
    }

    /* Number of pixels that are sent if nothing changes any more. */
    int resent()
    {
        SpiceRect piece;
        int pixels = 0;

        while (shown.find(100 * TIME, 0, &screen, UINT32_MAX, &piece)) {
            pixels += rect_get_area(&piece);
            lossy.remove(piece);
        }
        g_assert_false(shown.is_owed(0));
        return pixels;
    }
};

/* Only what upstream would have sent exactly, or all if that is asked for. */
static void as_upstream(gconstpointer data)
{
    const bool all = GPOINTER_TO_INT(data);
    Client client(all);

    client.draw({ 0, 0, SIDE, SIDE }, true);
    client.draw({ 0, 0, SIDE / 2, SIDE }, false);
    client.lossy.add(screen);
    g_assert_true(client.shown.is_owed(0));
    g_assert_cmpint(client.resent(), ==, all ? SIDE * SIDE : SIDE / 2 * SIDE);
}

/* It counts what was drawn last, and which losses there are. */
static void last_drawing_counts()
{
    Client client;

    client.draw(screen, false);
    client.draw(screen, true);
    client.lossy.add(screen);
    g_assert_false(client.shown.is_owed(0));
    client.draw({ 0, 0, 10, 10 }, false);
    g_assert_cmpint(client.resent(), ==, 100);
    g_assert_cmpint(client.resent(), ==, 0);
}

/* What was sent as JPEG, and what of that is copied with it, also by way of another surface,
 * needs not be repaired; what is exact in upstream is not copied with losses. */
static void copied()
{
    const SpiceRect photo = { 0, 0, 10, SIDE }, copy = { 40, 0, 60, SIDE };
    Client client;

    client.draw(photo, true);
    client.copy(copy, OFF_SCREEN, 0, 40, 0);
    client.copy(copy, 0, OFF_SCREEN, 0, 0);
    client.lossy.add(photo);
    client.lossy.add(copy);
    g_assert_cmpint(client.resent(), ==, 10 * SIDE);
    g_assert_true(client.shown.is_lossy(0, &copy));
    const SpiceRect beside = { 50, 0, 60, SIDE };
    g_assert_false(client.shown.is_lossy(0, &beside));
    g_assert_false(client.shown.is_lossy(OFF_SCREEN, &copy));

    /* over it comes what is exact */
    client.copy(copy, 0, OFF_SCREEN, 0, 10 * SIDE);
    g_assert_cmpint(client.resent(), ==, 10 * SIDE);
    /* also from a surface without losses */
    client.copy(photo, 0, OFF_SCREEN + 1, 0, 0);
    client.lossy.add(photo);
    g_assert_cmpint(client.resent(), ==, 10 * SIDE);
}

/* A new screen is not taken for the last one. */
static void forgotten()
{
    Client client;

    client.draw(screen, true);
    client.draw(screen, true, OFF_SCREEN);
    client.shown.forget(0);
    client.lossy.add(screen);
    g_assert_cmpint(client.resent(), ==, SIDE * SIDE);
    client.copy(screen, 0, OFF_SCREEN, 0, 0);
    client.lossy.add(screen);
    g_assert_false(client.shown.is_owed(0));
}

/* What changes all the time delays nothing beside it, and is itself sent afterwards. */
static void still_beside_a_spinner()
{
    const SpiceRect spinner = { 0, 0, 4, 4 };
    const Region where(spinner);
    const Region all(screen);
    Client client;
    SpiceRect piece;
    uint64_t now = TIME;

    client.lossy.add(screen);
    client.shown.changed(now, 0, &all);
    for (; now < 4 * TIME; now += TIME / 10) {
        client.shown.changed(now, 0, &where);
        const bool found = client.shown.find(now, 0, &screen, SIDE * 8, &piece);
        g_assert_true(found || now < 3 * TIME + TIME / 10);
        g_assert_true(!found || now >= 2 * TIME);
        if (found) {
            g_assert_false(rect_intersects(&piece, &spinner));
            client.lossy.remove(piece);
            break;
        }
    }
    g_assert_true(client.shown.is_owed(0));
    g_assert_cmpint(client.resent(), >=, 16);
}

/* Another surface is sent when it has not been drawn on, whatever is drawn on the screen. */
static void another_surface()
{
    const Region all(screen);
    Client client;
    SpiceRect piece;

    client.lossy.add(screen, OFF_SCREEN);
    client.shown.changed(TIME, OFF_SCREEN, &all);
    client.shown.changed(2 * TIME, 0, &all);
    g_assert_true(client.shown.is_owed(OFF_SCREEN));
    g_assert_false(client.shown.is_owed(0));
    g_assert_false(client.shown.find(2 * TIME - 1, OFF_SCREEN, &screen, UINT32_MAX, &piece));
    g_assert_true(client.shown.find(2 * TIME, OFF_SCREEN, &screen, UINT32_MAX, &piece));
    g_assert_cmpint(rect_get_area(&piece), ==, SIDE * SIDE);
}

/* A client that migrates says what is lossy; only what is on the screen is sent, a piece at a
 * time. */
static void pieces_on_the_screen()
{
    Client client;
    SpiceRect piece;

    client.lossy.add({ -5, -5, 1000, 1000 });
    g_assert_true(client.shown.find(100 * TIME, 0, &screen, 512, &piece));
    g_assert_true(rect_contains(&screen, &piece));
    g_assert_cmpint(rect_get_area(&piece), <=, 512);
    g_assert_cmpint(client.resent(), ==, SIDE * SIDE);
}

/* The guest draws on as many places as it likes. What is owed may then be more, never less. */
static void in_bounded_memory()
{
    enum { RECTS = 2 * RED_CATCH_UP_MAX_RECTS };
    Client client;

    for (int i = 0; i < RECTS; ++i) {
        client.draw({ 2 * i, 0, 2 * i + 1, 1 }, true);
    }
    client.lossy.add({ 0, 0, 1, 1 });
    g_assert_cmpint(client.resent(), ==, 1);
    client.draw({ 0, 0, 4 * RECTS, 1 }, true);
    for (int i = 0; i < RECTS; ++i) {
        client.draw({ 2 * i, 0, 2 * i + 1, 1 }, false);
    }
    client.lossy.add({ 1, 0, 2, 1 });
    g_assert_cmpint(client.resent(), ==, 1);
}

/* Up to the bound all is known; a copy may exceed it as well. */
static void copied_in_bounded_memory()
{
    Client client;

    for (int i = 0; i < RED_CATCH_UP_MAX_RECTS; ++i) {
        client.draw({ 2 * i, 0, 2 * i + 1, 1 }, true);
        client.draw({ 2 * i, 2, 2 * i + 1, 3 }, true, OFF_SCREEN);
    }
    client.lossy.add({ 0, 0, 1, 1 });
    g_assert_cmpint(client.resent(), ==, 0);
    client.copy({ 0, 2, 2 * RED_CATCH_UP_MAX_RECTS, 3 }, 0, OFF_SCREEN, 0, 0);
    g_assert_cmpint(client.resent(), ==, 1);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_data_func("/server/shown/as-upstream", GINT_TO_POINTER(false), as_upstream);
    g_test_add_data_func("/server/shown/exact", GINT_TO_POINTER(true), as_upstream);
    g_test_add_func("/server/shown/last-drawing-counts", last_drawing_counts);
    g_test_add_func("/server/shown/copied", copied);
    g_test_add_func("/server/shown/forgotten", forgotten);
    g_test_add_func("/server/shown/still-beside-a-spinner", still_beside_a_spinner);
    g_test_add_func("/server/shown/another-surface", another_surface);
    g_test_add_func("/server/shown/pieces-on-the-screen", pieces_on_the_screen);
    g_test_add_func("/server/shown/in-bounded-memory", in_bounded_memory);
    g_test_add_func("/server/shown/copied-in-bounded-memory", copied_in_bounded_memory);

    return g_test_run();
}
