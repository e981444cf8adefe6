/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "event-reader.h"

#include <glib.h>
#include <spice/qxl_dev.h>
#include <string.h>

struct EventReader {
    Recording *recording;
    GQueue ahead;               /* of ReadyEvent, their bytes behind them */
    size_t ahead_size;
    ReadyEvent *given;          /* by the last event_reader_next */
    bool at_end;
    unsigned int skipped;       /* since the last event in the queue */
};

EventReader *event_reader_new(RecordingInput *input)
{
    EventReader *reader = g_new0(EventReader, 1);

    reader->recording = recording_new(input);
    recording_keep_bytes(reader->recording);
    g_queue_init(&reader->ahead);
    return reader;
}

void event_reader_free(EventReader *reader)
{
    if (!reader) {
        return;
    }
    g_queue_clear_full(&reader->ahead, g_free);
    g_free(reader->given);
    recording_free(reader->recording);
    g_free(reader);
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
static unsigned int destroy_commands(const EventReader *reader, const RecordingEvent *event,
                                     GString *text)
{
    const RecordingSurfaces *surfaces = recording_surfaces(reader->recording);
    unsigned int commands = 0;

    for (unsigned int id = 1; id < RECORDING_SURFACES_MAX; id++) {
        if (surfaces->surface[id].state == SURFACE_DYING) {
            g_string_append_printf(text, "event 0 0 %d %" G_GUINT64_FORMAT "\nsurface_cmd\n"
                                   "surface_id %u\ntype %d\nflags 0\n", QXL_CMD_SURFACE,
                                   event->timestamp, id, QXL_SURFACE_CMD_DESTROY);
            commands++;
        }
    }
    return commands;
}

static void add_to_queue(EventReader *reader, const RecordingEvent *event)
{
    GString *before = destroys_surfaces(event) ? g_string_new(NULL) : NULL;
    unsigned int added = before ? destroy_commands(reader, event, before) : 0;
    size_t size, before_size = before ? before->len : 0;
    const uint8_t *bytes = recording_bytes(reader->recording, &size);
    ReadyEvent *ready = g_malloc(sizeof(*ready) + before_size + size);
    uint8_t *copy = (uint8_t *) (ready + 1);

    if (before) {
        memcpy(copy, before->str, before_size);
        g_string_free(before, true);
    }
    memcpy(copy + before_size, bytes, size);
    *ready = (ReadyEvent) {
        .event = *event,
        .bytes = copy,
        .size = before_size + size,
        .added = added,
        .skipped = reader->skipped,
        .live_surfaces = recording_surfaces(reader->recording)->live,
    };
    reader->skipped = 0;
    reader->ahead_size += sizeof(*ready) + ready->size;
    g_queue_push_tail(&reader->ahead, ready);
}

bool event_reader_read_ahead(EventReader *reader, size_t limit, EventReaderFunc each, void *opaque)
{
    RecordingEvent event;

    while (!reader->at_end && reader->ahead_size < limit) {
        if (!recording_next(reader->recording, &event)) {
            reader->at_end = true;
            break;
        }
        if (each) {
            each(opaque, &event);
        }
        if (event.is_moot) {
            /* destroys a surface that is gone by a command of ours */
            reader->skipped++;
        } else if (recording_event_leaves_something(&event)) {
            /* the library's reader passes over the rest, in a desktop session two events of three */
            add_to_queue(reader, &event);
        }
    }
    return reader->at_end;
}

bool event_reader_next(EventReader *reader, ReadyEvent *ready)
{
    g_free(reader->given);
    reader->given = NULL;
    if (g_queue_is_empty(&reader->ahead)) {
        event_reader_read_ahead(reader, 1, NULL, NULL);
    }
    reader->given = g_queue_pop_head(&reader->ahead);
    if (!reader->given) {
        *ready = (ReadyEvent) { .skipped = reader->skipped };
        reader->skipped = 0;
        return false;
    }
    *ready = *reader->given;
    reader->ahead_size -= sizeof(*ready) + ready->size;
    return true;
}

const char *event_reader_error(const EventReader *reader, uint64_t *offset)
{
    return recording_error(reader->recording, offset);
}
