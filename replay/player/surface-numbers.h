/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SURFACE_NUMBERS_H_
#define SURFACE_NUMBERS_H_

#include <spice.h>
#include <stdbool.h>

#include "recording.h"
#include "replay-text.h"

/*
 * The numbers that the library's reader gives to surfaces, while it is ahead of
 * the server. It has as many as the server has surfaces, takes one for each
 * surface made, waits if it has none left, and has one back when the command
 * that destroys the surface is freed. Read ahead it would wait for ever: the
 * server has not got the command yet.
 *
 * So the command that destroys a surface is kept here as the right to a number
 * and is freed when the reader needs one, the oldest first; the server gets a
 * copy. And a surface is made only after the server has released the copy that
 * destroyed the last one of its number.
 *
 * Used by one thread at a time, except as noted.
 */
typedef struct SurfaceNumbers SurfaceNumbers;

/* Does not take the reader over. */
SurfaceNumbers *surface_numbers_new(ReplayText *text);

/* Before the reader is freed. */
void surface_numbers_free(SurfaceNumbers *numbers);

/* Before the library reads the event. */
void surface_numbers_prepare(SurfaceNumbers *numbers, const RecordingEvent *event);

/* The command to give to the server for one that has been read: another if it destroys a surface. */
QXLCommandExt *surface_numbers_exchange(SurfaceNumbers *numbers, QXLCommandExt *command);

/* False as long as the server may have a surface of the number that the command takes. */
bool surface_numbers_take(SurfaceNumbers *numbers, const QXLCommandExt *command);

/*
 * The server has released the command, or will never get it. True if it was one
 * of those given in exchange, which is freed. In any thread.
 */
bool surface_numbers_release(SurfaceNumbers *numbers, QXLCommandExt *command);

#endif /* SURFACE_NUMBERS_H_ */
