/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A screen in few bytes: tiles, each with the mean brightness of its quarters.
 *
 * Two screens can be compared by them even if one has JPEG losses, as a mean loses little. A log has
 * a TileRecord for each change of a tile, in the order of time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TILE_SIZE 16    /* pixels */
#define TILES_A_ROW 512 /* a tile's number is row * this + column, however wide the screen is */
#define TILES (TILES_A_ROW * 512)

/* The means of a tile outside a screen that has shrunk. White is one less. */
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

typedef struct Tiles Tiles;

/* NULL if the file cannot be written; errno says why. */
Tiles *tiles_new(const char *path);

/* False if the log is incomplete: a write failed. */
bool tiles_free(Tiles *tiles);

/* This part of the screen may have changed. */
void tiles_touch(Tiles *tiles, int left, int top, int width, int height);

/* Logs the touched tiles that have changed, all with this time. Tiles outside a screen that has
 * shrunk become TILE_OUTSIDE. The log may be read meanwhile. */
void tiles_look(Tiles *tiles, const TilePixels *screen, int64_t now_ns);
