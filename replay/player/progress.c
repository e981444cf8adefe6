/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "progress.h"

#include <stdlib.h>

#define DRAINED_TICKS 3

/*
 * A client moves its mouse as long as it is there, and what answers it is always on the sockets:
 * so much is nothing, and the rest takes longer to be told from it.
 */
#define MOUSE_BYTES 256
#define DRAINED_TICKS_WITH_MOUSE 10

static bool sockets_have_moved(const SocketsState *before, const SocketsState *now,
                               const Devices *devices)
{
    if (!devices) {
        return now->moved != before->moved || now->unsent != before->unsent;
    }
    if (devices_are_running(devices)) {
        return false;           /* sound always progresses */
    }
    return llabs((long long) now->unsent - (long long) before->unsent) > MOUSE_BYTES;
}

void progress_look(Progress *progress, Display *display, const Devices *devices, bool is_waiting,
                   int64_t now_ns)
{
    uint64_t taken = display_taken(display);
    uint64_t transferred = devices ? devices_progress(devices) : 0;
    SocketsState sockets = sockets_state();

    if (is_waiting || taken != progress->taken || transferred != progress->devices ||
        sockets_have_moved(&progress->sockets, &sockets, devices)) {
        progress->last_ns = now_ns;
        progress->quiet_ticks = 0;
    } else {
        progress->quiet_ticks++;
    }
    progress->taken = taken;
    progress->devices = transferred;
    progress->sockets = sockets;
}

bool progress_is_drained(const Progress *progress, bool has_devices)
{
    return has_devices ? progress->sockets.unsent <= MOUSE_BYTES &&
                         progress->quiet_ticks >= DRAINED_TICKS_WITH_MOUSE
                       : progress->sockets.unsent == 0 && progress->quiet_ticks >= DRAINED_TICKS;
}
