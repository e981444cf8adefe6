/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides when a channel client may send. RedStreamFlow decides without clock and socket; this has
 * the clock, the timer and the probes, and tells the stream what the pongs show.
 *
 * Not thread safe; used from the thread of the channel.
 */
#ifndef RED_SEND_CONTROL_H_
#define RED_SEND_CONTROL_H_

#include <memory>

#include "red-channel-client.h"
#include "red-stream-flow.h"

#include "push-visibility.h"

class RedSendControl
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @rcc owns this. */
    explicit RedSendControl(RedChannelClient *rcc);
    ~RedSendControl() { stop(); }
    /* The client has gone. */
    void stop();

    /* Whether another message may be sent. @slack: the limit on messages in flight allows it; without
     * flow control that decides. */
    bool may_send(bool slack) const { return flow ? sync_flush || flow->may_send(slack) : slack; }
    /* Whether the next message is to be a probe, also if may_send() returns false. Without a watch
     * the client has gone, maybe in the middle of push(). */
    bool wants_probe() const { return flow && stream->watch && flow->wants_probe(); }
    void send_probe();
    /* A message of @bytes is about to be given to the stream. */
    void sent(uint32_t bytes);
    /* push() has sent what it can. */
    void turn_ended();
    /* push() ends. @waiting: may_send() forbids more. While sending has stopped, the probe timeout
     * runs, as no progress depends on a client's pongs. */
    void watch(bool waiting);

    /* As in RedStreamFlow. */
    uint32_t set_ack(uint32_t interval) { return flow ? flow->set_ack(interval) : interval; }
    void migrate() { return flow ? flow->migrate() : void(); }
    /* An ack has arrived, from a client that has answered all but the last @behind SET_ACKs. Returns
     * whether it counts; then @messages, the interval, becomes the number of messages acked. */
    bool acked(uint32_t behind, uint32_t *messages);
    /* Returns false if the pong is for another ping than a probe. */
    bool pong_received(uint32_t id);

    /* While a thread waits for the pipe, no item in it can be merged or dropped, so there is no reason
     * to keep items there: send what the socket takes. */
    void set_sync_flush(bool init_sync_flush) { sync_flush = init_sync_flush; }
    /* Another channel of the client has measured the path: @rate in bytes per second, @delay of a
     * round trip in microseconds. */
    void expect_path(uint64_t rate, uint32_t delay);

private:
    void start_timer(SpiceTimer **timer, void (*func)(RedSendControl *), uint32_t ms);
    static void flow_timeout(RedSendControl *control);

    RedChannelClient *const rcc;
    RedStream *const stream;
    /* null: there is no flow control */
    std::unique_ptr<RedStreamFlow> flow;
    SpiceTimer *flow_timer = nullptr;
    bool sending_probe = false;
    bool sync_flush = false;
};

#include "pop-visibility.h"

#endif /* RED_SEND_CONTROL_H_ */
