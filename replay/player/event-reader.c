/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "event-reader.h"

#include <glib.h>
#include <spice/qxl_dev.h>
#include <string.h>

struct EventReader {
    Recording *recording;
    EventReaderFunc each;
    void *opaque;
    GQueue ready;               /* of ReadyEvent, their bytes behind them */
    ReadyEvent *given;          /* by the last event_reader_next */
    GString *added;             /* text of a command of ours */
    unsigned int skipped;       /* since the last event in the queue */
};

EventReader *event_reader_new(RecordingInput *input, EventReaderFunc each, void *opaque)
{
    EventReader *reader = g_new0(EventReader, 1);

    reader->recording = recording_new(input);
    recording_keep_bytes(reader->recording);
    reader->added = g_string_new(NULL);
    reader->each = each;
    reader->opaque = opaque;
    g_queue_init(&reader->ready);
    return reader;
}

void event_reader_free(EventReader *reader)
{
    if (!reader) {
        return;
    }
    g_queue_clear_full(&reader->ready, g_free);
    g_free(reader->given);
    g_string_free(reader->added, true);
    recording_free(reader->recording);
    g_free(reader);
}

static bool destroys_surfaces(const RecordingEvent *event)
{
    return !event->is_command && (event->type == RECORDING_MESSAGE_DESTROY_SURFACES ||
                                  event->type == RECORDING_MESSAGE_DESTROY_SURFACES_ASYNC);
}

static void add_to_queue(EventReader *reader, const RecordingEvent *event, bool is_added,
                         const void *bytes, size_t size)
{
    ReadyEvent *ready = g_malloc(sizeof(*ready) + size);
    uint8_t *copy = (uint8_t *) (ready + 1);

    memcpy(copy, bytes, size);
    *ready = (ReadyEvent) {
        .event = *event,
        .bytes = copy,
        .size = size,
        .is_added = is_added,
        .skipped = reader->skipped,
    };
    reader->skipped = 0;
    g_queue_push_tail(&reader->ready, ready);
}

/*
 * The library's reader gives each surface a number and takes it back at the
 * surface's destroy command. A message that destroys all surfaces gives none
 * back (in stock libraries), and the asynchronous one is passed over: soon no
 * number would be left.
 * So such a message is preceded by a destroy command for each.
 */
static void add_destroy_commands(EventReader *reader, const RecordingEvent *message)
{
    const RecordingSurfaces *surfaces = recording_surfaces(reader->recording);
    RecordingEvent event = *message;

    event.is_command = true;
    event.type = QXL_CMD_SURFACE;
    event.subtype = QXL_SURFACE_CMD_DESTROY;
    for (unsigned int id = 1; id < RECORDING_SURFACES_MAX; id++) {
        if (surfaces->surface[id].state == SURFACE_DYING) {
            g_string_printf(reader->added, "event 0 0 %d %" G_GUINT64_FORMAT "\nsurface_cmd\n"
                            "surface_id %u\ntype %d\nflags 0\n", QXL_CMD_SURFACE,
                            event.timestamp, id, QXL_SURFACE_CMD_DESTROY);
            event.surface_id = id;
            add_to_queue(reader, &event, true, reader->added->str, reader->added->len);
        }
    }
}

/* What there is for the library to read of it. */
static void make_ready(EventReader *reader, const RecordingEvent *event)
{
    const uint8_t *bytes;
    size_t size;

    if (event->is_moot) {
        /* destroys a surface that is gone by a command of ours */
        reader->skipped++;
        return;
    }
    if (!recording_event_leaves_something(event)) {
        /* the library's reader passes over it: in a desktop session two events of three */
        return;
    }
    if (destroys_surfaces(event)) {
        add_destroy_commands(reader, event);
    }
    bytes = recording_bytes(reader->recording, &size);
    add_to_queue(reader, event, false, bytes, size);
}

bool event_reader_next(EventReader *reader, ReadyEvent *ready)
{
    RecordingEvent event;

    g_free(reader->given);
    while (g_queue_is_empty(&reader->ready) && recording_next(reader->recording, &event)) {
        if (reader->each) {
            reader->each(reader->opaque, &event);
        }
        make_ready(reader, &event);
    }
    reader->given = g_queue_pop_head(&reader->ready);
    if (!reader->given) {
        *ready = (ReadyEvent) { .skipped = reader->skipped };
        reader->skipped = 0;
        return false;
    }
    *ready = *reader->given;
    return true;
}

const char *event_reader_error(const EventReader *reader, uint64_t *offset)
{
    return recording_error(reader->recording, offset);
}
