/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef DEVICE_H_
#define DEVICE_H_

#include <glib.h>
#include <spice.h>
#include <stdbool.h>
#include <stdint.h>

#include "display.h"

/*
 * A device of the guest's beside its display, with traffic made up for it. All
 * of it happens in the main loop's thread.
 */
typedef struct Device Device;

typedef struct DeviceFuncs {
    /* Playing begins: the traffic does, too. Channels may come up later. NULL: the client begins. */
    void (*start)(Device *device);

    /* Nothing is sent from now on. After start, at most once. NULL: nothing is sent by itself. */
    void (*stop)(Device *device);

    /* What has an end has ended, and the client has confirmed it; what has none has been seen to
     * work. */
    bool (*is_finished)(const Device *device);

    /* Grows while the device comes closer to being finished. NULL: there is nothing between. */
    uint64_t (*progress)(const Device *device);

    /* Appends what happened, as a JSON object. */
    void (*report)(const Device *device, GString *json);

    /* After the server is destroyed. NULL: there is nothing but the device. */
    void (*free)(Device *device);
} DeviceFuncs;

struct Device {
    const DeviceFuncs *funcs;
};

/* What devices are added to: a server that is initialised. */
typedef struct Guest {
    SpiceServer *server;
    Display *display;
} Guest;

/* size is a number of bytes to transfer where there is something to transfer, else ignored. */
Device *device_sound_new(const Guest *guest, uint64_t size);      /* Opus, if the client can */
Device *device_sound_raw_new(const Guest *guest, uint64_t size);
Device *device_record_new(const Guest *guest, uint64_t size);
Device *device_inputs_new(const Guest *guest, uint64_t size);
Device *device_pointer_new(const Guest *guest, uint64_t size);
Device *device_agent_new(const Guest *guest, uint64_t size);
Device *device_port_new(const Guest *guest, uint64_t size);

#endif /* DEVICE_H_ */
