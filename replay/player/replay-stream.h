/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <spice.h>
#include <stdbool.h>
#include <stdint.h>

#include "recording.h"

/*
 * A recording as commands and messages for the server.
 *
 * They can be made ahead: a guest has its commands in memory, made by processors
 * that are no business of the server's.
 *
 * Used by one thread at a time, except as noted.
 */
typedef struct ReplayStream ReplayStream;

/* A command for the server's ring, or a message to its worker. */
typedef struct ReplayItem {
    RecordedKind kind;          /* not RECORDED_NOTHING */
    uint64_t due_ns;            /* recorded time since the recording began */
    QXLCommandExt *command;     /* NULL if it is a message */
} ReplayItem;

/* What all of a recording has. */
typedef struct ReplayTotals {
    uint64_t events, commands, bytes;
    uint64_t length_ns;         /* from the first event to the last */
} ReplayTotals;

/* "-" is standard input. NULL with errno set if the file cannot be opened. */
ReplayStream *replay_stream_open(const char *path);

/* After the server is destroyed. */
void replay_stream_free(ReplayStream *stream);

/*
 * Reads all of a file, so that a damaged one is refused before anything is played; then items are
 * made until they take about so many bytes. False if it is damaged. Then every item's due time is
 * known, too. Usually it is what the timestamp says. But a recording in which events were moved to
 * an earlier place has timestamps that run ahead of their neighbours, and waiting for those would
 * delay all that follows: an event is due no later than any event after it.
 */
bool replay_stream_check(ReplayStream *stream, size_t limit);

/* NULL unless it was checked. */
const ReplayTotals *replay_stream_totals(const ReplayStream *stream);

/* Whether a drawing of the recording, if it was checked, looks like the probe of this number. */
bool replay_stream_draws_probe(const ReplayStream *stream, unsigned int number);

/*
 * The next one, good until the call after. False at the end, whatever the reason. Left out is the destruction
 * of surfaces after which none is created, of a checked recording, or at the end: the last screen stays.
 */
bool replay_stream_next(ReplayStream *stream, ReplayItem *item);

/* At which byte what is wrong, in a line to be freed. NULL if nothing is so far. */
char *replay_stream_error(const ReplayStream *stream);

/*
 * Hands over the last item's command, to be pushed. False, and to be asked again,
 * as long as the server has a surface of the number that it gives to a new one.
 */
bool replay_stream_take(ReplayStream *stream);

/* Gives the server the last item, which is a message, and waits until its worker has acted on it. */
void replay_stream_send(ReplayStream *stream, QXLInstance *instance);

/* The primary surface by the messages sent, NULL if there is none. */
const QXLSurfaceCreate *replay_stream_primary(const ReplayStream *stream);

/* Another one by the commands taken; NULL if there is none of that number. */
const QXLSurface *replay_stream_surface(const ReplayStream *stream, uint32_t number);

/*
 * The server has released a command that was taken, or will never get it. It is
 * freed when the next one is made, or at the end: a guest, too, frees its own, and
 * the server's thread has other things to do. In any thread.
 */
void replay_stream_release(ReplayStream *stream, QXLCommandExt *command);
