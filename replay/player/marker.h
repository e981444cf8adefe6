/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MARKER_H_
#define MARKER_H_

#include <spice/qxl_dev.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Markers: drawings that change no pixel (a fill with colour 0 by XOR), which a
 * client recognises by their rectangle. Probes measure latency; at a pause and
 * at the end the client looks at the picture. Also pointer moves to places where
 * no recording moves the pointer.
 */
typedef enum {
    MARKER_PROBE,
    MARKER_PAUSE,
    MARKER_END,
    MARKER_POINTER,
    MARKER_SURFACE,     /* made elsewhere: surface-draws.h */
} MarkerKind;

#define MARKER_PROBES 3600          /* numbers of probes wrap around at this */
#define MARKER_POINTERS 30000       /* numbers of pointer moves, their x coordinate, */
#define MARKER_POINTER_TOP (-20000) /* at this y coordinate */

/* Minimum width and height of the primary surface. */
#define MARKER_PRIMARY_MIN 70

/* A command to push into the display; number does not matter for the end. */
QXLCommandExt marker_new(MarkerKind kind, unsigned int number);

/* Where on the primary surface it draws. */
QXLRect marker_rect(MarkerKind kind, unsigned int number);

/* The id in the release info that identifies a marker. */
uint64_t marker_id(MarkerKind kind);

bool marker_is_marker(const QXLReleaseInfo *info);
MarkerKind marker_kind(const QXLReleaseInfo *info);

/* Frees a marker that the library has released. Its memory begins with its release info. */
void marker_free(QXLReleaseInfo *info);

#endif /* MARKER_H_ */
