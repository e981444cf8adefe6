/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Why there is no session. */

#ifndef DRAIN_REFUSAL_H_
#define DRAIN_REFUSAL_H_

#include "channel.h"

/* One line for a person, to be freed: which server, which channel, what went wrong. The event is
 * the error with which the library gave the channel up before it was open. */
char *refusal_text(const Options *options, const Channel *channel, SpiceChannelEvent event);

#endif /* DRAIN_REFUSAL_H_ */
