/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <common/generated_server_marshallers.h>

#include "red-send-control.h"
#include "red-stream-policy.h"

RedSendControl::RedSendControl(RedChannelClient *init_rcc):
    rcc(init_rcc), stream(init_rcc->get_stream())
{
    const RedChannel *const channel = rcc->get_channel();

    if (channel->handle_acks() && !channel->sends_live_video() && red_stream_policy_get()->flow) {
        flow.reset(new RedStreamFlow);
    }
}

void RedSendControl::start_timer(SpiceTimer **timer, void (*func)(RedSendControl *), uint32_t ms)
{
    if (!ms) {
        return;
    }
    if (!*timer) {
        *timer = rcc->get_channel()->get_core_interface()->timer_new(func, this);
    }
    red_timer_start(*timer, ms);
}

void RedSendControl::stop()
{
    red_timer_remove(flow_timer);
    flow_timer = nullptr;
}

/* The client answers it when it has handled all earlier messages, see red-stream-flow.h. */
void RedSendControl::send_probe()
{
    SpiceMsgPing ping;

    rcc->init_send_data(SPICE_MSG_PING);
    ping.id = flow->get_next_probe();
    ping.timestamp = spice_get_monotonic_time_ns();
    spice_marshall_msg_ping(rcc->get_marshaller(), &ping);
    sending_probe = true;
    rcc->begin_send_message();
}

void RedSendControl::sent(uint32_t bytes)
{
    if (!flow) {
        return;
    }
    if (sending_probe) {
        flow->probe_sent(g_get_monotonic_time(), bytes);
    } else {
        flow->sent(g_get_monotonic_time(), bytes);
    }
    sending_probe = false;
    red_stream_set_pace(stream, flow->get_pace());
}

void RedSendControl::turn_ended()
{
    if (flow && !rcc->is_blocked() && rcc->pipe_is_empty()) {
        flow->starved();
    }
}

void RedSendControl::watch(bool waiting)
{
    if (!flow) {
        return;
    }
    const bool stopped = waiting && rcc->is_connected() && !rcc->is_blocked();

    start_timer(&flow_timer, flow_timeout,
                flow->set_stopped(stopped ? g_get_monotonic_time() : 0, stopped));
}

void RedSendControl::flow_timeout(RedSendControl *control)
{
    RedStreamFlow *const flow = control->flow.get();
    const uint32_t probe_timeouts = flow->get_probe_timeouts();
    bool timed_out;

    control->start_timer(&control->flow_timer, flow_timeout,
                         flow->timer(g_get_monotonic_time(), &timed_out));
    if (!timed_out) {
        return;
    }
    if (probe_timeouts == 0 && flow->get_probe_timeouts() > 0) {
        g_message("channel %s: the client does not answer probes, continuing without flow control "
                  "until it does", control->rcc->get_channel()->get_name());
    }
    control->rcc->resume();
}

bool RedSendControl::acked(uint32_t behind, uint32_t *messages)
{
    /* with flow SET_ACK is sent again, and until it has arrived the client acks as before */
    if (behind > (flow ? 1 : 0)) {
        return false;
    }
    if (flow) {
        *messages = flow->ack_received(g_get_monotonic_time(), *messages, behind == 0);
    }
    return true;
}

bool RedSendControl::pong_received(uint32_t id)
{
    if (!flow || !(id & RED_STREAM_FLOW_PROBE)) {
        return false;
    }
    if (flow->pong_received(g_get_monotonic_time(), id)) {
        red_stream_set_path(stream, flow->get_path_rate(), flow->get_path_delay());
        red_stream_set_pace(stream, flow->get_pace());
        if (flow->wants_fewer_acks()) {
            rcc->push_set_ack();
        }
        rcc->resume();
    }
    return true;
}

void RedSendControl::expect_path(uint64_t rate, uint32_t delay)
{
    if (flow) {
        flow->expect(rate);
        red_stream_set_path(stream, 0, delay);
    }
}
