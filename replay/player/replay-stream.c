/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "replay-stream.h"

#include <pthread.h>
#include <stdatomic.h>

#include "../common/marker.h"

/* A waiting item. */
typedef struct Made {
    ReplayItem item;
    uint64_t number, timestamp; /* of its event */
    RecordedCommand *command;   /* of a new primary, too; NULL when it has been taken */
    size_t size;                /* about what it takes in memory */
} Made;

struct ReplayStream {
    Recording *recording;
    uint64_t first_timestamp;
    GArray *due;                /* uint64_t, of each event; NULL unless it is checked */
    bool is_checked;            /* all are read; else they are timestamps */
    bool draws_probe[MARKER_PROBES];
    uint64_t last_created;      /* the last event that creates a surface; known when it is checked */
    ReplayTotals totals;

    GQueue ahead;               /* of Made */
    size_t ahead_size;
    Made *given;                /* by the last replay_stream_next */
    bool at_end;

    atomic_bool in_use[RECORDING_SURFACES_MAX];     /* by the server, as far as it has the commands */
    QXLSurface surfaces[RECORDING_SURFACES_MAX];    /* of width 0: none */
    RecordedCommand *primary;   /* what the server has as the primary, NULL if there is none */
    pthread_mutex_t mutex;
    GPtrArray *released;        /* by the server, to be freed; under the mutex */
};

ReplayStream *replay_stream_open(const char *path)
{
    Recording *recording = recording_open(path);
    ReplayStream *stream;

    if (!recording) {
        return NULL;
    }
    stream = g_new0(ReplayStream, 1);
    stream->recording = recording;
    g_queue_init(&stream->ahead);
    pthread_mutex_init(&stream->mutex, NULL);
    stream->released = g_ptr_array_new();
    return stream;
}

static void made_free(gpointer data)
{
    Made *made = data;

    if (made) {
        recorded_command_free(made->command);
        g_free(made);
    }
}

static void free_released(ReplayStream *stream)
{
    GPtrArray *released;

    pthread_mutex_lock(&stream->mutex);
    released = stream->released;
    stream->released = g_ptr_array_new();
    pthread_mutex_unlock(&stream->mutex);
    for (unsigned int i = 0; i < released->len; i++) {
        recorded_command_free(g_ptr_array_index(released, i));
    }
    g_ptr_array_free(released, true);
}

void replay_stream_free(ReplayStream *stream)
{
    if (!stream) {
        return;
    }
    made_free(stream->given);
    g_queue_clear_full(&stream->ahead, made_free);
    free_released(stream);
    g_ptr_array_free(stream->released, true);
    recorded_command_free(stream->primary);
    g_clear_pointer(&stream->due, g_array_unref);
    recording_free(stream->recording);
    pthread_mutex_destroy(&stream->mutex);
    g_free(stream);
}

static void add(ReplayStream *stream, RecordedKind kind, const RecordingEvent *event, RecordedCommand *command)
{
    Made *made;

    if (kind == RECORDED_NOTHING) {
        return;
    }
    made = g_new(Made, 1);
    *made = (Made) {
        .item = { .kind = kind, .command = kind == RECORDED_COMMAND ? &command->ext : NULL },
        .number = event->number,
        .timestamp = event->timestamp,
        .command = command,
        .size = sizeof(*made) + (command ? command->size : 0),
    };
    stream->ahead_size += made->size;
    g_queue_push_tail(&stream->ahead, made);
}

/* NULL if it is another command. */
static const QXLSurfaceCmd *surface_command(const QXLCommandExt *command, uint8_t type)
{
    const QXLSurfaceCmd *surface = (const QXLSurfaceCmd *) (uintptr_t) command->cmd.data;

    return command->cmd.type == QXL_CMD_SURFACE && surface->type == type ? surface : NULL;
}

