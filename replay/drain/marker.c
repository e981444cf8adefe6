/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "marker.h"

#include <stdbool.h>

#define MARKER_TOP 1
#define PROBE_LEFT 1
#define END_LEFT 3
#define PAUSE_LEFT 5

#define DIGIT_BASE 60 /* a side of a marker encodes one digit in this base... */
#define DIGIT_ZERO 2  /* ...and is this long for digit 0 */

#define PAUSE_HEIGHT 63
#define END_WIDTH 63
#define END_HEIGHT 61

static bool is_digit(int side)
{
    return side >= DIGIT_ZERO && side < DIGIT_ZERO + DIGIT_BASE;
}

Marker marker_read(int left, int top, int width, int height)
{
    if (top != MARKER_TOP) {
        return (Marker) { MARKER_NONE, 0 };
    }
    if (left == PROBE_LEFT && is_digit(width) && is_digit(height)) {
        return (Marker) { MARKER_PROBE,
                          (width - DIGIT_ZERO) + (height - DIGIT_ZERO) * DIGIT_BASE };
    }
    if (left == PAUSE_LEFT && is_digit(width) && height == PAUSE_HEIGHT) {
        return (Marker) { MARKER_PAUSE, width - DIGIT_ZERO };
    }
    if (left == END_LEFT && width == END_WIDTH && height == END_HEIGHT) {
        return (Marker) { MARKER_END, 0 };
    }
    return (Marker) { MARKER_NONE, 0 };
}
