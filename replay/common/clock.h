/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define NSEC_PER_SEC 1000000000LL
#define NSEC_PER_MSEC 1000000LL

static inline int64_t clock_read_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/* One clock for every process of the machine: the player's times and the client's can be
 * subtracted from each other. */
static inline int64_t clock_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

static inline double clock_seconds(struct timeval from, struct timeval to)
{
    return to.tv_sec - from.tv_sec + (to.tv_usec - from.tv_usec) / 1e6;
}
