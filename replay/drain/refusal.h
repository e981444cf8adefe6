/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Why there is no session. */

#pragma once

#include "channel.h"

/* One line for a person, to be freed: which server, which channel, what went wrong. The event is
 * the error with which the library gave the channel up before it was open. */
char *refusal_text(const Options *options, const Channel *channel, SpiceChannelEvent event);
