/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "replay-stream.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

struct ReplayStream {
    Recording *recording;
    ReplayStreamFuncs funcs;
    SpiceReplay *replay;

    RecordingEvent event;       /* the one the library is reading */
    GByteArray *bytes;          /* of the event, as the library is to read it */
    size_t pos;
    bool at_end;

    unsigned int added;         /* commands in the bytes that are not in the recording */
    unsigned int added_ahead;   /* those of them that the library will give next */
    uint64_t skipped;
    uint32_t message_size;      /* of the last message command */
    bool has_primary;
    RecordingSurface primary;
};

/* The library has read all of the event; what to remember of it. */
static void event_done(ReplayStream *stream)
{
    const RecordingEvent *event = &stream->event;

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

static bool destroys_surfaces(const RecordingEvent *event)
{
    return !event->is_command && (event->type == RECORDING_MESSAGE_DESTROY_SURFACES ||
                                  event->type == RECORDING_MESSAGE_DESTROY_SURFACES_ASYNC);
}

/*
 * The library's reader gives each surface a number and takes it back at the
 * surface's destroy command. A message that destroys all surfaces gives none
 * back (in stock libraries), and the asynchronous one is passed over: soon no
 * number would be left.
 * So such a message is preceded by a destroy command for each.
 */
static void add_destroy_commands(ReplayStream *stream)
{
    const RecordingSurfaces *surfaces = recording_surfaces(stream->recording);

    for (unsigned int id = 1; id < RECORDING_SURFACES_MAX; id++) {
        char *text;

        if (surfaces->surface[id].state != SURFACE_DYING) {
            continue;
        }
        text = g_strdup_printf("event 0 0 %d %" G_GUINT64_FORMAT "\nsurface_cmd\n"
                               "surface_id %u\ntype %d\nflags 0\n", QXL_CMD_SURFACE,
                               stream->event.timestamp, id, QXL_SURFACE_CMD_DESTROY);
        g_byte_array_append(stream->bytes, (const uint8_t *) text, strlen(text));
        g_free(text);
        stream->added++;
    }
}

/* Reads and checks one event more. False at the end, damage included. */
static bool next_event(ReplayStream *stream)
{
    const uint8_t *bytes;
    size_t size;

    do {
        event_done(stream);
        if (!recording_next(stream->recording, &stream->event)) {
            stream->at_end = true;
            return false;
        }
        /* a surface that is gone by a command of ours */
        stream->skipped += stream->event.is_moot;
    } while (stream->event.is_moot);
    g_byte_array_set_size(stream->bytes, 0);
    if (destroys_surfaces(&stream->event)) {
        add_destroy_commands(stream);
    }
    bytes = recording_bytes(stream->recording, &size);
    g_byte_array_append(stream->bytes, bytes, size);
    stream->pos = 0;
    return true;
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
    if (stream->pos == stream->bytes->len && !next_event(stream)) {
        return 0;
    }
    if (stream->pos == 0) {
        size = 1;
    } else if (stream->pos == 1 && stream->event.end > 0) {
        stream->added_ahead += stream->added;
        stream->added = 0;
        stream->funcs.begin(stream->funcs.opaque, &stream->event);
    }
    size = MIN(size, stream->bytes->len - stream->pos);
    memcpy(buf, stream->bytes->data + stream->pos, size);
    stream->pos += size;
    return size;
}

ReplayStream *replay_stream_new(Recording *recording, const ReplayStreamFuncs *funcs)
{
    ReplayStream *stream = g_new0(ReplayStream, 1);

    stream->recording = recording;
    stream->funcs = *funcs;
    stream->bytes = g_byte_array_new();
    recording_keep_bytes(recording);
    return stream;
}

void replay_stream_free(ReplayStream *stream)
{
    if (stream->replay) {
        spice_replay_free(stream->replay);
    }
    g_byte_array_unref(stream->bytes);
    g_free(stream);
}

SpiceReplay *replay_stream_replay(ReplayStream *stream)
{
    static const cookie_io_functions_t functions = { .read = stream_read };
    FILE *file = fopencookie(stream, "r", functions);

    g_byte_array_append(stream->bytes, (const uint8_t *) RECORDING_HEADER,
                        strlen(RECORDING_HEADER));
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
    return stream->event.start;
}
