/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Links for the tests of what a stream takes from TCP. */
#ifndef TEST_STREAM_LINK_H_
#define TEST_STREAM_LINK_H_

#include <glib.h>

#include "red-stream-policy.h"

#include "push-visibility.h"

/* A link in full flow. @cwnd: segments; @rtt: microseconds; @delivery_rate: bytes a second,
 * 0 if not known. */
static inline RedStreamLink test_make_link(uint32_t cwnd, uint32_t rtt, uint64_t delivery_rate)
{
    RedStreamLink link = { };

    link.mss = 1448;
    link.cwnd = cwnd;
    link.rtt = rtt;
    link.delivery_rate = delivery_rate;
    link.rto = rtt + 200000;
    return link;
}

/* What was read of a link is not recent any more. */
static inline void test_link_ages()
{
    g_usleep(RED_STREAM_LINK_PERIOD + 1000);
}

#include "pop-visibility.h"

#endif /* TEST_STREAM_LINK_H_ */
