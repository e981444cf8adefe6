/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording-private.h"

#include <spice/enums.h>
#include <spice/qxl_dev.h>
#include <string.h>

#include "recording-draw.h"
#include "recording-image.h"

#define MESSAGE_SIZE_MAX (1024 * 1024)
#define CURSOR_SIZE_MAX (16 * 1024 * 1024)

Recording *recording_new(RecordingInput *input)
{
    Recording *recording = g_new0(Recording, 1);

    recording->input = input;
    recording->scan = scan_new(input);
    recording->block = g_byte_array_new();
    return recording;
}

void recording_free(Recording *recording)
{
    if (!recording) {
        return;
    }
    scan_free(recording->scan);
    g_byte_array_unref(recording->block);
    if (recording->bytes) {
        g_byte_array_unref(recording->bytes);
    }
    g_free(recording);
}

void recording_keep_bytes(Recording *recording)
{
    if (!recording->bytes) {
        recording->bytes = g_byte_array_new();
    }
}

const uint8_t *recording_bytes(const Recording *recording, size_t *size)
{
    *size = recording->bytes ? recording->bytes->len : 0;
    return recording->bytes ? recording->bytes->data : NULL;
}

const RecordingSurfaces *recording_surfaces(const Recording *recording)
{
    return &recording->surfaces;
}

const char *recording_error(const Recording *recording, uint64_t *offset)
{
    return scan_error(recording->scan, offset);
}

bool recording_event_creates_primary(const RecordingEvent *event)
{
    return !event->is_command && (event->type == RECORDING_MESSAGE_CREATE_PRIMARY ||
                                  event->type == RECORDING_MESSAGE_CREATE_PRIMARY_ASYNC);
}

bool recording_event_leaves_something(const RecordingEvent *event)
{
    if (event->is_command) {
        return true;
    }
    switch (event->type) {
    case RECORDING_MESSAGE_DESTROY_SURFACES:
    case RECORDING_MESSAGE_CREATE_PRIMARY:
    case RECORDING_MESSAGE_DESTROY_PRIMARY:
    case RECORDING_MESSAGE_DESTROY_SURFACES_ASYNC:
    case RECORDING_MESSAGE_CREATE_PRIMARY_ASYNC:
    case RECORDING_MESSAGE_DESTROY_PRIMARY_ASYNC:
        return true;
    default:
        return false;
    }
}

static void primary_create(Recording *recording)
{
    RecordingScan *scan = recording->scan;
    RecordingSurface *surface = &recording->event->surface;
    uint64_t start = scan_offset(scan);
    uint64_t size;

    surface->width = scan_number(scan, "width", 1, RECORDING_SIDE_MAX);
    scan_text(scan, " ");
    surface->height = scan_number(scan, "height", 1, RECORDING_SIDE_MAX);
    scan_text(scan, " ");
    surface->stride = scan_number(scan, "stride", -INT32_MAX, INT32_MAX);
    scan_text(scan, " ");
    surface->format = scan_number(scan, "format", 0, UINT8_MAX);
    scan_text(scan, "\n");
    scan_number(scan, "position", INT32_MIN, INT32_MAX);
    scan_text(scan, " ");
    scan_number(scan, "mouse_mode", INT32_MIN, INT32_MAX);
    scan_text(scan, " ");
    scan_number(scan, "flags", INT32_MIN, INT32_MAX);
    scan_text(scan, " ");
    scan_number(scan, "type", INT32_MIN, INT32_MAX);
    scan_text(scan, "\n");
    size = surface_size(surface->width, surface->height, surface->stride, surface->format);
    if (size == 0 || size > SCAN_BLOCK_MAX) {
        scan_fail_at(scan, start, "no primary surface is %ux%u with stride %d and format %u",
                     surface->width, surface->height, surface->stride, surface->format);
        return;
    }
    scan_block(scan, "data", size, size, NULL);
    recording->event->block_bytes += size;
    surfaces_create(&recording->surfaces, scan, start, 0, surface);
}

static void message(Recording *recording)
{
    surfaces_bury(&recording->surfaces);
    switch (recording->event->type) {
    case RECORDING_MESSAGE_CREATE_PRIMARY:
    case RECORDING_MESSAGE_CREATE_PRIMARY_ASYNC:
        primary_create(recording);
        break;
    case RECORDING_MESSAGE_DESTROY_PRIMARY:
    case RECORDING_MESSAGE_DESTROY_PRIMARY_ASYNC:
        surfaces_condemn_primary(&recording->surfaces);
        break;
    case RECORDING_MESSAGE_DESTROY_SURFACES:
    case RECORDING_MESSAGE_DESTROY_SURFACES_ASYNC:
        surfaces_condemn_all(&recording->surfaces);
        break;
    }
}

