/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sound card that records: reads what the client's microphone hears. */
#include "device.h"

#include <stdlib.h>

#define INTERVAL_MS 10
#define FRAMES_MAX 4096         /* read at once */

typedef struct DeviceRecord {
    Device device;
    SpiceRecordInstance instance;
    guint timer;                /* 0 while it does not record */
    uint64_t frames;
    int peak;                   /* the loudest sample: whether it is more than silence */
} DeviceRecord;

static const SpiceRecordInterface interface = {
    .base = {
        .type = SPICE_INTERFACE_RECORD,
        .description = "a microphone",
        .major_version = SPICE_INTERFACE_RECORD_MAJOR,
        .minor_version = SPICE_INTERFACE_RECORD_MINOR,
    },
};

static gboolean take(gpointer opaque)
{
    DeviceRecord *record = opaque;
    uint32_t frames[FRAMES_MAX];
    uint32_t count = spice_server_record_get_samples(&record->instance, frames, FRAMES_MAX);

    for (uint32_t i = 0; i < count; i++) {
        record->peak = MAX(record->peak, abs((int16_t) frames[i]));
    }
    record->frames += count;
    return G_SOURCE_CONTINUE;
}

static void start(Device *device)
{
    DeviceRecord *record = (DeviceRecord *) device;

    spice_server_record_start(&record->instance);
    record->timer = g_timeout_add(INTERVAL_MS, take, record);
}

static void stop(Device *device)
{
    DeviceRecord *record = (DeviceRecord *) device;

    g_clear_handle_id(&record->timer, g_source_remove);
    spice_server_record_stop(&record->instance);
}

static bool is_finished(const Device *device)
{
    return ((const DeviceRecord *) device)->peak > 0;
}

static void report(const Device *device, GString *json)
{
    const DeviceRecord *record = (const DeviceRecord *) device;

    g_string_append_printf(json, "{\"frames\":%" G_GUINT64_FORMAT ",\"peak\":%d}", record->frames,
                           record->peak);
}

static const DeviceFuncs funcs = {
    .start = start,
    .stop = stop,
    .is_finished = is_finished,
    .report = report,
};

Device *device_record_new(const Guest *guest, uint64_t size G_GNUC_UNUSED)
{
    DeviceRecord *record = g_new0(DeviceRecord, 1);

    record->device.funcs = &funcs;
    record->instance.base.sif = &interface.base;
    spice_server_add_interface(guest->server, &record->instance.base);
    spice_server_set_record_rate(&record->instance,
                                 spice_server_get_best_record_rate(&record->instance));
    return &record->device;
}
