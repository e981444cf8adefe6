/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A display channel: its updates, its markers, its picture, and the log of what is to be seen on
 * it. */

#pragma once

#include "../common/marker.h"
#include "channel.h"
#include "picture.h"

/* Called when the library has decoded a marker. It is suspended meanwhile: the picture is as the
 * commands before the marker left it. */
typedef void (*DisplayMarkerFunc)(Marker marker, int64_t now_ns, void *opaque);

/* Without it, updates that look like markers are updates. */
void display_set_marker_func(Channel *channel, DisplayMarkerFunc on_marker, void *opaque);

/* Invalidated rectangles so far, markers not counted. */
int64_t display_updates(const Channel *channel);

/* The primary surface as it is, or as it was last if it has been destroyed; NULL if there never
 * was one. Valid until the main loop runs again. */
const Picture *display_picture(const Channel *channel);
