/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef DISPLAY_H_
#define DISPLAY_H_

#include <spice.h>
#include <stdbool.h>
#include <stdint.h>

#include "replay-stream.h"

/*
 * A QXL device as the library sees it: a ring of display commands, one of
 * cursor commands, and guest memory that is the process's own. Commands come
 * from a ReplayStream or are markers (marker.h).
 */
typedef struct Display Display;

/*
 * Adds the device to a server that is initialised, and starts it. @ahead: its rings are
 * larger than a device's, so that who fills them is woken rarely.
 */
Display *display_new(SpiceServer *server, bool ahead);

/* To be called after the server is destroyed; frees what was never taken. */
void display_free(Display *display);

QXLInstance *display_instance(Display *display);

/* Where commands with an address as their id are released to. */
void display_set_stream(Display *display, ReplayStream *stream);

/*
 * Puts a command into its ring, waiting for room. False when the display is
 * closed; the command is freed then.
 */
bool display_push(Display *display, const QXLCommandExt *command);

/* As display_push, but false, and the command is freed, also when its ring is full. */
bool display_offer(Display *display, const QXLCommandExt *command);

/* Lets the library have the commands that wait for a ring to be full. */
void display_release(Display *display);

/*
 * Makes the library take all commands and draw this area of the primary surface and what is below:
 * what was drawn there is sent then, and not left out when something later covers it.
 */
void display_settle(Display *display, QXLRect *area);

/* Ends waiting and future pushes. */
void display_close(Display *display);

/* Commands the library has taken, without those of a made-up pointer. */
uint64_t display_taken(Display *display);

/* Both rings are empty. */
bool display_is_empty(Display *display);

/* The library has taken the end marker. */
bool display_end_taken(Display *display);

#endif /* DISPLAY_H_ */
