/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "replay-stream.h"

#include <glib.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "replay-text.h"
#include "surface-numbers.h"

/* What the library's reader returns with after a message. It is not given to the server. */
#define NO_COMMAND "event 0 0 2 0\nupdate\nrect area 0 0 1 1\nupdate_id 0\nsurface_id 0\n"

/* An item as it waits, a message's text behind it. */
typedef struct Made {
    ReplayItem item;
    size_t size;                /* about what it takes in memory */
    uint64_t start;             /* byte of the recording */
    unsigned int skipped;       /* commands before it */
    RecordingSurface primary;   /* the one created */
    size_t text_size;
    uint8_t text[];
} Made;

struct ReplayStream {
    EventReader *reader;
    ReplayText *commands;       /* makes the commands; NULL if the library has no reader */
    ReplayText *messages;       /* sends the messages */
    SurfaceNumbers *numbers;

    GQueue ahead;               /* of Made */
    size_t ahead_size;
    Made *given;                /* by the last replay_stream_next; its command until it is taken */
    bool at_end;
    bool gave_up;               /* the library, at the event that begins at this byte */
    uint64_t gave_up_offset;

    pthread_mutex_t mutex;
    GPtrArray *released;        /* by the server, to be freed; under the mutex */

    unsigned int skipped_last;  /* commands after the last item */
    uint64_t skipped;
    bool has_primary;
    RecordingSurface primary;
};

/* Returns false, to be returned in turn. */
static bool give_up(ReplayStream *stream, uint64_t offset)
{
    stream->at_end = stream->gave_up = true;
    stream->gave_up_offset = offset;
    return false;
}

ReplayStream *replay_stream_new(EventReader *reader)
{
    ReplayStream *stream = g_new0(ReplayStream, 1);

    stream->reader = reader;
    g_queue_init(&stream->ahead);
    pthread_mutex_init(&stream->mutex, NULL);
    stream->released = g_ptr_array_new();
    stream->commands = replay_text_new();
    stream->messages = replay_text_new();
    if (!stream->commands || !stream->messages) {
        give_up(stream, 0);
        return stream;
    }
    stream->numbers = surface_numbers_new(stream->commands);
    return stream;
}

/* With its command, unless that was taken. */
static void drop_given(ReplayStream *stream)
{
    if (stream->given && stream->given->item.command) {
        replay_stream_release(stream, stream->given->item.command);
    }
    g_free(stream->given);
    stream->given = NULL;
}

static void free_command(ReplayStream *stream, QXLCommandExt *command)
{
    if (command->cmd.type == QXL_CMD_MESSAGE) {
        /* stock libraries free the command but forget its text */
        g_free((void *) (uintptr_t) command->cmd.data);
        command->cmd.data = 0;
    }
    replay_text_release(stream->commands, command);
}

static void free_released(ReplayStream *stream)
{
    GPtrArray *released;

    pthread_mutex_lock(&stream->mutex);
    released = stream->released;
    stream->released = g_ptr_array_new();
    pthread_mutex_unlock(&stream->mutex);
    for (unsigned int i = 0; i < released->len; i++) {
        free_command(stream, g_ptr_array_index(released, i));
    }
    g_ptr_array_free(released, true);
}

