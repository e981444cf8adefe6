/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPLAY_STREAM_H_
#define REPLAY_STREAM_H_

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
    RecordedKind kind;              /* not RECORDED_NOTHING */
    uint64_t number, timestamp;     /* of its event */
    QXLCommandExt *command;         /* NULL if it is a message */
} ReplayItem;

typedef void (*ReplayStreamFunc)(void *opaque, const RecordingEvent *event);

/* Does not take the recording over. Each, unless it is NULL, is called with every event when it is read. */
ReplayStream *replay_stream_new(Recording *recording, ReplayStreamFunc each, void *opaque);

/* After the server is destroyed. */
void replay_stream_free(ReplayStream *stream);

/* Makes items until they take about so many bytes. True if there are no more. */
bool replay_stream_read_ahead(ReplayStream *stream, size_t limit);

/* The next one, good until the call after. False at the end, whatever the reason. */
bool replay_stream_next(ReplayStream *stream, ReplayItem *item);

/* Why it has ended, and at which byte. NULL at the recording's end. */
const char *replay_stream_error(const ReplayStream *stream, uint64_t *offset);

/*
 * Hands over the last item's command, to be pushed. False, and to be asked again,
 * as long as the server has a surface of the number that it gives to a new one.
 */
bool replay_stream_take(ReplayStream *stream);

/* Gives the server the last item, which is a message, and waits until its worker has acted on it. */
void replay_stream_send(ReplayStream *stream, QXLInstance *instance);

/* The primary surface by the messages sent, NULL if there is none. */
const QXLSurfaceCreate *replay_stream_primary(const ReplayStream *stream);

/*
 * The server has released a command that was taken, or will never get it. It is
 * freed when the next one is made, or at the end: a guest, too, frees its own, and
 * the server's thread has other things to do. In any thread.
 */
void replay_stream_release(ReplayStream *stream, QXLCommandExt *command);

#endif /* REPLAY_STREAM_H_ */
