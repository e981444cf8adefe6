/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Markers: fills that change no pixel (XOR with colour 0 on surface 0 of display 0). The player
 * draws them; the client library reports each as an invalidated rectangle, which says what it is:
 *
 *   probe n   left 1, top 1, width 2 + n % 60, height 2 + n / 60 % 60    (3600 numbers, cyclic)
 *   end       left 3, top 1, width 63, height 61
 *   pause k   left 5, top 1, width 2 + k % 60, height 63
 *
 * Probes measure latency; at a pause and at the end the client looks at the picture.
 */
typedef enum {
    MARKER_NONE,
    MARKER_PROBE,
    MARKER_PAUSE,
    MARKER_END,
} MarkerKind;

/* How many numbers probes have. */
#define MARKER_PROBES 3600

/* Minimum width and height of the primary surface. */
#define MARKER_PRIMARY_MIN 70

typedef struct Marker {
    MarkerKind kind;
    int number; /* of a probe (0..3599) or a pause (0..59), otherwise 0 */
} Marker;

typedef struct MarkerArea {
    int left, top, width, height;
} MarkerArea;

/* Where a marker is drawn; the number wraps around. Not for MARKER_NONE. */
MarkerArea marker_area(MarkerKind kind, unsigned int number);

/* The marker that the area encodes; MARKER_NONE for an ordinary update. */
Marker marker_read(MarkerArea area);
