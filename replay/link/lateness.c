/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <math.h>

#include "lateness.h"

#define NS_PER_US 1000

void lateness_add(Lateness *lateness, uint64_t ns)
{
    uint64_t step = ns / NS_PER_US;

    lateness->steps[step < LATENESS_STEPS ? step : LATENESS_STEPS]++;
    lateness->count++;
    if (ns > lateness->max_ns) {
        lateness->max_ns = ns;
    }
}

double lateness_percentile(const Lateness *lateness, double share)
{
    uint64_t wanted = (uint64_t) ceil(share * (double) lateness->count);
    uint64_t seen = 0;

    for (uint32_t step = 0; step < LATENESS_STEPS; step++) {
        seen += lateness->steps[step];
        if (seen >= wanted && seen > 0) {
            return fmin(step + 1, lateness_max(lateness));
        }
    }
    return lateness_max(lateness);
}

double lateness_max(const Lateness *lateness)
{
    return (double) lateness->max_ns / NS_PER_US;
}
