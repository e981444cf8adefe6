/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clipboard that the client shares with the guest's agent, over the main channel. */
#ifndef DRAIN_CLIPBOARD_H_
#define DRAIN_CLIPBOARD_H_

#include <spice-client.h>

typedef struct Clipboard Clipboard;

/* Requests what the guest copies, and offers it back with every bit inverted: a paste of
 * ./run live deployment. */
Clipboard *clipboard_new(SpiceChannel *channel);
void clipboard_free(Clipboard *clipboard);

#endif /* DRAIN_CLIPBOARD_H_ */
