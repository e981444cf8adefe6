/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "devices.h"
#include "display.h"

/* What the process's connections to its clients are doing, asked of the kernel: the library tells
 * nothing of the kind. */
typedef struct SocketsState {
    uint64_t unsent;            /* bytes written that the peer has not acknowledged */
    uint64_t moved;             /* bytes acknowledged and received so far */
} SocketsState;

/* Whether a play moves on, seen at regular ticks. */
typedef struct Progress {
    int64_t last_ns;            /* of the last look that saw something move */
    uint64_t taken, devices;
    SocketsState sockets;
} Progress;

/* devices: NULL when there are none. is_waiting: the feeder waits on purpose, which counts. */
void progress_look(Progress *progress, Display *display, const Devices *devices, bool is_waiting,
                   int64_t now_ns);
