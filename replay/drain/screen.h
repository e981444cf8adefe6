/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Logs the screen of a display: the pixels that the library has drawn, whichever messages brought them. */

#ifndef DRAIN_SCREEN_H_
#define DRAIN_SCREEN_H_

#include <glib.h>

#include "display.h"

typedef struct Screen Screen;

/* at_probes: it looks at each probe and at the end, and so at what the commands before it drew; else a moment after
 * something has changed. NULL and error set if the file cannot be written. */
Screen *screen_new(const char *path, bool at_probes, GError **error);

/* False if the file could not be written. */
bool screen_free(Screen *screen);

/* The display is the caller's, and this may have changed. */
void screen_touch(Screen *screen, const Display *display, int left, int top, int width, int height);

void screen_look_at_marker(Screen *screen, const Display *display, int64_t now_ns);

#endif /* DRAIN_SCREEN_H_ */