static void update_command(Recording *recording)
{
    RecordingScan *scan = recording->scan;
    RecordingEvent *event = recording->event;
    RecordingRect area;
    uint64_t start;

    scan_text(scan, "update\n");
    start = scan_offset(scan);
    area = recording_rect(recording, "area");
    if (area.left < 0 || area.top < 0 || area.left >= area.right || area.top >= area.bottom) {
        scan_fail_at(scan, start, "area: the server aborts over an empty or negative one");
    }
    scan_field(scan, "update_id", INT32_MIN, INT32_MAX);
    start = scan_offset(scan);
    event->surface_id = scan_field(scan, "surface_id", 0, INT32_MAX);
    surfaces_use(&recording->surfaces, scan, start, event->surface_id);
}

static void surface_create(Recording *recording, uint64_t start)
{
    RecordingScan *scan = recording->scan;
    RecordingEvent *event = recording->event;
    RecordingSurface *surface = &event->surface;
    uint32_t flags = scan_field(scan, "flags", INT32_MIN, INT32_MAX);
    uint64_t size;

    surface->format = scan_field(scan, "u.surface_create.format", 0, UINT8_MAX);
    surface->width = scan_field(scan, "u.surface_create.width", 1, RECORDING_SIDE_MAX);
    surface->height = scan_field(scan, "u.surface_create.height", 1, RECORDING_SIDE_MAX);
    surface->stride = scan_field(scan, "u.surface_create.stride", -INT32_MAX, INT32_MAX);
    size = surface_size(surface->width, surface->height, surface->stride, surface->format);
    if (size == 0 || size > SCAN_BLOCK_MAX) {
        scan_fail_at(scan, start, "no surface is %ux%u with stride %d and format %u",
                     surface->width, surface->height, surface->stride, surface->format);
        return;
    }
    if (flags & QXL_SURF_FLAG_KEEP_DATA) {
        scan_block(scan, "data", size, size, NULL);
        event->block_bytes += size;
    }
    surfaces_create(&recording->surfaces, scan, start, event->surface_id, surface);
}

static void surface_command(Recording *recording)
{
    RecordingScan *scan = recording->scan;
    RecordingEvent *event = recording->event;
    uint64_t start;

    scan_text(scan, "surface_cmd\n");
    start = scan_offset(scan);
    event->surface_id = scan_field(scan, "surface_id", 1, RECORDING_SURFACES_MAX - 1);
    event->subtype = scan_field(scan, "type", QXL_SURFACE_CMD_CREATE, QXL_SURFACE_CMD_DESTROY);
    if (event->subtype == QXL_SURFACE_CMD_CREATE) {
        surface_create(recording, start);
    } else {
        scan_field(scan, "flags", INT32_MIN, INT32_MAX);
        event->is_moot = recording->surfaces.surface[event->surface_id].state == SURFACE_DYING;
        surfaces_destroy(&recording->surfaces, scan, start, event->surface_id);
    }
}

/* How many bytes a cursor's picture takes at least. */
static uint64_t cursor_size(uint32_t type, uint32_t width, uint32_t height)
{
    uint64_t pixels = (uint64_t) width * height;
    uint64_t mask = (uint64_t) (width + 7) / 8 * height;

    switch (type) {
    case SPICE_CURSOR_TYPE_ALPHA:
        return pixels * 4;
    case SPICE_CURSOR_TYPE_MONO:
        return mask * 2;
    case SPICE_CURSOR_TYPE_COLOR4:
        return (uint64_t) (width + 1) / 2 * height + 16 * sizeof(uint32_t) + mask;
    case SPICE_CURSOR_TYPE_COLOR8:
        return pixels + 256 * sizeof(uint32_t) + mask;
    case SPICE_CURSOR_TYPE_COLOR16:
        return pixels * 2 + mask;
    case SPICE_CURSOR_TYPE_COLOR24:
        return pixels * 3 + mask;
    default:
        return pixels * 4 + mask;
    }
}

