/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "event-reader.h"

#include <glib.h>
#include <spice/qxl_dev.h>
#include <string.h>

struct EventReader {
    Recording *recording;
    EventReaderFunc each;
    void *opaque;
    RecordingEvent event;       /* the last one read */
    bool is_pending;            /* it is to be given, after the destroy commands before it */
    unsigned int next_destroyed;    /* surface to look at for one */
    GString *added;             /* text of a command of ours */
};

EventReader *event_reader_new(RecordingInput *input, EventReaderFunc each, void *opaque)
{
    EventReader *reader = g_new0(EventReader, 1);

    reader->recording = recording_new(input);
    recording_keep_bytes(reader->recording);
    reader->each = each;
    reader->opaque = opaque;
    reader->added = g_string_new(NULL);
    return reader;
}

void event_reader_free(EventReader *reader)
{
    if (!reader) {
        return;
    }
    g_string_free(reader->added, true);
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
static bool next_destroy_command(EventReader *reader, ReadyEvent *ready)
{
    const RecordingSurfaces *surfaces = recording_surfaces(reader->recording);

    while (reader->next_destroyed < RECORDING_SURFACES_MAX) {
        unsigned int id = reader->next_destroyed++;

        if (surfaces->surface[id].state != SURFACE_DYING) {
            continue;
        }
        g_string_printf(reader->added, "event 0 0 %d %" G_GUINT64_FORMAT "\nsurface_cmd\n"
                        "surface_id %u\ntype %d\nflags 0\n", QXL_CMD_SURFACE,
                        reader->event.timestamp, id, QXL_SURFACE_CMD_DESTROY);
        ready->event = reader->event;
        ready->event.is_command = true;
        ready->event.type = QXL_CMD_SURFACE;
        ready->event.subtype = QXL_SURFACE_CMD_DESTROY;
        ready->event.surface_id = id;
        ready->bytes = (const uint8_t *) reader->added->str;
        ready->size = reader->added->len;
        ready->is_added = true;
        return true;
    }
    return false;
}

/* Reads until there is an event for the library. Returns the commands passed over. */
static unsigned int read_event(EventReader *reader)
{
    unsigned int skipped = 0;

    while (!reader->is_pending && recording_next(reader->recording, &reader->event)) {
        if (reader->each) {
            reader->each(reader->opaque, &reader->event);
        }
        if (reader->event.is_moot) {
            /* destroys a surface that is gone by a command of ours */
            skipped++;
            continue;
        }
        /* the library's reader passes over the rest: in a desktop session two events of three */
        reader->is_pending = recording_event_leaves_something(&reader->event);
        reader->next_destroyed = destroys_surfaces(&reader->event) ? 1 : RECORDING_SURFACES_MAX;
    }
    return skipped;
}

bool event_reader_next(EventReader *reader, ReadyEvent *ready)
{
    memset(ready, 0, sizeof(*ready));
    ready->skipped = read_event(reader);
    if (!reader->is_pending) {
        return false;
    }
    if (!next_destroy_command(reader, ready)) {
        ready->event = reader->event;
        ready->bytes = recording_bytes(reader->recording, &ready->size);
        reader->is_pending = false;
    }
    return true;
}

const char *event_reader_error(const EventReader *reader, uint64_t *offset)
{
    return recording_error(reader->recording, offset);
}
