/* SPDX-License-Identifier: LGPL-2.1-or-later */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tiles.h"

/* A log in a file that has no name any more: its descriptor is *fd. */
static Tiles *new_log(int *fd)
{
    char path[] = "/tmp/test-tiles-XXXXXX";

    *fd = mkstemp(path);
    assert(*fd >= 0);
    Tiles *tiles = tiles_new(path);
    assert(tiles);
    unlink(path);
    return tiles;
}

static void test_tiles(void)
{
    int fd;
    Tiles *tiles = new_log(&fd);
    static uint8_t pixels[20][40 * 4];
    const TilePixels screen = { pixels[0], 36, 20, sizeof(pixels[0]) };
    TileRecord records[16];

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
    close(fd);
}

static void test_a_smaller_screen_ends_what_was_outside(void)
{
    int fd;
    Tiles *tiles = new_log(&fd);
    static uint8_t pixels[32][48 * 4];
    const TilePixels large = { pixels[0], 32, 32, sizeof(pixels[0]) };
    const TilePixels wide = { pixels[0], 48, 16, sizeof(pixels[0]) };
    TileRecord records[16];

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
}

int main(void)
{
    test_tiles();
    test_a_smaller_screen_ends_what_was_outside();
    return 0;
}
