/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <spice/qxl_dev.h>
#include <stdint.h>

#include "../common/marker.h"

/*
 * Commands of the player's own, among those of the recording: markers, and others that count as
 * MARKER_NONE. Each is a block for g_free() that begins with its release info, whose id says what
 * it is. Recorded commands carry an aligned address there, so an odd number is one of these.
 */
#define MARKER_TAG 1

static inline uint64_t marker_id(MarkerKind kind)
{
    return (uint64_t) kind << 1 | MARKER_TAG;
}

/* A marker to push into the display: a fill. */
QXLCommandExt marker_new(MarkerKind kind, unsigned int number);