static void cursor_shape(Recording *recording)
{
    RecordingScan *scan = recording->scan;
    uint32_t type, width, height;

    scan_unsigned_field(scan, "header.unique", UINT64_MAX);
    type = scan_field(scan, "header.type", SPICE_CURSOR_TYPE_ALPHA, SPICE_CURSOR_TYPE_COLOR32);
    width = scan_field(scan, "header.width", 0, UINT16_MAX);
    height = scan_field(scan, "header.height", 0, UINT16_MAX);
    scan_field(scan, "header.hot_spot_x", 0, UINT16_MAX);
    scan_field(scan, "header.hot_spot_y", 0, UINT16_MAX);
    scan_field(scan, "data_size", 0, CURSOR_SIZE_MAX);
    recording_chunks(recording, "cursor", cursor_size(type, width, height), CURSOR_SIZE_MAX, NULL);
}

static void cursor_command(Recording *recording)
{
    RecordingScan *scan = recording->scan;
    RecordingEvent *event = recording->event;

    scan_text(scan, "cursor_cmd\n");
    event->subtype = scan_field(scan, "type", QXL_CURSOR_SET, QXL_CURSOR_TRAIL);
    if (scan_failed(scan)) {
        return;
    }
    switch (event->subtype) {
    case QXL_CURSOR_SET:
        recording_point16(recording, "point16");
        scan_field(scan, "u.set.visible", 0, UINT8_MAX);
        cursor_shape(recording);
        break;
    case QXL_CURSOR_MOVE:
        recording_point16(recording, "point16");
        break;
    case QXL_CURSOR_TRAIL:
        scan_field(scan, "u.trail.length", 0, UINT16_MAX);
        scan_field(scan, "u.trail.frequency", 0, UINT16_MAX);
        break;
    }
}

static void command(Recording *recording)
{
    switch (recording->event->type) {
    case QXL_CMD_DRAW:
        recording_draw(recording);
        break;
    case QXL_CMD_UPDATE:
        update_command(recording);
        break;
    case QXL_CMD_CURSOR:
        cursor_command(recording);
        break;
    case QXL_CMD_MESSAGE:
        recording->event->block_bytes += scan_block(recording->scan, "message", 0,
                                                    MESSAGE_SIZE_MAX, NULL);
        break;
    case QXL_CMD_SURFACE:
        surface_command(recording);
        break;
    }
}

static void event_line(Recording *recording)
{
    RecordingScan *scan = recording->scan;
    RecordingEvent *event = recording->event;

    scan_text(scan, "event ");
    scan_unsigned(scan, "event counter", UINT32_MAX);
    scan_text(scan, " ");
    event->is_command = scan_number(scan, "event kind", 0, 1) == 0;
    scan_text(scan, " ");
    if (event->is_command) {
        event->type = scan_number(scan, "command type", QXL_CMD_DRAW, QXL_CMD_SURFACE);
    } else {
        event->type = scan_number(scan, "message type", 0, RECORDING_MESSAGE_COUNT - 1);
    }
    scan_text(scan, " ");
    event->timestamp = scan_unsigned(scan, "timestamp", UINT64_MAX);
    scan_text(scan, "\n");
}

static bool first_line(Recording *recording)
{
    RecordingScan *scan = recording->scan;

    recording->started = true;
    if (scan_at_end(scan)) {
        return scan_fail_at(scan, 0, "the file is empty");
    }
    if (!scan_text(scan, "SPICE_REPLAY ")) {
        return false;
    }
    if (scan_unsigned(scan, "version", UINT32_MAX) != 1 && !scan_failed(scan)) {
        scan_fail_at(scan, strlen("SPICE_REPLAY "), "only version 1 of the format is known");
    }
    return scan_text(scan, "\n");
}

bool recording_next(Recording *recording, RecordingEvent *event)
{
    RecordingScan *scan = recording->scan;

    if (!recording->started && !first_line(recording)) {
        return false;
    }
    if (scan_failed(scan) || scan_at_end(scan)) {
        return false;
    }
    memset(event, 0, sizeof(*event));
    recording->event = event;
    event->number = recording->events++;
    event->start = scan_offset(scan);
    if (recording->bytes) {
        g_byte_array_set_size(recording->bytes, 0);
        scan_copy_to(scan, recording->bytes);
    }
    event_line(recording);
    if (event->is_command) {
        command(recording);
    } else {
        message(recording);
    }
    scan_copy_to(scan, NULL);
    event->end = scan_offset(scan);
    return !scan_failed(scan);
}
