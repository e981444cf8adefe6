/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MARKER_H_
#define MARKER_H_

#include <spice/qxl_dev.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Draw commands that change no pixel (a fill with colour 0 by XOR) and that a
 * client recognises by their rectangle: probes measure how long a command
 * takes to reach it, a pause and the end let it look at the picture. And moves
 * of the pointer to where no recording moves it.
 */
typedef enum {
    MARKER_PROBE,
    MARKER_PAUSE,
    MARKER_END,
    MARKER_POINTER,
    MARKER_SURFACE,     /* made elsewhere: surface-draws.h */
} MarkerKind;

#define MARKER_PROBES 3600          /* probes are told apart modulo this */
#define MARKER_POINTERS 30000       /* and moves of the pointer, by where it is from the left, */
#define MARKER_POINTER_TOP (-20000) /* so far above the display */

/* The primary surface must have at least this many pixels each way. */
#define MARKER_PRIMARY_MIN 70

/* A command to push into the display; number does not matter for the end. */
QXLCommandExt marker_new(MarkerKind kind, unsigned int number);

/* Where on the primary surface it draws. */
QXLRect marker_rect(MarkerKind kind, unsigned int number);

/* What says, as the id of a command's release info, that it is one. */
uint64_t marker_id(MarkerKind kind);

bool marker_is_marker(const QXLReleaseInfo *info);
MarkerKind marker_kind(const QXLReleaseInfo *info);

/* When the library releases it. Its release info is where its memory begins. */
void marker_free(QXLReleaseInfo *info);

#endif /* MARKER_H_ */