void replay_stream_free(ReplayStream *stream)
{
    if (!stream) {
        return;
    }
    do {
        drop_given(stream);
        stream->given = g_queue_pop_head(&stream->ahead);
    } while (stream->given);
    free_released(stream);
    g_ptr_array_free(stream->released, true);
    pthread_mutex_destroy(&stream->mutex);
    if (stream->numbers) {
        surface_numbers_free(stream->numbers);
    }
    replay_text_free(stream->commands);
    replay_text_free(stream->messages);
    g_free(stream);
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

static Made *made_new(const ReadyEvent *ready, size_t text_size)
{
    const RecordingEvent *event = &ready->event;
    Made *made = g_malloc0(sizeof(*made) + text_size);

    made->item.number = event->number;
    made->item.timestamp = event->timestamp;
    made->start = event->start;
    made->item.is_added = ready->is_added;
    made->size = sizeof(*made) + ready->size;
    made->skipped = ready->skipped;
    made->text_size = text_size;
    return made;
}

static Made *made_message(const ReadyEvent *ready)
{
    const RecordingEvent *event = &ready->event;
    Made *made = made_new(ready, ready->size + strlen(NO_COMMAND));

    memcpy(made->text, ready->bytes, ready->size);
    memcpy(made->text + ready->size, NO_COMMAND, strlen(NO_COMMAND));
    made->primary = event->surface;
    made->item.creates_primary = recording_event_creates_primary(event);
    /* the asynchronous kinds are passed over by the library's reader */
    made->item.waits_for_commands = made->item.creates_primary ||
        event->type == RECORDING_MESSAGE_DESTROY_PRIMARY ||
        event->type == RECORDING_MESSAGE_DESTROY_SURFACES;
    return made;
}

/* Bytes that the library's reader allots to what a new surface shows. */
static size_t surface_memory(const QXLSurfaceCmd *surface)
{
    return (size_t) surface->u.surface_create.height * abs(surface->u.surface_create.stride);
}

/* A guest's video memory has been there since it booted. What the library's reader allots is only reserved yet, and
 * the server would wait for each page of it as it draws there first. */
static void touch_surface_memory(const QXLSurfaceCmd *surface)
{
    if (!(surface->flags & QXL_SURF_FLAG_KEEP_DATA)) { /* else it was read */
        memset((void *) (uintptr_t) surface->u.surface_create.data, 0, surface_memory(surface));
    }
}

/* NULL if the library gives up. */
static Made *made_command(ReplayStream *stream, const ReadyEvent *ready)
{
    QXLCommandExt *command;
    Made *made;

    surface_numbers_prepare(stream->numbers, &ready->event);
    command = replay_text_read(stream->commands, ready->bytes, ready->size, NULL);
    if (!command) {
        return NULL;
    }
    if (command->cmd.type == QXL_CMD_MESSAGE) {
        complete_message(command, ready->event.block_bytes);
    }
    made = made_new(ready, 0);
    const QXLSurfaceCmd *surface = (const QXLSurfaceCmd *) (uintptr_t) command->cmd.data;
    if (command->cmd.type == QXL_CMD_SURFACE && surface->type == QXL_SURFACE_CMD_CREATE) {
        made->size += surface_memory(surface);
        touch_surface_memory(surface);
    }
    made->item.command = surface_numbers_exchange(stream->numbers, command);
    return made;
}

/* Makes one item more. False at the end. */
static bool make_next(ReplayStream *stream)
{
    ReadyEvent ready;
    Made *made;

    if (stream->at_end) {
        return false;
    }
    free_released(stream); /* in their room; what is released later can wait for the end */
    if (!event_reader_next(stream->reader, &ready)) {
        stream->at_end = true;
        stream->skipped_last = ready.skipped;
        return false;
    }
    made = ready.event.is_command ? made_command(stream, &ready) : made_message(&ready);
    if (!made) {
        return give_up(stream, ready.event.start);
    }
    stream->ahead_size += made->size;
    g_queue_push_tail(&stream->ahead, made);
    return true;
}

bool replay_stream_read_ahead(ReplayStream *stream, size_t limit)
{
    while (stream->ahead_size < limit && make_next(stream)) {
    }
    return stream->at_end;
}

bool replay_stream_next(ReplayStream *stream, ReplayItem *item)
{
    drop_given(stream);
    if (g_queue_is_empty(&stream->ahead) && !make_next(stream)) {
        stream->skipped += stream->skipped_last;
        stream->skipped_last = 0;
        return false;
    }
    stream->given = g_queue_pop_head(&stream->ahead);
    stream->ahead_size -= stream->given->size;
    stream->skipped += stream->given->skipped;
    *item = stream->given->item;
    return true;
}

const char *replay_stream_error(const ReplayStream *stream, uint64_t *offset)
{
    if (stream->gave_up) {
        *offset = stream->gave_up_offset;
        return "the library's reader gives up on this event";
    }
    return event_reader_error(stream->reader, offset);
}

uint64_t replay_stream_skipped(const ReplayStream *stream)
{
    return stream->skipped;
}

bool replay_stream_take(ReplayStream *stream)
{
    if (!surface_numbers_take(stream->numbers, stream->given->item.command)) {
        return false;
    }
    stream->given->item.command = NULL;
    return true;
}

bool replay_stream_send(ReplayStream *stream, QXLInstance *instance)
{
    const Made *made = stream->given;
    QXLCommandExt *no_command = replay_text_read(stream->messages, made->text, made->text_size,
                                                 instance);

    if (!no_command) {
        return give_up(stream, made->start);
    }
    replay_text_release(stream->messages, no_command);
    if (made->item.creates_primary) {
        stream->has_primary = true;
        stream->primary = made->primary;
    } else if (made->item.waits_for_commands) {
        stream->has_primary = false;
    }
    return true;
}

const RecordingSurface *replay_stream_primary(const ReplayStream *stream)
{
    return stream->has_primary ? &stream->primary : NULL;
}

void replay_stream_release(ReplayStream *stream, QXLCommandExt *command)
{
    if (surface_numbers_release(stream->numbers, command)) {
        return;
    }
    pthread_mutex_lock(&stream->mutex);
    g_ptr_array_add(stream->released, command);
    pthread_mutex_unlock(&stream->mutex);
}
