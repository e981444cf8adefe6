/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pictures of few colours as pictures of two.
 *
 * A screen of text has up to 16 colours, which 32 bits a pixel say at great length: GLZ takes some
 * 2.5 bytes for each change from a pixel to the next. Four bits a pixel, with a palette, are not
 * small either, as LZ finds whole bytes only. With one bit, a line of a glyph is hardly more than
 * a byte. So the two colours that are most of a picture make one picture, and each further colour
 * makes one that is XORed onto it, no larger than need be.
 *
 * Pure: no channel, no encoder. Any thread.
 */
#ifndef RED_PLANES_H_
#define RED_PLANES_H_

#include <vector>

#include "red-common.h"

#include "push-visibility.h"

enum { RED_PLANES_MAX_COLOURS = 16 };

struct RedPlane {
    /* in the picture, not empty */
    SpiceRect where;
    /* of pixels that are 0 and 1: 0xRRGGBB */
    uint32_t colours[2];
    /* lines from the top, the leftmost pixel is the highest bit */
    std::vector<uint8_t> bits;

    int width() const { return where.right - where.left; }
    int height() const { return where.bottom - where.top; }
    /* bytes of a line */
    size_t stride() const { return (static_cast<size_t>(width()) + 7) / 8; }
};

/* Splits a picture of 32 bits a pixel, whose highest byte means nothing, and which is not empty.
 * The first plane is all of it, and is drawn first; what follows is XORed in any order, within
 * @where of each. False if it has more than RED_PLANES_MAX_COLOURS, which costs little to find. */
bool red_planes_split(const uint8_t *pixels, size_t stride, int width, int height,
                      std::vector<RedPlane> *planes);

/* Bytes that LZ makes of them, without headers: an estimate, too high rather than too low. */
size_t red_planes_estimate(const std::vector<RedPlane> &planes);

/* Changes from a pixel to its right neighbour: GLZ takes more bytes than that for such pictures. */
size_t red_planes_count_changes(const uint8_t *pixels, size_t stride, int width, int height);

#include "pop-visibility.h"

#endif /* RED_PLANES_H_ */
