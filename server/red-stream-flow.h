/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much a channel may have in flight: what the path and the client carry, and little
 * more, so that what waits does so in the channel's pipe, where it can still be merged
 * or dropped.
 *
 * The client acks every so many messages (SPICE_MSG_SET_ACK). Upstream stops after twice
 * that number, which knows nothing of the path: at 100 ms it is 400 messages a second,
 * and on a slow line it may be seconds of stale picture.
 *
 * The model is that of BBR (Cardwell et al., "BBR: Congestion-Based Congestion Control",
 * ACM Queue 14-5, 2016), applied to messages between this server and the client's
 * decoder instead of segments between two kernels:
 *
 *   rate       the highest number of bytes a second that acks have shown over the last
 *              RED_STREAM_FLOW_ROUNDS round trips, not lowered by times at which there
 *              was nothing to send
 *   delay      the shortest time from sending a message to its ack over
 *              RED_STREAM_FLOW_DELAY_AGE; when that is too old, or was far exceeded all
 *              through a round trip, one with so little in flight that there is no
 *              queue measures it anew
 *
 * At most rate * delay * gain bytes may be in flight, with a gain of nearly 3 until the
 * rate stops growing or the delay shows a queue, and a little above 1 from then on, which
 * lets the estimate follow a path that has become faster. The client is part of the path:
 * one that decodes slowly shows a low rate, and gets a short queue.
 *
 * In its slow start TCP learns as well, and it learns only from what it is given: twice
 * its congestion window is allowed then, so that it is not slowed down from here.
 *
 * A message longer than a flight has mostly left the socket when the socket has taken its
 * end, though the client acks it as a whole; so no more than half a flight of it counts,
 * lest the path be idle for a round trip after each.
 *
 * An ack must be on its way whenever sending stops. Messages are counted in groups of
 * which the last makes the client ack; sending never stops while no complete group is in
 * flight. So any limit is safe, also below the interval of acks. How many messages make
 * a group depends on their size and the path: see wanted_interval and wants_set_ack.
 *
 * No clock, socket or lock; times are microseconds of a monotonic clock. Not thread safe.
 */
#ifndef RED_STREAM_FLOW_H_
#define RED_STREAM_FLOW_H_

#include "red-common.h"

#include "push-visibility.h"

/* Groups in flight at the most. */
#define RED_STREAM_FLOW_GROUPS 512
#define RED_STREAM_FLOW_ROUNDS 10
/* Messages that the average size is taken over, and their bytes as long as none is known:
 * rather too large, so that the first acks come early. */
#define RED_STREAM_FLOW_AVERAGE 256
#define RED_STREAM_FLOW_MESSAGE_SIZE 1000
/* microseconds */
#define RED_STREAM_FLOW_DELAY_AGE (30 * 1000 * 1000)

class RedStreamFlow
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* A message of @bytes (its header included) was given to the stream. */
    void sent(uint64_t now, uint32_t bytes);

    /* SET_ACK with @interval, a message of @bytes, was given to the stream (do not call
     * sent for it: the client counts from the next message on). Of a group that was not
     * complete no ack comes. */
    void set_ack_sent(uint64_t now, uint32_t interval, uint32_t bytes);

    /* The client has received the latest SET_ACK (SPICE_MSGC_ACK_SYNC of its
     * generation). */
    void synced(uint64_t now);

    /* The client has received a group (SPICE_MSGC_ACK), or one of its own if it counts more
     * than it is told to: that must not end later than the one here. */
    void acked(uint64_t now);

    /* Making a message took so many microseconds, in which its thread could not write. */
    void made(uint32_t time);

    /* There was nothing more to send though there could have been. */
    void starved();

    /* TCP is in slow start with a congestion window of @bytes; 0: it is not, or that is not
     * known. */
    void set_slow_start_window(uint64_t bytes) { slow_start_window = bytes; }

    /* Whether a further message may be sent now. If not, an ack or a sync will come. */
    bool may_send() const;

    /* Microseconds that what was given to the stream may wait for more when sending has
     * stopped: a small part of the time for which the path has enough to carry. 0 while it
     * may be idle. */
    uint64_t hold_time() const;

    /* The interval of acks that suits what is sent and the path: one every few milliseconds,
     * 8 to 16 while what fills the path arrives. At least 1. */
    uint32_t wanted_interval() const;
    /* Whether SET_ACK should be sent next; ask after each message. It should if the interval
     * is twice or half of the wanted one (at most once in some round trips, unless groups run
     * out), and if half of what fills the path was sent since the last group: messages have
     * become larger, and the ack is far. Before the first SET_ACK false. */
    bool wants_set_ack(uint64_t now);

    /* Microseconds that it took of late to make a message, the longest count most: of large
     * pictures each takes tens of milliseconds. */
    uint32_t get_making_time() const { return making_time; }

    /* The rate of the path, bytes a second, once it has stopped growing, before that 0. */
    uint64_t get_path_rate() const { return growing ? 0 : rate; }

    /* For traces and tests. */
    uint64_t bytes_in_flight() const { return counted_bytes - counted_acked; }
    uint64_t limit() const;
    uint64_t get_rate() const { return rate; }
    uint32_t get_delay() const { return delay; }
    uint32_t get_interval() const { return interval; }
    const char *get_phase() const
    {
        return probing ? "probing" : growing ? "growing" : "steady";
    }

