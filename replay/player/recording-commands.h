/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "recording.h"
#include "recording-scan.h"

/* The grammar of what follows an event's first line; it is the only one in C. */

/* Reads what belongs to a QXL_CMD_*. NULL with the fault noted. */
RecordedCommand *recording_read_command(RecordingScan *scan, RecordingSurfaces *surfaces, uint32_t type);

/* Reads what belongs to the message that creates the primary surface. */
RecordedCommand *recording_read_primary(RecordingScan *scan, RecordingSurfaces *surfaces);
