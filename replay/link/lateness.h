/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How late packets were delivered: a histogram in steps of 1 us up to 10 ms. It says whether the
 * emulator kept up, and so whether what was measured over it counts.
 */
#ifndef LINK_LATENESS_H
#define LINK_LATENESS_H

#include <stdint.h>

#define LATENESS_STEPS 10000

typedef struct Lateness {
    uint64_t count;
    uint64_t steps[LATENESS_STEPS + 1]; /* the last: all that was later */
    uint64_t max_ns;
} Lateness;

void lateness_add(Lateness *lateness, uint64_t ns);

/* The time in us within which that share (0 to 1) of the packets was delivered, rounded up to a
 * step, never above the maximum; beyond 10 ms it is the maximum. 0 without packets. */
double lateness_percentile(const Lateness *lateness, double share);

/* us */
double lateness_max(const Lateness *lateness);

#endif // LINK_LATENESS_H
