/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <spice.h>
#include <stdbool.h>
#include <stdint.h>

#include "display.h"

/* What devices are added to: an initialised server. */
typedef struct Guest {
    SpiceServer *server;
    Display *display;
} Guest;

typedef struct Device Device;

/*
 * A device of the guest other than its display, with generated traffic: a file each. To be
 * used from the main loop's thread.
 */
typedef struct DeviceKind {
    const char *name;           /* on the command line */
    const char *reported;       /* the same for kinds that exclude each other */
    bool in_all;
    unsigned int mib;           /* to transfer unless the command line says how much; 0: nothing */
    size_t size;                /* of its struct, which begins with a Device */

    void (*add)(Device *device, const Guest *guest, uint64_t bytes);

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

    /* Called after the server is destroyed; frees all but the struct. NULL: nothing. */
    void (*clear)(Device *device);
} DeviceKind;

extern const DeviceKind device_sound, device_sound_raw, device_inputs, device_pointer, device_port;

struct Device {
    const DeviceKind *kind;
};

/* What a device has sent, piece by piece: its number, and when. In a report a list of [number, ns]. */
typedef struct Stamp {
    unsigned int number;
    int64_t time_ns;
} Stamp;
