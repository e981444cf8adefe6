/* SPDX-License-Identifier: LGPL-2.1-or-later */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "staleness.h"

#define MS INT64_C(1000000)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Since when the picture is stale at that time, in ms; -1: it is not. */
static int64_t since_at(const Staleness *found, int64_t ms)
{
    size_t step = (size_t) ((ms * MS - found->begin) / STALENESS_STEP);

    assert(step < found->steps);
    return found->since[step] == INT64_MAX ? -1 : found->since[step] / MS;
}

/* A tile that shows 1, 50, 100, 150 at 0, 100, 200, 300 ms. */
#define DUE { { 0, 7, 1 }, { 100 * MS, 7, 50 }, { 200 * MS, 7, 100 }, { 300 * MS, 7, 150 } }

static void test_what_is_shown_late_is_old_until_then(void)
{
    TileRecord due[] = DUE;
    TileRecord seen[] = { { 10 * MS, 7, 1 }, { 130 * MS, 7, 50 }, { 250 * MS, 7, 100 }, { 340 * MS, 7, 150 } };
    Staleness *found = staleness_new(due, COUNT(due), seen, COUNT(seen), 1000 * MS);

    assert(since_at(found, 5) == 0);
    assert(since_at(found, 50) == -1);
    assert(since_at(found, 120) == 100);
    assert(since_at(found, 150) == -1);
    assert(since_at(found, 240) == 200);
    assert(since_at(found, 330) == 300);
    /* nothing is due any more */
    assert(found->steps == 340 * MS / STALENESS_STEP);
    staleness_free(found);
}

/* No message was sent for what is left out; it counts by what is there to be seen. */
static void test_what_is_left_out_is_old_until_something_newer_is_there(void)
{
    TileRecord due[] = DUE;
    TileRecord seen[] = { { 10 * MS, 7, 1 }, { 260 * MS, 7, 100 }, { 390 * MS, 7, 150 } };
    Staleness *found = staleness_new(due, COUNT(due), seen, COUNT(seen), 1000 * MS);

    assert(since_at(found, 150) == 100);
    assert(since_at(found, 258) == 100);
    assert(since_at(found, 262) == -1);
    assert(since_at(found, 310) == 300);
    staleness_free(found);
}

/* What arrives says nothing: a tile elsewhere that is fresh makes none fresh. */
static void test_the_oldest_tile_counts(void)
{
    TileRecord due[] = { { 0, 7, 1 }, { 0, 9, 1 }, { 100 * MS, 7, 50 }, { 200 * MS, 9, 50 } };
    TileRecord seen[] = { { 0, 7, 1 }, { 0, 9, 1 }, { 210 * MS, 9, 50 }, { 300 * MS, 7, 50 } };
    Staleness *found = staleness_new(due, COUNT(due), seen, COUNT(seen), 1000 * MS);

    assert(since_at(found, 150) == 100);
    assert(since_at(found, 250) == 100);
    assert(found->steps == 300 * MS / STALENESS_STEP);
    staleness_free(found);
}

static void test_losses_are_seen_through(void)
{
    TileRecord due[] = DUE;
    /* within what is alike; then nearer to the third than to others, though not alike */
    TileRecord seen[] = { { 0, 7, 3 }, { 110 * MS, 7, 55 }, { 210 * MS, 7, 89 } };
    Staleness *found = staleness_new(due, COUNT(due), seen, COUNT(seen), 400 * MS);

    assert(since_at(found, 50) == -1);
    assert(since_at(found, 150) == -1);
    assert(since_at(found, 250) == -1);
    assert(since_at(found, 390) == 300);
    staleness_free(found);
}

/* Half of a drawing may look like something of long ago. */
static void test_a_screen_never_goes_back(void)
{
    TileRecord due[] = DUE;
    TileRecord seen[] = { { 0, 7, 1 }, { 100 * MS, 7, 50 }, { 200 * MS, 7, 100 }, { 310 * MS, 7, 3 }, { 320 * MS, 7, 150 } };
    Staleness *found = staleness_new(due, COUNT(due), seen, COUNT(seen), 400 * MS);

    assert(since_at(found, 250) == -1);
    assert(since_at(found, 315) == 300);
    staleness_free(found);
}

static void test_what_is_never_seen_is_old_to_the_end(void)
{
    TileRecord due[] = DUE;
    Staleness *found = staleness_new(due, COUNT(due), NULL, 0, 500 * MS);

    assert(since_at(found, 0) == 0 && since_at(found, 498) == 0);
    staleness_free(found);
    found = staleness_new(NULL, 0, NULL, 0, 0);
    assert(found->steps == 0);
    staleness_free(found);
}

/* A screen that became smaller before anybody looked: what it had there will never be seen. */
static void test_what_is_outside_of_the_screen_is_not_old(void)
{
    TileRecord due[] = { { 0, 7, 0 }, { 100 * MS, 7, TILE_OUTSIDE }, { 300 * MS, 7, 100 }, { 400 * MS, 7, 150 } };
    TileRecord seen[] = { { 350 * MS, 7, 100 }, { 450 * MS, 7, 150 } };
    Staleness *found = staleness_new(due, COUNT(due), seen, COUNT(seen), 1000 * MS);

    assert(since_at(found, 50) == 0);
    assert(since_at(found, 150) == -1);
    assert(since_at(found, 320) == 300);
    assert(since_at(found, 380) == -1);
    assert(since_at(found, 420) == 400);
    staleness_free(found);
}

