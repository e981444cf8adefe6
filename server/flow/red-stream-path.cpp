/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include "red-stream-path.h"

/* The pacing rate in percent of the path's rate while at most so much of the BDP is in flight: more
 * than the rate, so that a path that became faster is found. At 150 the router's queue grows five
 * times as fast. With more in flight, as BBR does, the inverse of the gain that filled the queue
 * drains it. */
#define PACED_UP_PERCENT 110

const RedStreamMode red_stream_mode_flow("flow", false, true, "window");

uint32_t red_stream_path_unsent_limit(const RedStreamLink *link)
{
    const uint64_t size = red_stream_policy_link_rate(link) * 2 * RED_STREAM_UNNOTICED / 1000000;

    return size ? std::min<uint64_t>(std::max<uint64_t>(size, RED_STREAM_FLOW_MIN), UINT32_MAX) :
                  UINT32_MAX;
}

uint64_t red_stream_path_pace(const RedStreamLink *link, uint64_t rate)
{
    if (!rate || link->path_delay < RED_STREAM_UNNOTICED ||
        red_stream_policy_is_first_hop(link)) {
        return 0;
    }
    /* the path may be faster than the pongs have shown */
    rate = std::max(rate, link->delivery_rate);

    /* the first pongs are late, as the client was still setting up its channel */
    const uint32_t delay = link->min_rtt ? std::min(link->path_delay, link->min_rtt) :
                           link->path_delay;
    const uint64_t full = rate * delay / 1000000 * PACED_UP_PERCENT / 100;
    const uint64_t in_flight = uint64_t{link->unacked} * link->mss;

    /* On a path that became longer TCP's minimum is too low for up to five minutes: there is no
     * queue to drain. */
    const uint64_t longest = uint64_t{link->path_delay} * PACED_UP_PERCENT / 100;

    return in_flight > full && link->rtt > longest ?
               rate * 100 / RED_STREAM_GROWING_GAIN_PERCENT : rate * PACED_UP_PERCENT / 100;
}
