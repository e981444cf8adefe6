/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORDING_H_
#define RECORDING_H_

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "recording-input.h"
#include "recording-surfaces.h"

/*
 * Reads what spice-server writes when SPICE_WORKER_RECORD_FILENAME is set, an
 * event at a time, and checks all of it: what the library's own reader takes on
 * trust (counts, sizes, surface numbers) and what would make the server abort
 * or read beyond a picture. One pass, and no more memory than one event takes.
 *
 *     Recording *recording = recording_new(input);
 *     RecordingEvent event;
 *     while (recording_next(recording, &event)) {
 *         ...
 *     }
 *     if (recording_error(recording, &offset)) ...
 *
 * Offsets count the unpacked bytes.
 */
typedef struct Recording Recording;

#define RECORDING_HEADER "SPICE_REPLAY 1\n"

/* Messages of the server's worker that a player has to know; the others change nothing. */
enum {
    RECORDING_MESSAGE_DESTROY_SURFACES = 19,
    RECORDING_MESSAGE_CREATE_PRIMARY = 20,
    RECORDING_MESSAGE_DESTROY_PRIMARY = 21,
    RECORDING_MESSAGE_DESTROY_SURFACES_ASYNC = 28,
    RECORDING_MESSAGE_CREATE_PRIMARY_ASYNC = 29,
    RECORDING_MESSAGE_DESTROY_PRIMARY_ASYNC = 30,
    RECORDING_MESSAGE_COUNT = 41,
};

typedef struct RecordingEvent {
    uint64_t number;            /* 0 for the first */
    bool is_command;            /* else a message to the worker */
    uint32_t type;              /* QXL_CMD_* or the message's number */
    uint32_t subtype;           /* QXL_DRAW_*, QXL_CURSOR_* or QXL_SURFACE_CMD_* */
    uint64_t timestamp;         /* nanoseconds of the recording machine's monotonic clock */
    uint64_t start, end;        /* bytes [start, end) of the recording */
    uint32_t surface_id;        /* drawn on, updated, created, destroyed */
    RecordingSurface surface;   /* the one created */
    bool is_moot;               /* destroys a surface that a message has destroyed already */
    uint64_t block_bytes;       /* in counted blocks, unpacked */
} RecordingEvent;

/* Does not take the input over. */
Recording *recording_new(RecordingInput *input);
void recording_free(Recording *recording);

/* From the next event on, keep the event's bytes. */
void recording_keep_bytes(Recording *recording);

/* False at the end and at a fault, which recording_error tells apart. */
bool recording_next(Recording *recording, RecordingEvent *event);

/* NULL if there is none so far. */
const char *recording_error(const Recording *recording, uint64_t *offset);

/* The last event's bytes if they are kept, valid until the next recording_next. */
const uint8_t *recording_bytes(const Recording *recording, size_t *size);

/* As they are after the last event. */
const RecordingSurfaces *recording_surfaces(const Recording *recording);

/* Whether the event makes a primary surface. */
bool recording_event_creates_primary(const RecordingEvent *event);

/* False of a message that changes nothing a player has to know. */
bool recording_event_leaves_something(const RecordingEvent *event);

#endif /* RECORDING_H_ */
