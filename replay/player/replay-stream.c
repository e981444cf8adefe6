/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "replay-stream.h"

#include <glib.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>

struct ReplayStream {
    EventReader *reader;
    ReplayStreamFuncs funcs;
    SpiceReplay *replay;

    ReadyEvent ready;           /* the one the library is reading; first the header */
    size_t pos;
    bool at_end;

    unsigned int added_ahead;   /* commands of no recording that the library will give next */
    uint64_t skipped;
    uint32_t message_size;      /* of the last message command */
    bool has_primary;
    RecordingSurface primary;
};

/* The library has read all of the event; what to remember of it. */
static void event_done(ReplayStream *stream)
{
    const RecordingEvent *event = &stream->ready.event;

    if (event->is_command) {
        stream->message_size = event->type == QXL_CMD_MESSAGE ? event->block_bytes : 0;
    } else if (recording_event_creates_primary(event)) {
        stream->has_primary = true;
        stream->primary = event->surface;
    } else if (event->type == RECORDING_MESSAGE_DESTROY_PRIMARY ||
               event->type == RECORDING_MESSAGE_DESTROY_SURFACES) {
        /* the asynchronous kinds are passed over by the library's reader */
        stream->has_primary = false;
    }
}

/* Takes one event more. False at the end, damage included. */
static bool next_event(ReplayStream *stream)
{
    bool found;

    event_done(stream);
    found = event_reader_next(stream->reader, &stream->ready);
    stream->skipped += stream->ready.skipped;
    stream->pos = 0;
    stream->at_end = !found;
    return found;
}

/*
 * What the library reads. To skip white space it always reads one byte past an
 * event, so an event's first byte is given out alone and at once; when it
 * wants the second, all events before are done and it is this one's turn.
 */
static ssize_t stream_read(void *cookie, char *buf, size_t size)
{
    ReplayStream *stream = cookie;

    if (stream->funcs.is_stopping(stream->funcs.opaque)) {
        return 0;
    }
    if (stream->pos == stream->ready.size && !next_event(stream)) {
        return 0;
    }
    if (stream->pos == 0) {
        size = 1;
    } else if (stream->pos == 1 && stream->ready.event.end > 0) {
        stream->added_ahead += stream->ready.added;
        stream->funcs.begin(stream->funcs.opaque, &stream->ready);
    }
    size = MIN(size, stream->ready.size - stream->pos);
    memcpy(buf, stream->ready.bytes + stream->pos, size);
    stream->pos += size;
    return size;
}

ReplayStream *replay_stream_new(EventReader *reader, const ReplayStreamFuncs *funcs)
{
    ReplayStream *stream = g_new0(ReplayStream, 1);

    stream->reader = reader;
    stream->funcs = *funcs;
    stream->ready.bytes = (const uint8_t *) RECORDING_HEADER;
    stream->ready.size = strlen(RECORDING_HEADER);
    return stream;
}

void replay_stream_free(ReplayStream *stream)
{
    if (stream->replay) {
        spice_replay_free(stream->replay);
    }
    g_free(stream);
}

SpiceReplay *replay_stream_replay(ReplayStream *stream)
{
    static const cookie_io_functions_t functions = { .read = stream_read };
    FILE *file = fopencookie(stream, "r", functions);

    /* One thread reads it. The library reads field by field, and a lock for each shows. */
    __fsetlocking(file, FSETLOCKING_BYCALLER);
    stream->replay = spice_replay_new(file, RECORDING_SURFACES_MAX);
    if (!stream->replay) {
        fclose(file);
    }
    return stream->replay;
}

/*
 * A stock library's reader neither ends a message's text with a 0, which its
 * worker looks for, nor says whom to release it to.
 */
static void complete_message(QXLCommandExt *command, uint32_t size)
{
    QXLMessage *message = (QXLMessage *) (uintptr_t) command->cmd.data;

    message = g_realloc(message, sizeof(*message) + size + 1);
    message->data[size] = 0;
    message->release_info.id = (uintptr_t) command;
    command->cmd.data = (uintptr_t) message;
}

QXLCommandExt *replay_stream_next(ReplayStream *stream, QXLInstance *instance, bool *is_added)
{
    QXLCommandExt *command = spice_replay_next_cmd(stream->replay, instance);

    if (!command) {
        return NULL;
    }
    if (command->cmd.type == QXL_CMD_MESSAGE) {
        complete_message(command, stream->message_size);
    }
    *is_added = stream->added_ahead > 0;
    stream->added_ahead -= *is_added;
    return command;
}

bool replay_stream_at_end(const ReplayStream *stream)
{
    return stream->at_end;
}

uint64_t replay_stream_skipped(const ReplayStream *stream)
{
    return stream->skipped;
}

const RecordingSurface *replay_stream_primary(const ReplayStream *stream)
{
    return stream->has_primary ? &stream->primary : NULL;
}

uint64_t replay_stream_offset(const ReplayStream *stream)
{
    return stream->ready.event.start;
}
