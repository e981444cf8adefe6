/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "marker.h"

/* A side encodes a digit in this base, and is this long for digit 0. */
#define BASE 60
#define ZERO 2

MarkerArea marker_area(MarkerKind kind, unsigned int number)
{
    int low = ZERO + number % BASE, high = ZERO + number / BASE % BASE;

    switch (kind) {
    case MARKER_PROBE:
        return (MarkerArea) { 1, 1, low, high };
    case MARKER_PAUSE:
        return (MarkerArea) { 5, 1, low, 63 };
    default:
        return (MarkerArea) { 3, 1, 63, 61 };
    }
}

Marker marker_read(MarkerArea area)
{
    for (MarkerKind kind = MARKER_PROBE; kind <= MARKER_END; kind++) {
        int low = kind == MARKER_END ? 0 : area.width - ZERO;
        int high = kind == MARKER_PROBE ? area.height - ZERO : 0;
        MarkerArea its = marker_area(kind, low + high * BASE);

        if (low < BASE && high >= 0 && its.left == area.left && its.top == area.top &&
            its.width == area.width && its.height == area.height) {
            return (Marker) { kind, low + high * BASE };
        }
    }
    return (Marker) { MARKER_NONE, 0 };
}
