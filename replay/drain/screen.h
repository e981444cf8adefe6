/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Logs the screen of a display: the pixels that the library has drawn, whichever messages brought them. */

#ifndef DRAIN_SCREEN_H_
#define DRAIN_SCREEN_H_

#include <glib.h>

#include "picture.h"

typedef struct Screen Screen;

/* at_probes: it looks at each probe and at the end, and so at what the commands before it drew; else a moment after
 * something has changed. NULL and error set if the file cannot be written. */
Screen *screen_new(const char *path, bool at_probes, GError **error);

/* False if the file could not be written. */
bool screen_free(Screen *screen);

/* This may have changed. The picture is the caller's, and stays valid until screen_leave(). */
void screen_touch(Screen *screen, const Picture *picture, int left, int top, int width, int height);

/* The picture's pixels are about to go: logs what has changed and was not looked at yet. */
void screen_leave(Screen *screen);

/* picture: may be NULL. */
void screen_look_at_marker(Screen *screen, const Picture *picture, int64_t now_ns);

#endif /* DRAIN_SCREEN_H_ */
