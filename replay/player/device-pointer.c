/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The guest's pointer, moved in real time whatever the display's commands wait
 * for: a user who moves it sees at once when something stands in its way.
 */
#include "device.h"

#include "../common/clock.h"
#include "marker.h"
#include "stamps.h"

#define INTERVAL_MS 20          /* a mouse reports 60 to 125 times a second */

typedef struct DevicePointer {
    Device device;
    Display *display;
    guint timer;
    int64_t due_ns;             /* due time of a move for which the ring had no room; 0: none */
    GArray *stamps;             /* due times of moves that are or were in the ring */
} DevicePointer;

/* A move without room is not queued: the next one goes there instead, later than it was due. */
static gboolean move(gpointer opaque)
{
    DevicePointer *pointer = opaque;
    unsigned int number = pointer->stamps->len % MARKER_POINTERS;
    QXLCommandExt command = marker_new(MARKER_POINTER, number);

    if (pointer->due_ns == 0) {
        pointer->due_ns = clock_ns();
    }
    if (display_offer(pointer->display, &command)) {
        stamps_add(pointer->stamps, number, pointer->due_ns);
        pointer->due_ns = 0;
    }
    return G_SOURCE_CONTINUE;
}

static void start(Device *device)
{
    DevicePointer *pointer = (DevicePointer *) device;

    pointer->timer = g_timeout_add(INTERVAL_MS, move, pointer);
}

static void stop(Device *device)
{
    g_clear_handle_id(&((DevicePointer *) device)->timer, g_source_remove);
}

static bool is_finished(const Device *device)
{
    return ((const DevicePointer *) device)->stamps->len > 0;
}

static void report(const Device *device, GString *json)
{
    const DevicePointer *pointer = (const DevicePointer *) device;

    g_string_append_printf(json, "{\"moves\":%u,\"top\":%d,\"stamps\":", pointer->stamps->len,
                           MARKER_POINTER_TOP);
    stamps_report(pointer->stamps, json);
    g_string_append_c(json, '}');
}

static void free_pointer(Device *device)
{
    DevicePointer *pointer = (DevicePointer *) device;

    g_array_unref(pointer->stamps);
    g_free(pointer);
}

static const DeviceFuncs funcs = {
    .start = start,
    .stop = stop,
    .is_finished = is_finished,
    .report = report,
    .free = free_pointer,
};

Device *device_pointer_new(const Guest *guest, uint64_t size G_GNUC_UNUSED)
{
    DevicePointer *pointer = g_new0(DevicePointer, 1);

    pointer->device.funcs = &funcs;
    pointer->display = guest->display;
    pointer->stamps = stamps_new();
    return &pointer->device;
}
