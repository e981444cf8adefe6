/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides when a channel client may send: flow control, and the delay of drawings. RedStreamFlow
 * and RedStreamCoalescing decide without clock and socket; this has the clock, the timers and
 * the probes, and tells the stream what the pongs show (red_stream_set_path, red_stream_set_pace).
 * Called by red-channel-client.cpp: delays() when an item enters the pipe, may_send() and
 * wants_probe() before one leaves it, sent() for each message, the rest at the end of push().
 *
 * Not thread safe; used from the thread of the channel.
 */
#ifndef RED_SEND_CONTROL_H_
#define RED_SEND_CONTROL_H_

#include <initializer_list>
#include <memory>

#include "red-channel-client.h"
#include "red-stream-coalescing.h"
#include "red-stream-flow.h"

#include "push-visibility.h"

class RedSendControl
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @rcc owns this. There is flow control in mode flow, on channels with acks (display and
     * cursor), but not for live video. */
    explicit RedSendControl(RedChannelClient *rcc);
    ~RedSendControl() { stop(); }
    /* The client has gone. */
    void stop();

    /* Whether another message may be sent. @slack: the limit on messages in flight allows it;
     * without flow control that decides. */
    bool may_send(bool slack) const { return flow ? sync_flush || flow->may_send(slack) : slack; }
    /* Whether the next message is to be a probe, also if may_send() returns false. Without a watch
     * the client has gone, maybe in the middle of push(). */
    bool wants_probe() const { return flow && stream->watch && flow->wants_probe(); }
    /* Send it as the next message. */
    void send_probe();
    /* A message of @bytes is about to be given to the stream. */
    void sent(uint32_t bytes);
    /* push() has sent what it can. */
    void turn_ended();
    /* push() ends. @waiting: may_send() forbids more. While sending has stopped, the probe timeout
     * runs, as no progress depends on a client's pongs. */
    void watch(bool waiting);

    /* As in RedStreamFlow. */
    void migrate() { if (flow) { flow->migrate(); } }
    /* The client has acked @messages more. */
    void acked(uint32_t messages);
    /* Returns false if the pong is for another ping than a probe. @during_send: push() runs. */
    bool pong_received(uint32_t id, bool during_send);

    /* @item is about to be added to the pipe. Returns whether it needs no WRITE events, as it is
     * delayed until the timer pushes, or others wait for them already. */
    bool delays(const RedPipeItem *item, bool during_send);
    /* The next item is not to be delayed. */
    void set_urgent() { coalescing.set_urgent(); }
    /* Whether drawings wait for others. */
    bool is_coalescing() const { return coalescing.active(); }
    /* The thread is about to wait: send all that is delayed. */
    void end_coalescing();
    /* Whether the last bytes that push() has sent may stay in the stream until the delay is over.
     * @waiting: as in watch(). */
    bool may_keep_tail(bool waiting) const;
    /* The stream is flushed; at the end of a push() that has sent something. */
    void flushed();
    /* Called after that flush: a drawing that closely follows may wait. */
    void all_sent();

    /* While a thread waits for the pipe, no item in it can be merged or dropped, so there is no
     * reason to keep items there: send what the socket takes, and delay no drawing. */
    void set_sync_flush(bool sync_flush);
    /* Another channel of the client has measured the path: @rate in bytes per second, @delay of a
     * round trip in microseconds. */
    void expect_path(uint64_t rate, uint32_t delay);
    /* Whether there is flow control. */
    bool has_flow() const { return flow != nullptr; }
    /* A ping with nothing before it was answered after @delay microseconds. */
    void ping_answered(uint32_t delay);
    /* Whether the client is on this host, so that bytes cost nothing: it comes by a Unix socket,
     * and its answers show no relay behind that. Without flow control it is taken for one. */
    bool is_local() const
    {
        return red_stream_get_family(stream) == AF_UNIX && (!flow || flow->is_local());
    }
    /* How often a client has not answered in time. */
    uint32_t get_probe_timeouts() const { return flow ? flow->get_probe_timeouts() : 0; }
    /* Round trip in microseconds as measured by pongs, 0: unknown. */
    uint32_t get_path_delay() const { return flow ? flow->get_path_delay() : 0; }

private:
    void report(const char *what, std::initializer_list<int64_t> numbers = { },
                const char *word = nullptr);
    void start_timer(SpiceTimer **timer, void (*func)(RedSendControl *), uint32_t ms);
    static void flow_timeout(RedSendControl *control);
    static void coalescing_timeout(RedSendControl *control);
    uint32_t coalescing_delay() const;
    bool coalesce(bool during_send);

    RedChannelClient *const rcc;
    RedStream *const stream;
    /* null: there is no flow control */
    std::unique_ptr<RedStreamFlow> flow;
    SpiceTimer *flow_timer = nullptr;
    /* drawings of a burst are delayed, in the pipe and in the stream, until the timer fires */
    RedStreamCoalescing coalescing;
    SpiceTimer *coalescing_timer = nullptr;
    bool sending_probe = false;
    bool sync_flush = false;
};

#include "pop-visibility.h"

#endif /* RED_SEND_CONTROL_H_ */
