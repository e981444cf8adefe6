/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

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
 * Adds the device to an initialised server, and starts it. @ahead: its rings are larger than
 * a real device's, so that the thread that fills them is woken rarely.
 */
Display *display_new(SpiceServer *server, int id, bool ahead);

/* To be called after the server is destroyed; frees commands that were never taken. */
void display_free(Display *display);

QXLInstance *display_instance(Display *display);

/* Receives the released commands whose id is an address. */
void display_set_stream(Display *display, ReplayStream *stream);

/*
 * Puts a command into its ring; while that is full, waits or gives up. False, and the command is
 * freed, if it gave up or the display is closed.
 */
bool display_push(Display *display, const QXLCommandExt *command, bool waits);

/* Shows the library the commands that wait for a burst to be complete. */
void display_release(Display *display);

/*
 * Makes the library take all commands and draw this area of the primary surface: the drawings there
 * are then sent, even if a later one covers them.
 */
void display_settle(Display *display, QXLRect *area);

/* Waiting and future pushes return false. */
void display_close(Display *display);

/* Commands that the library has taken, without those of the device pointer. */
uint64_t display_taken(Display *display);

/* Both rings are empty. */
bool display_is_empty(Display *display);

/* The library has taken the end marker. */
bool display_end_taken(Display *display);
