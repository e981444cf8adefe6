/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a user at the client does: moves the mouse, presses Scroll Lock and waits for its light. */

#ifndef DRAIN_INPUTS_H_
#define DRAIN_INPUTS_H_

#include <spice-client.h>
#include <stdbool.h>

typedef struct Inputs Inputs;

/* is_used: sends motions of one pixel, as often as a mouse, and presses a key now and then, once
 * inputs_start() was called. The next key waits for the light of the one before. */
Inputs *inputs_new(SpiceChannel *channel, bool is_used);
void inputs_free(Inputs *inputs);
void inputs_start(Inputs *inputs);

/* An object: motions and keys sent, and echoes_ms, the time from each press to its light. */
GVariant *inputs_report(const Inputs *inputs);

#endif /* DRAIN_INPUTS_H_ */