static void note_drawing(ReplayStream *stream, const QXLCommandExt *command)
{
    const QXLDrawable *drawable = (const QXLDrawable *) (uintptr_t) command->cmd.data;
    const QXLRect *box = &drawable->bbox;

    if (drawable->surface_id == 0 && box->left >= 0 && box->top >= 0 && box->right > 0 && box->bottom > 0) {
        Marker marker = marker_read((MarkerArea) { box->left, box->top, box->right - box->left, box->bottom - box->top });

        if (marker.kind == MARKER_PROBE) {
            stream->draws_probe[marker.number] = true;
        }
    }
}

static void note(ReplayStream *stream, const RecordingEvent *event)
{
    if (event->kind == RECORDED_COMMAND && event->command->ext.cmd.type == QXL_CMD_DRAW) {
        note_drawing(stream, &event->command->ext);
    }
    if (event->kind == RECORDED_CREATE_PRIMARY ||
        (event->kind == RECORDED_COMMAND && surface_command(&event->command->ext, QXL_SURFACE_CMD_CREATE))) {
        stream->last_created = event->number;
    }
    stream->totals.events++;
    stream->totals.commands += event->kind == RECORDED_COMMAND;
    stream->totals.bytes = event->end;
    g_array_append_val(stream->due, event->timestamp);
}

/* Reads one event more. False at the end. */
static bool read_event(ReplayStream *stream)
{
    RecordingEvent event;

    if (stream->at_end) {
        return false;
    }
    free_released(stream); /* in their room; what is released later can wait for the end */
    if (!recording_next(stream->recording, &event)) {
        stream->at_end = true;
        return false;
    }
    if (event.number == 0) {
        stream->first_timestamp = event.timestamp;
    }
    if (stream->due && !stream->is_checked) {
        note(stream, &event);
    }
    add(stream, event.before, &event, NULL);
    add(stream, event.kind, &event, event.command);
    return true;
}

static void read_ahead(ReplayStream *stream, size_t limit)
{
    while (stream->ahead_size < limit && read_event(stream)) {
    }
}

static void find_due_times(ReplayStream *stream)
{
    uint64_t *due = (uint64_t *) stream->due->data;
    uint64_t earliest = UINT64_MAX;

    for (size_t i = stream->due->len; i-- > 0;) {
        earliest = MIN(earliest, due[i]);
        due[i] = earliest;
    }
    for (size_t i = 0; i < stream->due->len; i++) {
        due[i] -= earliest;
        stream->totals.length_ns = due[i];
    }
}

bool replay_stream_check(ReplayStream *stream, size_t limit)
{
    RecordingEvent rest;
    uint64_t offset;
    bool all;

    stream->due = g_array_new(false, false, sizeof(uint64_t));
    read_ahead(stream, limit);
    all = stream->at_end;
    while (!all && recording_next(stream->recording, &rest)) {
        note(stream, &rest);
        recorded_command_free(rest.command);
    }
    find_due_times(stream);
    stream->is_checked = true;
    if (recording_error(stream->recording, &offset)) {
        return false;
    }
    if (!all) {
        g_queue_clear_full(&stream->ahead, made_free);
        stream->ahead_size = 0;
        stream->at_end = false;
        recording_rewind(stream->recording);
        read_ahead(stream, limit);
    }
    return true;
}

const ReplayTotals *replay_stream_totals(const ReplayStream *stream)
{
    return stream->is_checked ? &stream->totals : NULL;
}

/* What ends the last screen: a guest that is shut down. */
static bool is_last_destruction(const ReplayStream *stream, const Made *made)
{
    return stream->is_checked && made->number > stream->last_created &&
        (made->item.kind == RECORDED_DESTROY_PRIMARY || made->item.kind == RECORDED_DESTROY_SURFACES);
}

bool replay_stream_draws_probe(const ReplayStream *stream, unsigned int number)
{
    return stream->draws_probe[number % MARKER_PROBES];
}

