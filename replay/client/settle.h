/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waits until a display shows what it is going to show.
 *
 * A marker says that all commands before it were decoded, but parts that a server sends as a
 * video stream are then still lossy and late. A second after a stream's last frame the server
 * ends it and sends its area once more, without loss. */

#ifndef DRAIN_SETTLE_H_
#define DRAIN_SETTLE_H_

#include "display.h"

typedef struct Settle Settle;

typedef void (*SettleFunc)(void *opaque);

/* Calls on_settled once, from the main loop, when the display has had no update for quiet_ms.
 * settle_free() before that calls it off. */
Settle *settle_new(const Display *display, int quiet_ms, SettleFunc on_settled, void *opaque);
void settle_free(Settle *settle);

#endif /* DRAIN_SETTLE_H_ */
