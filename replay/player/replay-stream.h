/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPLAY_STREAM_H_
#define REPLAY_STREAM_H_

#include <spice.h>
#include <stdbool.h>
#include <stdint.h>

#include "event-reader.h"

/*
 * A recording as the library's reader is given it: event by event, and mended
 * where it would leave a message half made.
 */
typedef struct ReplayStream ReplayStream;

/* Called in the thread that asks the library for commands, during that. */
typedef struct ReplayStreamFuncs {
    /* The library has done all before this event and is about to read it. May wait. */
    void (*begin)(void *opaque, const ReadyEvent *ready);
    /* The stream is to end here. */
    bool (*is_stopping)(void *opaque);
    void *opaque;
} ReplayStreamFuncs;

/* Takes nothing over. */
ReplayStream *replay_stream_new(EventReader *reader, const ReplayStreamFuncs *funcs);

/* Frees the library's reader too. */
void replay_stream_free(ReplayStream *stream);

/* NULL if the library does not want it. To be called first. */
SpiceReplay *replay_stream_replay(ReplayStream *stream);

/*
 * The next command of the recording, or one that the stream has added, which
 * *is_added tells. NULL at the end, whatever the reason.
 */
QXLCommandExt *replay_stream_next(ReplayStream *stream, QXLInstance *instance, bool *is_added);

/* The recording's end, or a fault in it, has been reached. */
bool replay_stream_at_end(const ReplayStream *stream);

/* Commands of the recording that were not worth giving to the library. */
uint64_t replay_stream_skipped(const ReplayStream *stream);

/* The primary surface as the library has it, NULL if there is none. */
const RecordingSurface *replay_stream_primary(const ReplayStream *stream);

/* Where the last event read begins. */
uint64_t replay_stream_offset(const ReplayStream *stream);

#endif /* REPLAY_STREAM_H_ */
