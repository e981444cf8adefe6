/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The two clocks of the client. */

#ifndef DRAIN_CLOCK_H_
#define DRAIN_CLOCK_H_

#include <stdint.h>
#include <time.h>

#define NS_PER_SECOND INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

static inline int64_t clock_read_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

/* CLOCK_MONOTONIC is one clock for every process of the machine: the player's times and these
 * can be subtracted from each other. */
static inline int64_t clock_now_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

/* CPU time of the calling thread: the library decodes in the thread of the main loop. */
static inline int64_t clock_thread_cpu_ns(void)
{
    return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

#endif /* DRAIN_CLOCK_H_ */
