/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cursor channel's moves. */

#ifndef DRAIN_CURSOR_H_
#define DRAIN_CURSOR_H_

#include <spice-client.h>
#include <stdbool.h>

typedef struct Cursor Cursor;

/* keep_moves: place and time of every move are kept for the report. */
Cursor *cursor_new(SpiceChannel *channel, bool keep_moves);
void cursor_free(Cursor *cursor);
int64_t cursor_moves(const Cursor *cursor);

/* A list of [x, y, time in ns]; moves must have been kept. */
GVariant *cursor_report_moves(const Cursor *cursor);

#endif /* DRAIN_CURSOR_H_ */
