/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Markers: fills that change no pixel and say something by their rectangle.
 *
 * The player draws them on surface 0 of display 0, XOR with colour 0; the client library reports
 * each as an invalidated rectangle. Together with replay/player/ this file is the one definition:
 *
 *   probe n   left 1, top 1, width 2 + n % 60, height 2 + n / 60 % 60    (3600 numbers, cyclic)
 *   pause k   left 5, top 1, width 2 + k % 60, height 63
 *   end       left 3, top 1, width 63, height 61
 */

#ifndef DRAIN_MARKER_H_
#define DRAIN_MARKER_H_

typedef enum MarkerKind {
    MARKER_NONE,
    MARKER_PROBE,
    MARKER_PAUSE,
    MARKER_END,
} MarkerKind;

typedef struct Marker {
    MarkerKind kind;
    int number; /* of a probe (0..3599) or a pause (0..59), otherwise 0 */
} Marker;

/* The marker that the rectangle encodes; MARKER_NONE for an ordinary update. */
Marker marker_read(int left, int top, int width, int height);

#endif /* DRAIN_MARKER_H_ */
