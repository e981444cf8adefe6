/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <common/generated_server_marshallers.h>

#include "dcc.h"
#include "red-client.h"
#include "red-send-control.h"
#include "red-stream-observer.h"
#include "red-stream-path.h"

RedSendControl::RedSendControl(RedChannelClient *init_rcc):
    rcc(init_rcc), stream(init_rcc->get_stream())
{
    const RedChannel *const channel = rcc->get_channel();

    if (channel->handle_acks() && !channel->sends_live_video() &&
        red_stream_policy_get()->mode == &red_stream_mode_flow) {
        flow.reset(new RedStreamFlow);
    }
}

void RedSendControl::report(const char *what, std::initializer_list<int64_t> numbers,
                            const char *word)
{
    if (RedStreamObserver *const observer = red_stream_get_observer(stream)) {
        observer->event(what, numbers, word);
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
    red_timer_remove(coalescing_timer);
    coalescing_timer = nullptr;
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
    if (flow && !rcc->is_blocked()) {
        if (rcc->pipe_is_empty()) {
            flow->starved();
        } else {
            report("wait");
        }
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
    bool timed_out;

    control->start_timer(&control->flow_timer, flow_timeout,
                         flow->timer(g_get_monotonic_time(), &timed_out));
    if (!timed_out) {
        return;
    }
    control->report("probe_timeout");
    if (flow->get_probe_timeouts() == 1) {
        g_message("channel %s: the client does not answer probes, continuing without flow control "
                  "until it does", control->rcc->get_channel()->get_name());
    }
    control->rcc->resume();
}

void RedSendControl::acked(uint32_t messages)
{
    if (flow) {
        flow->acked(g_get_monotonic_time(), messages);
    }
}

bool RedSendControl::pong_received(uint32_t id, bool during_send)
{
    if (!flow || !(id & RED_STREAM_FLOW_PROBE)) {
        return false;
    }
    if (flow->pong_received(g_get_monotonic_time(), id)) {
        red_stream_set_path(stream, flow->get_path_rate(), flow->get_path_delay());
        red_stream_set_pace(stream, flow->get_pace());
        report("flow", { int64_t(flow->bytes_in_flight()), int64_t(flow->limit()),
                         int64_t(flow->get_rate()), flow->get_path_delay(),
                         flow->get_probe_timeouts() }, flow->get_phase());
        /* drawings that this pong allows may share a write with those that the next one allows */
        if (!rcc->pipe_is_empty() && flow->is_path_busy()) {
            coalesce(during_send);
        }
        rcc->resume();
    }
    return true;
}

/* Microseconds. Only drawings of the display channel are delayed. Other messages are responses, or
 * sound, or a thread waits for them. The streaming agent's channel, whose type is display as well,
 * sends frames. */
uint32_t RedSendControl::coalescing_delay() const
{
    const RedChannel *const channel = rcc->get_channel();

    if (channel->type() != SPICE_CHANNEL_DISPLAY || channel->sends_live_video() || sync_flush) {
        return 0;
    }
    const uint32_t delay = flow ? flow->get_path_delay() : MAX(rcc->get_roundtrip_ms(), 0) * 1000u;

    return red_stream_coalescing_delay(red_stream_policy_get(), delay);
}

/* An item is to be sent. Returns whether it is delayed until the timer fires. */
bool RedSendControl::coalesce(bool during_send)
{
    coalescing.see_inputs(rcc->get_client()->get_inputs());
    if (coalescing.is_urgent() || during_send || rcc->is_blocked()) {
        return false;
    }
    if (coalescing.active()) {
        return true;
    }
    const uint32_t delay = coalescing_delay();
    const uint64_t now = delay ? g_get_monotonic_time() : 0;
    if (!delay || !coalescing.begin(now, delay)) {
        return false;
    }
    start_timer(&coalescing_timer, coalescing_timeout, coalescing.start_timer(now));
    return true;
}

bool RedSendControl::delays(const RedPipeItem *item, bool during_send)
{
    /* messages that every channel has are responses, or a thread waits for them */
    if (item->type < RED_PIPE_ITEM_TYPE_CHANNEL_BASE) {
        coalescing.set_urgent();
    }
    if (!rcc->pipe_is_empty() && !coalescing.active()) {
        return true;
    }
    /* With MAX_PIPE_SIZE items in the pipe the worker takes no more commands of the guest. With
     * half of that the delay is over; with as many as upstream has in flight, 40, the last ones
     * would wait for an ack. */
    return coalesce(during_send) && rcc->get_pipe_size() != MAX_PIPE_SIZE / 2;
}

void RedSendControl::coalescing_timeout(RedSendControl *control)
{
    bool over;

    control->start_timer(&control->coalescing_timer, coalescing_timeout,
                         control->coalescing.timer(g_get_monotonic_time(), &over));
    if (over) {
        control->rcc->push();
    }
}

void RedSendControl::end_coalescing()
{
    if (coalescing.active()) {
        coalescing.left(g_get_monotonic_time());
        rcc->push();
    }
}

bool RedSendControl::may_keep_tail(bool waiting) const
{
    /* the pong that ends the wait must be on its way, and the path must not be idle until then */
    return coalescing.active() && !coalescing.is_urgent() &&
           (!waiting || (flow && flow->is_path_busy()));
}

void RedSendControl::flushed()
{
    coalescing.clear_urgent();
    if (coalescing.active()) {
        coalescing.left(g_get_monotonic_time());
    }
}

void RedSendControl::all_sent()
{
    if (coalescing_delay()) {
        coalescing.left(g_get_monotonic_time());
    }
}

void RedSendControl::set_sync_flush(bool init_sync_flush)
{
    sync_flush = init_sync_flush;
    if (sync_flush) {
        end_coalescing();
    }
}

void RedSendControl::expect_path(uint64_t rate, uint32_t delay)
{
    if (flow) {
        /* the main channel gives whole milliseconds, rounded down */
        const uint32_t longest = delay + 999;

        flow->expect(rate, longest);
        red_stream_set_path(stream, 0, delay);
        ping_answered(longest);
    }
}

void RedSendControl::ping_answered(uint32_t delay)
{
    if (flow && red_stream_get_family(stream) == AF_UNIX) {
        flow->ping_answered(delay);
    }
}
