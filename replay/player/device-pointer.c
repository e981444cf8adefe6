/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The guest's pointer, moved in real time whatever the display's commands wait
 * for: a user who moves it sees at once when something stands in its way.
 */
#include "device.h"

#include "clock.h"
#include "marker.h"

#define INTERVAL_MS 20          /* a mouse reports 60 to 125 times a second */

typedef struct Stamp {
    unsigned int number;
    int64_t due_ns;
} Stamp;

typedef struct DevicePointer {
    Device device;
    Display *display;
    guint timer;
    int64_t due_ns;             /* of a move that the ring had no room for; 0: there is none */
    GArray *stamps;             /* of moves that are in the ring, or were */
} DevicePointer;

/* A move without room is not queued: the next one goes there instead, later than it was due. */
static gboolean move(gpointer opaque)
{
    DevicePointer *pointer = opaque;
    Stamp stamp = {
        .number = pointer->stamps->len % MARKER_POINTERS,
        .due_ns = pointer->due_ns ? pointer->due_ns : clock_ns(),
    };
    QXLCommandExt command = marker_new(MARKER_POINTER, stamp.number);

    if (display_offer(pointer->display, &command)) {
        g_array_append_val(pointer->stamps, stamp);
        pointer->due_ns = 0;
    } else {
        pointer->due_ns = stamp.due_ns;
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
    DevicePointer *pointer = (DevicePointer *) device;

    g_source_remove(pointer->timer);
    pointer->timer = 0;
}

static bool is_finished(const Device *device)
{
    return ((const DevicePointer *) device)->stamps->len > 0;
}

static uint64_t progress(const Device *device)
{
    return is_finished(device);
}

static void report(const Device *device, GString *json)
{
    const DevicePointer *pointer = (const DevicePointer *) device;

    g_string_append_printf(json, "{\"moves\":%u,\"top\":%d,\"stamps\":[", pointer->stamps->len,
                           MARKER_POINTER_TOP);
    for (unsigned int i = 0; i < pointer->stamps->len; i++) {
        const Stamp *stamp = &g_array_index(pointer->stamps, Stamp, i);

        g_string_append_printf(json, "%s[%u,%" G_GINT64_FORMAT "]", i ? "," : "", stamp->number,
                               stamp->due_ns);
    }
    g_string_append(json, "]}");
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
    .progress = progress,
    .report = report,
    .free = free_pointer,
};

Device *device_pointer_new(const Guest *guest, uint64_t size G_GNUC_UNUSED)
{
    DevicePointer *pointer = g_new0(DevicePointer, 1);

    pointer->device.funcs = &funcs;
    pointer->display = guest->display;
    pointer->stamps = g_array_new(false, false, sizeof(Stamp));
    return &pointer->device;
}
