/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pixels of a surface as the client library keeps them, and what is made of them.
 *
 * Equality of two pictures is equality of their sha256. It is taken over rows without padding,
 * top to bottom, and over nothing that has no meaning: the unused byte of a 32-bit pixel and the
 * unused bit of a 15-bit one are zero. */

#pragma once

#include <spice-client.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Picture {
    enum SpiceSurfaceFmt format;
    int width;
    int height;
    int stride; /* bytes from a row to the next */
    const uint8_t *pixels;
} Picture;

/* A copy that owns its pixels, for picture_free(). */
Picture *picture_copy(const Picture *picture);
void picture_free(Picture *picture);

/* In hexadecimal, to be freed; NULL for a format that no server gives a primary surface. */
char *picture_sha256(const Picture *picture);

/* pixels */
#define PICTURE_BLOCK 32
#define PICTURE_TILE 8

/* The mean of each channel, as in a PNG, in each square of so many pixels a side, smaller at the right and at the
 * bottom; row by row, in base64, to be freed. Tells a picture that lost a little to JPEG from a wrong one: blocks
 * hardly change then, and a wrong letter changes a tile. NULL as above. */
char *picture_blocks(const Picture *picture, int side);

/* 8 bits a channel: RGB, RGBA for ARGB32, grey for A8. */
bool picture_save_png(const Picture *picture, const char *path, GError **error);
