/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waits until nothing has changed for a while.
 *
 * A marker says that all commands before it were decoded, but parts that a server sends as a
 * video stream are then still lossy and late. A second after a stream's last frame the server
 * ends it and sends its area once more, without loss. And a marker says nothing of the other
 * channels: over a slow link the pointer's last shapes come after the end of the display. */

#ifndef DRAIN_SETTLE_H_
#define DRAIN_SETTLE_H_

#include <glib.h>

typedef struct Settle Settle;

typedef void (*SettleFunc)(void *opaque);

/* A number that changes whenever something has arrived. */
typedef int64_t (*SettleActivityFunc)(void *opaque);

/* Calls on_settled once, from the main loop, when activity has given the same number for quiet_ms.
 * settle_free() before that calls it off. */
Settle *settle_new(int quiet_ms, SettleActivityFunc activity, SettleFunc on_settled, void *opaque);
void settle_free(Settle *settle);

#endif /* DRAIN_SETTLE_H_ */
