/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A display channel: its updates, its markers, its picture. */

#ifndef DRAIN_DISPLAY_H_
#define DRAIN_DISPLAY_H_

#include <spice-client.h>

#include "marker.h"
#include "picture.h"

typedef struct Display Display;

/* Called when the library has decoded a marker. It is suspended meanwhile: the picture is as the
 * commands before the marker left it. */
typedef void (*DisplayMarkerFunc)(Marker marker, int64_t now_ns, void *opaque);

/* on_marker NULL: updates that look like markers are updates. */
Display *display_new(SpiceChannel *channel, DisplayMarkerFunc on_marker, void *opaque);
void display_free(Display *display);

/* See screen.h. */
void display_log_screen(Display *display, const char *path, bool at_probes);

/* Invalidated rectangles so far, markers not counted. */
int64_t display_updates(const Display *display);

/* Updates and markers. */
int64_t display_events(const Display *display);

/* The primary surface as it is, or as it was last if it has been destroyed; NULL if there never
 * was one. Valid until the main loop runs again. */
const Picture *display_picture(const Display *display);

#endif /* DRAIN_DISPLAY_H_ */
