/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Flow control of a channel client: a RedStreamFlow, with the ack interval and the probe timeout of
 * the connection. This decides; RedChannelClient sends, and owns the timer.
 *
 * No clock, socket or timer; times are microseconds of a monotonic clock. Not thread safe.
 */
#ifndef RED_CHANNEL_FLOW_H_
#define RED_CHANNEL_FLOW_H_

#include "red-stream-flow.h"

#include "push-visibility.h"

/* The ack interval, in messages, of a client that answers probes: its pongs say more than its acks.
 * With half the interval its uplink carries twice as many acks. */
#define RED_CHANNEL_FLOW_ACK_INTERVAL 200

class RedChannelFlow
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* The estimates. Only the functions below change them. */
    const RedStreamFlow &get() const { return flow; }

    void expect(uint64_t rate) { flow.expect(rate); }
    void starved() { flow.starved(); }

    /* MIGRATE is queued. Behind it the client expects MIGRATE_DATA and nothing else, so no probe
     * and no SET_ACK follow. */
    void migrate() { migrating = true; }

    /* Whether another message may be sent, and whether the next one is to be a probe, see
     * RedStreamFlow. */
    bool may_send(bool slack) const { return flow.may_send(slack); }
    bool wants_probe() const { return !migrating && flow.wants_probe(); }

    /* The next message is a probe. Returns its id. */
    uint32_t begin_probe();
    /* A message of @bytes (with its header) was written to the stream. */
    void sent(uint64_t now, uint32_t bytes);
    /* A pong with @id has come. Returns false if no such probe is in flight. */
    bool pong_received(uint64_t now, uint32_t id);

    /* True once: SET_ACK is to be sent again, with a longer interval. */
    bool wants_fewer_acks();
    /* SET_ACK is about to be sent; the interval was @interval. Returns what it is from now on. */
    uint32_t set_ack(uint32_t interval);
    /* An ack has arrived. @interval: the interval of the last SET_ACK; @synced: the client has
     * answered that, so the ack is for that interval, otherwise for the previous one. Returns how
     * many messages the ack covers. */
    uint32_t acked(uint64_t now, uint32_t interval, bool synced);

    /* Sending has stopped (@stopped) or goes on. Returns the milliseconds after which the caller must
     * call timer(), 0: no timer is needed, or one is running. @now is used only if @stopped. */
    uint32_t set_stopped(uint64_t now, bool stopped);
    /* Returns as set_stopped(). @timed_out becomes true if the probe timeout is over: then ask
     * may_send() again. */
    uint32_t timer(uint64_t now, bool *timed_out);

private:
    RedStreamFlow flow;
    bool migrating = false;
    bool sending_probe = false;
    /* ack intervals: before the last SET_ACK, and from the next one on (0: as it is) */
    uint32_t former_interval = 0;
    uint32_t next_interval = 0;
    /* since when sending is stopped without a pong, 0: it is not */
    uint64_t stopped_time = 0;
    bool timer_runs = false;
};

#include "pop-visibility.h"

#endif /* RED_CHANNEL_FLOW_H_ */
