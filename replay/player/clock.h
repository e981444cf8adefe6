/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLOCK_H_
#define CLOCK_H_

#include <stdint.h>
#include <time.h>

#define NSEC_PER_SEC 1000000000LL
#define NSEC_PER_MSEC 1000000LL

static inline int64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

#endif /* CLOCK_H_ */