bool replay_stream_next(ReplayStream *stream, ReplayItem *item)
{
    do {
        made_free(stream->given);
        stream->given = NULL;
        while (g_queue_is_empty(&stream->ahead) && read_event(stream)) {
        }
        stream->given = g_queue_pop_head(&stream->ahead);
        if (!stream->given) {
            return false;
        }
        stream->ahead_size -= stream->given->size;
    } while (is_last_destruction(stream, stream->given));
    *item = stream->given->item;
    if (stream->is_checked) {
        item->due_ns = g_array_index(stream->due, uint64_t, stream->given->number);
    } else if (stream->given->timestamp > stream->first_timestamp) {
        item->due_ns = stream->given->timestamp - stream->first_timestamp;
    }
    return true;
}

char *replay_stream_error(const ReplayStream *stream)
{
    uint64_t offset;
    const char *reason = recording_error(stream->recording, &offset);

    return reason ? g_strdup_printf("byte %" G_GUINT64_FORMAT ": %s", offset, reason) : NULL;
}

bool replay_stream_take(ReplayStream *stream)
{
    const QXLCommandExt *command = stream->given->item.command;
    const QXLSurfaceCmd *create = surface_command(command, QXL_SURFACE_CMD_CREATE);
    const QXLSurfaceCmd *destroy = surface_command(command, QXL_SURFACE_CMD_DESTROY);

    if (create && atomic_exchange(&stream->in_use[create->surface_id], true)) {
        return false;
    }
    if (create) {
        stream->surfaces[create->surface_id] = create->u.surface_create;
    } else if (destroy) {
        stream->surfaces[destroy->surface_id].width = 0;
    }
    stream->given->command = NULL;
    return true;
}

static void drop_primary(ReplayStream *stream)
{
    recorded_command_free(stream->primary);
    stream->primary = NULL;
}

void replay_stream_send(ReplayStream *stream, QXLInstance *instance)
{
    Made *made = stream->given;

    if (made->item.kind == RECORDED_DESTROY_SURFACES) {
        spice_qxl_destroy_surfaces(instance);
        for (unsigned int i = 0; i < RECORDING_SURFACES_MAX; i++) {
            atomic_store(&stream->in_use[i], false);
            stream->surfaces[i].width = 0;
        }
    } else if (stream->primary) {
        spice_qxl_destroy_primary_surface(instance, 0);
    }
    drop_primary(stream);
    if (made->item.kind == RECORDED_CREATE_PRIMARY) {
        QXLDevSurfaceCreate surface = {
            .width = made->command->primary.width,
            .height = made->command->primary.height,
            .stride = made->command->primary.stride,
            .format = made->command->primary.format,
            .position = made->command->primary.position,
            .mouse_mode = made->command->primary.mouse_mode,
            .flags = made->command->primary.flags,
            .type = made->command->primary.type,
            .mem = made->command->primary.mem,
        };

        stream->primary = made->command;
        made->command = NULL;
        spice_qxl_create_primary_surface(instance, 0, &surface);
    }
}

const QXLSurfaceCreate *replay_stream_primary(const ReplayStream *stream)
{
    return stream->primary ? &stream->primary->primary : NULL;
}

const QXLSurface *replay_stream_surface(const ReplayStream *stream, uint32_t number)
{
    return stream->surfaces[number].width ? &stream->surfaces[number] : NULL;
}

void replay_stream_release(ReplayStream *stream, QXLCommandExt *command)
{
    const QXLSurfaceCmd *destroy = surface_command(command, QXL_SURFACE_CMD_DESTROY);

    if (destroy) {
        atomic_store(&stream->in_use[destroy->surface_id], false);
    }
    pthread_mutex_lock(&stream->mutex);
    g_ptr_array_add(stream->released, SPICE_CONTAINEROF(command, RecordedCommand, ext));
    pthread_mutex_unlock(&stream->mutex);
}
