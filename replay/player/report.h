/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "feeder.h"

/* What the player says at the end on standard output: one line of JSON. */

/* What the server took the first client's path for at connect: over a slow one it sends JPEG. */
typedef enum Bandwidth { BANDWIDTH_UNKNOWN, BANDWIDTH_LOW, BANDWIDTH_HIGH } Bandwidth;

typedef struct ReportDone {
    uint64_t expected_commands;
    const FeederResult *fed;
    int64_t started_ns, ended_ns;
    double cpu_user, cpu_system;
    GVariant *channels;         /* what the other channels' devices did, or NULL; floating */
    Bandwidth bandwidth;
} ReportDone;

/* Reads the stream statistics, so the server must be destroyed by now. False when standard output
 * cannot be written. */
bool report_done(const ReportDone *done);

/*
 * Makes SPICE_STREAM_STATS name a file that vanishes with the process, unless
 * the caller's environment names one. To be called before the server is made.
 */
bool report_prepare_stream_stats(void);