static void test_what_stays_outside_of_the_screen_is_not_old(void)
{
    TileRecord due[] = { { 0, 7, 255 }, { 100 * MS, 7, TILE_OUTSIDE }, { 300 * MS, 7, 100 } };
    TileRecord keeps[] = { { 0, 7, 255 }, { 400 * MS, 7, 100 } };
    TileRecord leaves[] = { { 0, 7, 255 }, { 200 * MS, 7, TILE_OUTSIDE }, { 400 * MS, 7, 100 } };

    for (int i = 0; i < 2; i++) {
        Staleness *found = i ? staleness_new(due, COUNT(due), leaves, COUNT(leaves), 1000 * MS)
                             : staleness_new(due, COUNT(due), keeps, COUNT(keeps), 1000 * MS);
        assert(since_at(found, 150) == -1);
        assert(since_at(found, 250) == -1);
        assert(since_at(found, 350) == 300);
        assert(found->steps == 400 * MS / STALENESS_STEP);
        staleness_free(found);
    }
}

static void test_tiles(void)
{
    char path[] = "/tmp/test-tiles-XXXXXX";
    int fd = mkstemp(path);
    Tiles *tiles = tiles_new(path);
    static uint8_t pixels[20][40 * 4];
    const TilePixels screen = { pixels[0], 36, 20, sizeof(pixels[0]) };
    TileRecord records[16];

    assert(tiles && fd >= 0);
    tiles_touch(tiles, 0, 0, 36, 20);
    tiles_look(tiles, &screen, 1);
    /* a white quarter of the last tile above the lowest row; half of it is outside */
    for (int y = 0; y < 8; y++) {
        memset(&pixels[y][32 * 4], 255, 4 * 4);
    }
    tiles_look(tiles, &screen, 2); /* nobody has said so */
    tiles_touch(tiles, 30, 0, 6, 3);
    tiles_touch(tiles, -50, -50, 0, 10);
    tiles_look(tiles, &screen, 3);
    assert(tiles_free(tiles));
    assert(pread(fd, records, sizeof(records), 0) == 7 * (ssize_t) sizeof(records[0]));
    for (uint32_t i = 0; i < 6; i++) {
        assert(records[i].when == 1 && records[i].means == 0);
        assert(records[i].tile == i / 3 * TILES_A_ROW + i % 3);
    }
    assert(records[6].when == 3 && records[6].tile == 2 && records[6].means == 255);
    assert(tile_distance(0xfffffffe, TILE_OUTSIDE) > 255 && tile_distance(TILE_OUTSIDE, TILE_OUTSIDE) == 0);
    assert(tile_distance(0x01020304, 0x01090304) == 7 && tile_distance(0xff000000, 0) == 255);
    close(fd);
    unlink(path);
}

static void test_a_smaller_screen_ends_what_was_outside(void)
{
    char path[] = "/tmp/test-tiles-XXXXXX";
    int fd = mkstemp(path);
    Tiles *tiles = tiles_new(path);
    static uint8_t pixels[32][48 * 4];
    const TilePixels large = { pixels[0], 32, 32, sizeof(pixels[0]) };
    const TilePixels wide = { pixels[0], 48, 16, sizeof(pixels[0]) };
    TileRecord records[16];

    assert(tiles && fd >= 0);
    memset(pixels, 255, sizeof(pixels));
    tiles_touch(tiles, 0, 0, large.width, large.height);
    tiles_look(tiles, &large, 1);
    tiles_touch(tiles, 0, 0, wide.width, wide.height);
    tiles_look(tiles, &wide, 2);
    tiles_look(tiles, &wide, 3);
    tiles_touch(tiles, 0, 0, large.width, large.height);
    tiles_look(tiles, &large, 4);
    assert(tiles_free(tiles));

    const uint32_t white = UINT32_MAX - 1;
    const TileRecord expected[] = {
        { 1, 0, white }, { 1, 1, white }, { 1, TILES_A_ROW, white }, { 1, TILES_A_ROW + 1, white },
        { 2, 2, white }, { 2, TILES_A_ROW, TILE_OUTSIDE }, { 2, TILES_A_ROW + 1, TILE_OUTSIDE },
        { 4, 2, TILE_OUTSIDE }, { 4, TILES_A_ROW, white }, { 4, TILES_A_ROW + 1, white },
    };
    assert(pread(fd, records, sizeof(records), 0) == sizeof(expected));
    assert(memcmp(records, expected, sizeof(expected)) == 0);
    close(fd);
    unlink(path);
}

int main(void)
{
    test_what_is_shown_late_is_old_until_then();
    test_what_is_left_out_is_old_until_something_newer_is_there();
    test_the_oldest_tile_counts();
    test_losses_are_seen_through();
    test_a_screen_never_goes_back();
    test_what_is_never_seen_is_old_to_the_end();
    test_what_is_outside_of_the_screen_is_not_old();
    test_what_stays_outside_of_the_screen_is_not_old();
    test_tiles();
    test_a_smaller_screen_ends_what_was_outside();
    return 0;
}
