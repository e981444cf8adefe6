/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef DEVICE_H_
#define DEVICE_H_

#include <glib.h>
#include <spice.h>
#include <stdbool.h>
#include <stdint.h>

#include "display.h"

/*
 * A device of the guest other than its display, with generated traffic. To be
 * used from the main loop's thread.
 */
typedef struct Device Device;

typedef struct DeviceFuncs {
    /* Playing begins, and the traffic with it. Channels may open later. NULL: the client begins. */
    void (*start)(Device *device);

    /* Stop sending. Called at most once, after start. NULL: it sends only replies. */
    void (*stop)(Device *device);

    /* Finite traffic is complete and confirmed by the client; endless traffic has been seen to
     * work. */
    bool (*is_finished)(const Device *device);

    /* Increases as the device gets closer to being finished. NULL: no intermediate state. */
    uint64_t (*progress)(const Device *device);

    /* Its results: an object. Floating. */
    GVariant *(*report)(const Device *device);

    /* Called after the server is destroyed. NULL: nothing to free but the device. */
    void (*free)(Device *device);
} DeviceFuncs;

struct Device {
    const DeviceFuncs *funcs;
};

/* What a device has sent, piece by piece: its number, and when. In a report a list of [number, ns]. */
typedef struct Stamp {
    unsigned int number;
    int64_t time_ns;
} Stamp;

/* What devices are added to: an initialised server. */
typedef struct Guest {
    SpiceServer *server;
    Display *display;
} Guest;

/* size: bytes to transfer; ignored by devices that transfer nothing. */
Device *device_sound_new(const Guest *guest, uint64_t size);      /* Opus, if the client can */
Device *device_sound_raw_new(const Guest *guest, uint64_t size);
Device *device_inputs_new(const Guest *guest, uint64_t size);
Device *device_pointer_new(const Guest *guest, uint64_t size);
Device *device_port_new(const Guest *guest, uint64_t size);

#endif /* DEVICE_H_ */
