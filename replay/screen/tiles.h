/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a user sees, in few bytes: the screen in tiles, each as the mean brightness of its quarters.
 *
 * Two programs that show the same can be compared by it, also where one of them shows pictures
 * with losses: a mean loses little. A log has a TileRecord for each tile that has become another
 * one, in the order of time. */
#ifndef SCREEN_TILES_H_
#define SCREEN_TILES_H_

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TILE_SIZE 16    /* pixels */
#define TILES_A_ROW 512 /* a tile's number is row * this + column, however wide the screen is */
#define TILES (TILES_A_ROW * 512)

/* How far two means may be apart, of 255, and still be of the same picture. */
#define TILE_ALIKE 6

/* The means of what the screen has no more, as it has become smaller. White is a shade less. */
#define TILE_OUTSIDE UINT32_MAX

typedef struct TileRecord {
    int64_t when; /* ns */
    uint32_t tile;
    uint32_t means; /* a byte for each quarter */
} TileRecord;

/* Pixels of 32 bits, the first byte blue, the third red. */
typedef struct TilePixels {
    const uint8_t *pixels;
    int width, height;
    int stride; /* bytes from a row to the next */
} TilePixels;

/* The largest difference of two quarters; that of something and nothing is larger than any. */
int tile_distance(uint32_t one, uint32_t other);

typedef struct Tiles Tiles;

/* NULL if the file cannot be written; errno says why. */
Tiles *tiles_new(const char *path);

/* False if not all could be written. */
bool tiles_free(Tiles *tiles);

/* This part of the screen may have changed. */
void tiles_touch(Tiles *tiles, int left, int top, int width, int height);

/* Looks at what was touched and logs what has changed, all with the same time. What the screen had
 * and has no more, having become smaller, is TILE_OUTSIDE. The log may be read meanwhile. */
void tiles_look(Tiles *tiles, const TilePixels *screen, int64_t now_ns);

#endif /* SCREEN_TILES_H_ */
