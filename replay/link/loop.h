/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Moves packets between the two ends, each at its due time, until SIGTERM or SIGINT. SIGUSR1 starts
 * the clock of the link's changes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "line.h"
#include "shaper.h"
#include "tun.h"

/* in = out + queue_full + lost + refused + packets still under way at the end.
 * Bytes include an Ethernet header per packet. */
typedef struct LinkCounters {
    uint64_t packets_in;
    uint64_t bytes_in;
    uint64_t packets_out;
    uint64_t bytes_out;
    uint64_t queue_full;
    uint64_t lost;
    uint64_t refused; /* refused by the other device, for example because it is down */
    uint64_t max_late_ns; /* how much later than due a packet was delivered */
} LinkCounters;

typedef struct LinkDirection {
    const Tun *from;
    const Tun *to;
    Shaper shaper;
    Line line;
    LinkCounters counters;
} LinkDirection;

/* Blocks the signals the loop takes; they are pending from here on. */
void loop_block_signals(void);

/* Returns at the signal. Ends the process with one line on stderr if a device goes away. */
void loop_run(LinkDirection directions[2]);

/* CLOCK_MONOTONIC in ns */
uint64_t loop_now(void);