private:
    struct Group {
        uint64_t bytes;
        /* all bytes sent up to the end of the group, as sent and as counted, and when that
         * was */
        uint64_t sent_bytes;
        uint64_t counted_bytes;
        uint64_t sent_time;
        /* bytes in flight before it that were not counted: of messages longer than a flight */
        uint64_t uncounted;
        /* what had been acked then, when, and when the last of that was sent */
        uint64_t acked_bytes;
        uint64_t acked_time;
        uint64_t acked_sent_time;
        /* the sender had nothing more to send */
        bool starved;
    };

    void close_group(uint64_t now);
    void group_done(uint64_t now);
    void begin_group_anew();
    void update_delay(uint64_t now, const Group *group);
    void update_rate(uint64_t now, const Group *group);
    void next_round();
    void check_full_rate();
    uint64_t flight() const;
    uint64_t probing_flight() const;
    uint32_t in_flight() const { return group_end - group_begin; }

    /* groups in flight, a ring indexed by numbers that only grow */
    Group groups[RED_STREAM_FLOW_GROUPS];
    uint32_t group_begin = 0;
    uint32_t group_end = 0;
    /* messages of the group that is being filled */
    uint32_t group_messages = 0;
    /* bytes sent before it, the same as counted, and when its first message was */
    uint64_t group_begin_bytes = 0;
    uint64_t group_begin_counted = 0;
    uint64_t group_begin_time = 0;
    uint32_t interval = 0;
    /* a SET_ACK is on its way, and its group is this one */
    bool syncing = false;
    uint32_t sync_group = 0;
    /* when a SET_ACK was last sent or wanted */
    uint64_t set_ack_time = 0;

    uint64_t sent_bytes = 0;
    uint64_t acked_bytes = 0;
    /* the same with large messages counted as far as they fill the path */
    uint64_t counted_bytes = 0;
    uint64_t counted_acked = 0;
    uint64_t acked_time = 0;
    uint64_t acked_sent_time = 0;
    /* bytes sent when there was nothing more to send; acks up to here say little */
    uint64_t starved_until = 0;

    /* bytes of a message, times RED_STREAM_FLOW_AVERAGE, a moving average */
    uint64_t message_size = RED_STREAM_FLOW_MESSAGE_SIZE * RED_STREAM_FLOW_AVERAGE;

    /* microseconds, 0: not known */
    uint32_t delay = 0;
    uint64_t delay_time = 0;
    bool probing = false;
    /* all groups of this round have met a queue */
    bool round_queued = false;

    /* bytes a second, and the highest one of each of the last rounds */
    uint64_t rate = 0;
    uint64_t rates[RED_STREAM_FLOW_ROUNDS] = { };
    uint64_t round = 0;
    uint64_t round_end = 0;

    uint64_t slow_start_window = 0;
    uint32_t making_time = 0;

    /* growing until the rate does not grow for some rounds or the delay does */
    bool growing = true;
    uint64_t full_rate = 0;
    uint32_t full_rounds = 0;
};

#include "pop-visibility.h"

#endif /* RED_STREAM_FLOW_H_ */
