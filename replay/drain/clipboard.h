/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clipboard that the client shares with the guest's agent, over the main channel. */

#ifndef DRAIN_CLIPBOARD_H_
#define DRAIN_CLIPBOARD_H_

#include <spice-client.h>

#include "../common/json.h"

typedef struct Clipboard Clipboard;

/* Asks for whatever the guest has copied; copies the same with every bit turned over, and gives
 * that to the guest when it asks. */
Clipboard *clipboard_new(SpiceChannel *channel);
void clipboard_free(Clipboard *clipboard);

/* Bytes of all that came and was asked for. */
int64_t clipboard_bytes(const Clipboard *clipboard);

/* An object: received_bytes, received_sha256, sent_bytes, sent_sha256 of the last one each way;
 * the hashes are null when there was none. */
void clipboard_report(const Clipboard *clipboard, JsonBuilder *json);

#endif /* DRAIN_CLIPBOARD_H_ */
