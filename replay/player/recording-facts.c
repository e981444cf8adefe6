/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording-facts.h"

#include <errno.h>
#include <spice/enums.h>
#include <spice/qxl_dev.h>
#include <string.h>

static const char *const draw_names[FACTS_DRAW_TYPES] = {
    "DRAW_NOP", "DRAW_FILL", "DRAW_OPAQUE", "DRAW_COPY", "COPY_BITS", "DRAW_BLEND",
    "DRAW_BLACKNESS", "DRAW_WHITENESS", "DRAW_INVERS", "DRAW_ROP3", "DRAW_STROKE", "DRAW_TEXT",
    "DRAW_TRANSPARENT", "DRAW_ALPHA_BLEND", "DRAW_COMPOSITE",
};

static const char *const cursor_names[FACTS_CURSOR_TYPES] = {
    "CURSOR_SET", "CURSOR_MOVE", "CURSOR_HIDE", "CURSOR_TRAIL",
};

static const char *const bitmap_names[FACTS_BITMAP_FORMATS] = {
    NULL, "BITMAP_1BIT_LE", "BITMAP_1BIT_BE", "BITMAP_4BIT_LE", "BITMAP_4BIT_BE", "BITMAP_8BIT",
    "BITMAP_16BIT", "BITMAP_24BIT", "BITMAP_32BIT", "BITMAP_RGBA", "BITMAP_8BIT_A",
};

static const char *const message_names[RECORDING_MESSAGE_COUNT] = {
    "NOP", "UPDATE", "WAKEUP", "OOM", "READY", "DISPLAY_CONNECT", "DISPLAY_DISCONNECT",
    "DISPLAY_MIGRATE", "START", "STOP", "CURSOR_CONNECT", "CURSOR_DISCONNECT", "CURSOR_MIGRATE",
    "SET_COMPRESSION", "SET_STREAMING_VIDEO", "SET_MOUSE_MODE", "ADD_MEMSLOT", "DEL_MEMSLOT",
    "RESET_MEMSLOTS", "DESTROY_SURFACES", "CREATE_PRIMARY_SURFACE", "DESTROY_PRIMARY_SURFACE",
    "RESET_CURSOR", "RESET_IMAGE_CACHE", "DESTROY_SURFACE_WAIT", "LOADVM_COMMANDS",
    "UPDATE_ASYNC", "ADD_MEMSLOT_ASYNC", "DESTROY_SURFACES_ASYNC",
    "CREATE_PRIMARY_SURFACE_ASYNC", "DESTROY_PRIMARY_SURFACE_ASYNC",
    "DESTROY_SURFACE_WAIT_ASYNC", "FLUSH_SURFACES_ASYNC", "DISPLAY_CHANNEL_CREATE",
    "CURSOR_CHANNEL_CREATE", "MONITORS_CONFIG_ASYNC", "DRIVER_UNLOAD", "GL_SCANOUT",
    "GL_DRAW_ASYNC", "SET_VIDEO_CODECS", "CLOSE_WORKER",
};

static uint64_t *count_of(RecordingFacts *facts, const RecordingEvent *event)
{
    if (!event->is_command) {
        return &facts->message[event->type];
    }
    switch (event->type) {
    case QXL_CMD_DRAW:
        return &facts->draw[event->subtype];
    case QXL_CMD_CURSOR:
        return &facts->cursor[event->subtype];
    case QXL_CMD_SURFACE:
        return event->subtype == QXL_SURFACE_CMD_CREATE ? &facts->surface_create
                                                        : &facts->surface_destroy;
    case QXL_CMD_UPDATE:
        return &facts->update;
    default:
        return &facts->message_command;
    }
}

static void count_event(RecordingFacts *facts, const RecordingEvent *event)
{
    facts->events++;
    facts->commands += event->is_command;
    facts->draws_on_primary += event->is_command && event->type == QXL_CMD_DRAW &&
        event->surface_id == 0;
    ++*count_of(facts, event);
    for (unsigned int i = 0; i < event->images; i++) {
        facts->image[event->image_type[i]]++;
        facts->bitmap[event->bitmap_format[i]]++;
    }
    if (recording_event_creates_primary(event)) {
        FactsPrimary primary = { event->number, event->timestamp, event->surface };

        g_array_append_val(facts->primaries, primary);
    }
}

static void read_events(RecordingFacts *facts, Recording *recording)
{
    RecordingTimeline *timeline = recording_timeline_new();
    RecordingEvent event;

    while (recording_next(recording, &event)) {
        count_event(facts, &event);
        recording_timeline_add(timeline, &event);
        facts->bytes = event.end;
    }
    recording_timeline_finish(timeline);
    facts->length = recording_timeline_length(timeline);
    facts->surfaces_live_max = recording_surfaces(recording)->live_max;
    for (unsigned int i = 0; i < facts->primaries->len; i++) {
        FactsPrimary *primary = &g_array_index(facts->primaries, FactsPrimary, i);

        primary->due = recording_timeline_due(timeline, primary->event);
    }
    recording_timeline_free(timeline);
}

FactsStatus recording_facts_read(RecordingFacts *facts, const char *file, char **error)
{
    RecordingInput *input = recording_input_open(file);
    Recording *recording;
    const char *reason;
    uint64_t offset;

    memset(facts, 0, sizeof(*facts));
    facts->primaries = g_array_new(false, false, sizeof(FactsPrimary));
    if (!input) {
        *error = g_strdup_printf("%s: %s", file, g_strerror(errno));
        return FACTS_UNREADABLE;
    }
    recording = recording_new(input);
    read_events(facts, recording);
    facts->packed_bytes = recording_input_consumed(input);
    reason = recording_error(recording, &offset);
    if (reason) {
        *error = g_strdup_printf("%s: byte %" G_GUINT64_FORMAT ": %s", file, offset, reason);
    }
    recording_free(recording);
    recording_input_free(input);
    return reason ? FACTS_DAMAGED : FACTS_GOOD;
}

void recording_facts_clear(RecordingFacts *facts)
{
    g_array_unref(facts->primaries);
}

static void tell(const char *name, uint64_t count, FactsFunc func, void *opaque)
{
    if (count > 0) {
        func(name, count, opaque);
    }
}

void recording_facts_commands(const RecordingFacts *facts, FactsFunc func, void *opaque)
{
    for (unsigned int i = 0; i < FACTS_DRAW_TYPES; i++) {
        tell(draw_names[i], facts->draw[i], func, opaque);
    }
    for (unsigned int i = 0; i < FACTS_CURSOR_TYPES; i++) {
        tell(cursor_names[i], facts->cursor[i], func, opaque);
    }
    tell("SURFACE_CREATE", facts->surface_create, func, opaque);
    tell("SURFACE_DESTROY", facts->surface_destroy, func, opaque);
    tell("UPDATE", facts->update, func, opaque);
    tell("MESSAGE", facts->message_command, func, opaque);
}

void recording_facts_messages(const RecordingFacts *facts, FactsFunc func, void *opaque)
{
    for (unsigned int i = 0; i < RECORDING_MESSAGE_COUNT; i++) {
        tell(message_names[i], facts->message[i], func, opaque);
    }
}

void recording_facts_images(const RecordingFacts *facts, FactsFunc func, void *opaque)
{
    for (unsigned int i = 1; i < FACTS_BITMAP_FORMATS; i++) {
        tell(bitmap_names[i], facts->bitmap[i], func, opaque);
    }
    tell("QUIC", facts->image[SPICE_IMAGE_TYPE_QUIC], func, opaque);
    tell("SURFACE", facts->image[SPICE_IMAGE_TYPE_SURFACE], func, opaque);
}
