/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include "red-channel-flow.h"

uint32_t RedChannelFlow::begin_probe()
{
    sending_probe = true;
    return flow.get_next_probe();
}

void RedChannelFlow::sent(uint64_t now, uint32_t bytes)
{
    if (sending_probe) {
        sending_probe = false;
        flow.probe_sent(now, bytes);
    } else {
        flow.sent(now, bytes);
    }
}

bool RedChannelFlow::pong_received(uint64_t now, uint32_t id)
{
    if (!flow.pong_received(now, id)) {
        return false;
    }
    if (stopped_time) {
        stopped_time = now;
    }
    return true;
}

bool RedChannelFlow::wants_fewer_acks()
{
    if (migrating || !flow.wants_fewer_acks()) {
        return false;
    }
    next_interval = RED_CHANNEL_FLOW_ACK_INTERVAL;
    return true;
}

uint32_t RedChannelFlow::set_ack(uint32_t interval)
{
    if (next_interval) {
        former_interval = interval;
        interval = next_interval;
        next_interval = 0;
    }
    return interval;
}

uint32_t RedChannelFlow::acked(uint64_t now, uint32_t interval, bool synced)
{
    const uint32_t messages = synced ? interval : former_interval;
    /* The first ack after the interval was made longer may cover fewer messages: some clients do not
     * restart their count at SET_ACK. */
    const uint32_t begun = synced ? former_interval : 0;

    flow.acked(now, messages - std::min(begun, messages));
    former_interval -= begun;
    return messages;
}

uint32_t RedChannelFlow::set_stopped(uint64_t now, bool stopped)
{
    if (!stopped) {
        stopped_time = 0;
        return 0;
    }
    if (!stopped_time) {
        stopped_time = now;
    }
    if (timer_runs) {
        return 0;
    }
    timer_runs = true;
    return flow.get_probe_timeout() / 1000;
}

uint32_t RedChannelFlow::timer(uint64_t now, bool *timed_out)
{
    const uint64_t timeout = flow.get_probe_timeout();

    timer_runs = false;
    *timed_out = stopped_time && now - stopped_time >= timeout;
    if (*timed_out) {
        flow.probe_timed_out(now);
    } else if (stopped_time) {
        timer_runs = true;
        return (timeout - (now - stopped_time)) / 1000 + 1;
    }
    return 0;
}
