/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Splits an image of few colours into images of two colours (planes).
 *
 * A screen of text has up to 16 colours. With 32 bits per pixel GLZ takes some 2.5 bytes for each
 * change from a pixel to the next. Four bits per pixel and a palette are not small either, as LZ
 * finds whole bytes only. With one bit per pixel, a line of a glyph is hardly more than a byte. So
 * the two most frequent colours make one image, and each further colour makes one, of its bounds
 * and up to 7 pixels on their left, that is XORed onto it.
 *
 * Pure functions: no channel, no encoder. Any thread.
 */
#ifndef RED_PLANES_H_
#define RED_PLANES_H_

#include <vector>

#include "red-common.h"

#include "push-visibility.h"

/* An image of more colours is not split. While it is, each colour takes a bit per pixel, and all
 * of them at most the bytes of the image: so an image of fewer than 4 pixels per line may have
 * fewer colours. */
#define RED_PLANES_MAX_COLOURS 16

struct RedPlane {
    /* within the image, not empty */
    SpiceRect where;
    /* the colours of bits 0 and 1: 0xRRGGBB */
    uint32_t colours[2];
    /* one bit per pixel, lines from the top, the leftmost pixel in the highest bit */
    std::vector<uint8_t> bits;

    int width() const { return where.right - where.left; }
    int height() const { return where.bottom - where.top; }
    /* bytes per line */
    size_t stride() const { return (static_cast<size_t>(width()) + 7) / 8; }
};

/* Splits an image of 32 bits per pixel that is not empty; the highest byte is ignored. The first
 * plane covers all of it and is drawn first; the others are XORed in any order, each at its
 * @where. Returns false if there are more than RED_PLANES_MAX_COLOURS colours, as soon as one
 * more is met. */
bool red_planes_split(const uint8_t *pixels, size_t stride, int width, int height,
                      std::vector<RedPlane> *planes);

/* Estimated bytes of the planes after LZ, without headers; rather too high than too low. */
size_t red_planes_estimate(const std::vector<RedPlane> &planes);

/* The number of pixels, of @bytes each, whose right neighbour differs; estimated from some of
 * the lines if there are many. GLZ takes more bytes than that. */
size_t red_planes_count_changes(const uint8_t *pixels, size_t stride, int width, int height,
                                int bytes=4);

#include "pop-visibility.h"

#endif /* RED_PLANES_H_ */
