/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include "red-stream-coalescing.h"

#define HOLD_AUTO UINT32_MAX

/* the delay in microseconds */
static const RedStreamSetting hold("hold", 0, 1000000, HOLD_AUTO, "auto", HOLD_AUTO);

uint32_t red_stream_coalescing_delay(const RedStreamPolicy *policy, uint32_t delay)
{
    const uint32_t set = hold.get(policy);

    if (!policy->mode->batch) {
        return 0;
    }
    if (set != HOLD_AUTO) {
        return set;
    }
    return RED_STREAM_COALESCING_DELAY * (delay > RED_STREAM_UNNOTICED ? 2 : 1);
}

bool RedStreamCoalescing::begin(uint64_t now, uint32_t budget)
{
    if (budget == 0 || now - last >= uint64_t{budget} * RED_STREAM_COALESCING_PAUSE) {
        return active();
    }
    if (!active()) {
        until = now + budget;
    }
    return true;
}

void RedStreamCoalescing::left(uint64_t now)
{
    last = now;
    until = 0;
}

uint32_t RedStreamCoalescing::start_timer(uint64_t now)
{
    if (timer_runs) {
        return 0;
    }
    timer_runs = true;
    return std::max<uint64_t>((until - now) / 1000, 1);
}

uint32_t RedStreamCoalescing::timer(uint64_t now, bool *over)
{
    timer_runs = false;
    /* the timer may belong to a delay that is over; its resolution is a millisecond */
    *over = active() && now + 500 >= until;
    if (*over) {
        left(now);
    }
    return active() ? start_timer(now) : 0;
}
