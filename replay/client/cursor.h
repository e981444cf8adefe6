/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mouse, both ways: the cursor channel's moves, and motions sent on the inputs channel. */

#ifndef DRAIN_POINTER_H_
#define DRAIN_POINTER_H_

#include <spice-client.h>
#include <stdbool.h>

#include "json.h"

typedef struct Cursor Cursor;
typedef struct Inputs Inputs;

/* keep_moves: place and time of every move are kept for the report. */
Cursor *cursor_new(SpiceChannel *channel, bool keep_moves);
void cursor_free(Cursor *cursor);
int64_t cursor_moves(const Cursor *cursor);

/* A list of [x, y, time in ns], or null if moves were not kept. */
void cursor_report_moves(const Cursor *cursor, Json *json);

/* Sends a motion of one pixel every interval_ms (0: never) once inputs_start() was called. */
Inputs *inputs_new(SpiceChannel *channel, int interval_ms);
void inputs_free(Inputs *inputs);
void inputs_start(Inputs *inputs);
int64_t inputs_motions(const Inputs *inputs);

#endif /* DRAIN_POINTER_H_ */
