/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <spice.h>

#include "player-options.h"

/* A server that listens as the options say. NULL with *error set, one line. */
SpiceServer *player_server_new(const PlayerOptions *options, SpiceCoreInterface *core,
                               char **error);
