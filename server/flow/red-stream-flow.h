/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Flow control of a channel: limits the bytes in flight to little more than the path and the client
 * carry. The rest waits in the channel's pipe, where it can still be merged or dropped, and
 * where it does not delay sound or the response to a key.
 *
 * Upstream stops when twice the ack interval is in flight, on any path: at 100 ms that is 400
 * messages per second, and on a slow link it may be seconds of stale drawings. Acks are not used
 * for the estimates, as each client counts them in its own way. The estimates come from probes:
 * SPICE_MSG_PING, which each client answers with a PONG of the same id when it has handled all
 * messages before. So a pong covers the whole path, relays and decoder included.
 *
 * The model is that of BBR (Cardwell et al., "BBR: Congestion-Based Congestion Control",
 * ACM Queue 14-5, 2016), applied to messages between this server and the client's
 * decoder instead of segments between two kernels:
 *
 *   rate       the highest rate, in bytes per second, that pongs showed over the last
 *              RED_STREAM_FLOW_ROUNDS round trips. A round trip that began with nothing to
 *              send counts only if it shows a higher rate: so after a pause the channel
 *              sends at the rate measured before. Or if RED_STREAM_FLOW_INITIAL bytes
 *              were in flight, and queued
 *   delay      the shortest time from a probe to its pong over RED_STREAM_FLOW_AGE.
 *              When it is older than that, was far exceeded during a whole round trip, or
 *              somewhat during so many that the rate is about to fall, it is measured anew in a
 *              round trip with so little in flight that no queue forms
 *
 * At most rate * delay * gain bytes may be in flight. The gain is 1.75 until the rate stops growing
 * or the delay shows a queue. From then on it is a little above 1, so that the estimate follows a
 * path that becomes faster, and a few milliseconds of the rate are added. The client is part of the
 * path: one that decodes slowly shows a low rate, and gets a short queue. Below, "BDP" is rate *
 * delay (bdp() in the code, with the gain).
 *
 * Jitter: if most round trips take many times as long as the shortest, a BDP fills only a part of
 * the path. What was held back then comes in a bunch, while behind a queue the line, or the client,
 * puts time between any two messages. So where bunches are frequent, as much as comes in one may be
 * in flight, and somewhat more, see bunches_limit(). Channels that share a line see bunches that
 * grow with what all have in flight, so there is a bound.
 *
 * Messages larger than the BDP: no probe is inside a message. When the socket has accepted the
 * end of a large one, the path has carried most of it already. So at most half a BDP of it
 * counts as in flight; otherwise the path would be idle for a round trip after each. The kernel
 * is to pace such a message, see get_pace().
 *
 * Channels that share a line (displays of a client, users behind one router): each sees the queue
 * of all. If each took that for a longer path and filled it, the queue would grow for ever. So the
 * delay is compared with what the main channel measured when the client connected:
 *
 *   is it so long that it would show a queue there, it is measured anew with so little in flight
 *   that the queue of this channel drains. Others see a shorter delay then, and soon do the same
 *
 *   is it more than twice as long as that, and 250 ms, upstream's limit holds as well
 *
 * So a path that became so much longer, or in which others keep a queue, carries what it carries
 * with upstream's limit, less the probes, which that counts as well.
 *
 * Old estimates: after RED_STREAM_FLOW_AGE without a pong the path may have changed. (BBR then
 * continues at the old rate, with pacing; TigerVNC restarts with 16 KB after two idle round trips.)
 * Here the limit restarts at a quarter of the BDP, and grows by each byte that a pong confirms, up
 * to the BDP. If a pong shows a queue before that, the rate is measured anew.
 *
 * Progress never depends on replies to our pings: where they are missing, upstream's limit applies
 * instead, so no more is in flight then than with upstream. What may be in flight, and what a pong
 * may change in the estimates, depends on the phase:
 *
 *   phase        limit                         rate may become      delay may become
 *   STARTING     BDP or upstream's             -                    -
 *   OPEN         BDP; more after bunches       more or less         less
 *   REMEASURING  what causes no queue          more                 more or less
 *   RESTARTED    a quarter of the BDP, and     more; less, if a     less
 *                what pongs confirm            pong shows a queue
 *   TIMED_OUT    upstream's                    more or less         more or less
 *   OFF          upstream's                    -                    -
 *
 *   STARTING     until the first pong. Then, and at the end of the next three, OPEN begins
 *   REMEASURING  when the delay is old, all pongs of a round trip have shown a queue, or the rate
 *                is about to fall as pongs are late; until the pong of a probe that was sent
 *                without a queue in front of it. Only those make the delay longer
 *   RESTARTED    after RED_STREAM_FLOW_AGE without a pong, see above
 *   TIMED_OUT    after a probe timeout: sending has stopped, and no pong has come for
 *                get_probe_timeout(); until the client has answered RED_STREAM_FLOW_PROBES probes
 *                without leaving out any
 *   OFF          for good: the client has acked a message sent after a probe, and has not answered
 *                the probe for RED_STREAM_FLOW_TIMEOUT
 *
 * No clock, socket or lock; times are microseconds of a monotonic clock. Not thread safe.
 */
#ifndef RED_STREAM_FLOW_H_
#define RED_STREAM_FLOW_H_

#include "red-common.h"

#include "push-visibility.h"

/* Each comment says which users would notice a different value of the constant. */

/* Bytes to send on a path of which nothing is known, and the most at first on any: twice TCP's
 * initial window (RFC 6928). With half, a new client on a long path fills it one round trip
 * later. */
#define RED_STREAM_FLOW_INITIAL (32 * 1024)
/* The rate is the maximum over this number of round trips, as in BBR. With 5, users of Wi-Fi get
 * less of the path's rate. */
#define RED_STREAM_FLOW_ROUNDS 10
/* Microseconds after which the delay is measured anew, and the rate counts as old. With half, a
 * path that did not change is filled slowly after a pause of 15 s. */
#define RED_STREAM_FLOW_AGE (30 * 1000 * 1000)
/* The probe timeout is at least this (microseconds), and at most three times that or, if that is
 * longer, this and two round trips. If a client stops answering, its user waits for that long,
 * once. With half, a busy client would count as one that does not answer. */
#define RED_STREAM_FLOW_TIMEOUT (300 * 1000)
/* A path within this host has at most this delay (microseconds), and carries
 * RED_STREAM_FLOW_INITIAL bytes meanwhile. No user notices half or twice that: networks are much
 * slower, memory is much faster. */
#define RED_STREAM_FLOW_LOCAL_DELAY 1000
/* Set in the id of a probe. Upstream's pings never have it, as their ids come from rand(). */
enum : uint32_t { RED_STREAM_FLOW_PROBE = UINT32_C(1) << 31 };
/* Probes per BDP: at most this many, and at least half. Two are RED_STREAM_SLACK apart, or
 * RED_STREAM_FLOW_MIN bytes if that is more. A pong costs the client a packet, and client and
 * server a wake-up: with twice the value, clients on slow uplinks send twice as many packets;
 * with half, the channel sends in bursts. Flow control resumes when as many have been answered
 * after a probe timeout: with half, users of a client that answers only sometimes wait more
 * often. */
#define RED_STREAM_FLOW_PROBES 16
/* A path counts as no faster than measured after this many tries: round trips with less growth
 * than the gain, which would find the rest, or tests of the main channel. With fewer the growth
 * ends too early on paths with jitter; with more a queue forms at the start. */
#define RED_STREAM_FLOW_TRIES 3

class RedStreamFlow
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* When it connected, another channel of the client measured @path_rate bytes per second on the
     * path, and @path_delay microseconds of a round trip (0: unknown). Either may be wrong. */
    void expect(uint64_t path_rate, uint32_t path_delay)
    {
        expected_rate = path_rate;
        expected_delay = path_delay;
    }

    /* A message of @bytes (with its header) was written to the stream. */
    void sent(uint64_t now, uint32_t bytes);

    /* MIGRATE is queued. Behind it the client expects MIGRATE_DATA and nothing else, so no probe
     * follows. */
    void migrate() { migrating = true; }

    /* Whether to send a probe now, as enough was sent since the last one. To be called after
     * each message. */
    bool wants_probe() const;

    /* The id of the next probe. */
    uint32_t get_next_probe() const { return probe_end | RED_STREAM_FLOW_PROBE; }

    /* That probe, of @bytes, was written to the stream (do not call sent() for it). */
    void probe_sent(uint64_t now, uint32_t bytes);

    /* A pong with @id has come: the client has handled all that was sent before the probe.
     * Returns false if no such probe is in flight. */
    bool pong_received(uint64_t now, uint32_t id);

    /* The client has acked @messages more, at most as many as were sent. */
    void acked(uint64_t now, uint32_t messages);

    /* Sending has stopped (@stopped) or goes on. Returns the milliseconds after which the caller
     * must call timer(), 0: no timer is needed, or one is running. @now is used only if
     * @stopped. */
    uint32_t set_stopped(uint64_t now, bool stopped);
    /* Returns as set_stopped(). @has_timed_out becomes true if the probe timeout is over: then ask
     * may_send() again. */
    uint32_t timer(uint64_t now, bool *has_timed_out);

    /* The pipe is empty although the limit allows more. */
    void starved();

    /* Whether another message may be sent now. @slack: upstream's limit allows it. If this returns
     * false, either upstream's limit forbids it as well, or a probe is in flight. */
    bool may_send(bool slack) const;

    /* The probe timeout in microseconds. */
    uint32_t get_probe_timeout() const;

    /* Whether the bytes in flight keep the path busy for the next few milliseconds. */
    bool is_path_busy() const;

    /* The rate of the path in bytes per second and its delay in microseconds, as measured by
     * pongs; 0 if unknown. The rate is unknown until it has stopped growing. */
    uint64_t get_path_rate() const { return is_growing() ? 0 : rate; }
    uint32_t get_path_delay() const { return delay; }

    /* A ping that is no probe, with nothing before it, was answered after @delay microseconds. The
     * pong of a probe comes when the client has decoded what was before it. */
    void ping_answered(uint32_t delay);
    /* Whether the client is on this host, see RED_STREAM_FLOW_LOCAL_DELAY: a ping was answered
     * within that, and the rate is still growing or high enough. */
    bool is_local() const
    {
        return is_near &&
               (is_growing() || rate * RED_STREAM_FLOW_LOCAL_DELAY >=
                                uint64_t{RED_STREAM_FLOW_INITIAL} * G_USEC_PER_SEC);
    }

    /* The rate in bytes per second at which the kernel is to pace while a message larger than the
     * BDP is in flight, as the limit holds back whole messages only. 0: no such message, or the
     * rate is unknown. At least the rate given to expect(), as a client that did not read for a
     * while shows a low rate. */
    uint64_t get_pace() const;

    /* For traces and tests: bytes in flight, their limit, and the estimated rate in bytes per
     * second, also while it grows. */
    uint64_t bytes_in_flight() const { return counted_bytes - counted_acked; }
    uint64_t limit() const;
    uint64_t get_rate() const { return rate; }
    /* number of probe timeouts */
    uint32_t get_probe_timeouts() const { return probe_timeouts; }
    /* A constant: "starting", "growing" (OPEN, until the rate has stopped growing), "steady" (OPEN
     * after that), "remeasuring", "restarted", "timeout" or "off". */
    const char *get_phase() const;

private:
    /* see the table at the top */
    enum Phase { STARTING, OPEN, REMEASURING, RESTARTED, TIMED_OUT, OFF };
    struct PhaseRules;

    struct Probe {
        /* bytes since the previous probe */
        uint64_t bytes;
        /* when it was sent; and totals then: bytes sent, bytes counted, messages */
        uint64_t sent_bytes;
        uint64_t counted_bytes;
        uint64_t messages;
        uint64_t sent_time;
        /* bytes of messages larger than the BDP that were in flight before it and do not count */
        uint64_t uncounted;
        /* at the time it was sent: bytes confirmed by pongs, the arrival time of the latest of
         * these pongs, and the send time of that pong's probe */
        uint64_t acked_bytes;
        uint64_t acked_time;
        uint64_t acked_sent_time;
        /* the pipe was empty before it */
        bool starved;
        /* REMEASURING: so little was in front of it that there was no queue */
        bool unqueued;
    };

    bool update_delay(uint64_t now, const Probe *probe);
    void add_shortest(uint64_t now, uint32_t sample);
    void update_bunches(uint64_t now, const Probe *probe);
    uint64_t bunches_limit() const;
    uint64_t longest_delay() const;
    void update_rate(uint64_t now, const Probe *probe, bool queued);
    void update_restart(uint64_t now, bool queued);
    void start_again(uint64_t now);
    void next_round();
    void check_overtaken(uint64_t now);
    void remeasured(uint64_t now);
    void check_full_rate();
    const PhaseRules &rules() const;
    /* the rate has not stopped growing: it may be higher than pongs have shown */
    bool is_growing() const { return full_rounds < RED_STREAM_FLOW_TRIES; }
    bool has_room() const;
    bool is_longer() const;
    bool is_far_longer() const;
    uint64_t bdp() const;
    uint64_t full_bdp() const;
    uint64_t covered_since_restart() const;
    uint64_t remeasuring_bdp() const;
    uint32_t in_flight() const { return probe_end - probe_begin; }

    /* Probes in flight, a ring indexed by numbers that only grow: enough for eight BDPs, and a
     * power of 2, as the ids wrap around. */
    Probe probes[128];
    uint32_t probe_begin = 0;
    uint32_t probe_end = 0;
    /* bytes sent and bytes counted up to the last probe, and when the first byte after it was
     * sent */
    uint64_t probed_bytes = 0;
    uint64_t probed_counted = 0;
    uint64_t span_time = 0;

    uint64_t sent_bytes = 0;
    uint64_t acked_bytes = 0;
    /* the same, but messages larger than the BDP count in part */
    uint64_t counted_bytes = 0;
    uint64_t counted_acked = 0;
    uint64_t acked_time = 0;
    uint64_t acked_sent_time = 0;
    /* bytes sent when the pipe was last empty; pongs of probes up to here show less than the
     * path's rate */
    uint64_t starved_until = 0;
    /* bytes sent up to the end of the last message larger than the BDP */
    uint64_t large_until = 0;
    /* given to expect(); 0: unknown */
    uint64_t expected_rate = 0;
    uint32_t expected_delay = 0;

    /* messages sent, and messages that the client has acked */
    uint64_t messages = 0;
    uint64_t acked_messages = 0;

    Phase phase = STARTING;
    /* TIMED_OUT: so many pongs are to come until flow control resumes */
    uint32_t untrusted_pongs = 0;
    uint32_t probe_timeouts = 0;
    /* when the client first acked a message behind a probe that it has not answered, 0: has not */
    uint64_t overtaken_time = 0;
    bool migrating = false;
    /* since when the BDP has stopped sending without a pong, 0: it has not */
    uint64_t stopped_time = 0;
    bool timer_runs = false;

    /* microseconds, 0: unknown */
    uint32_t delay = 0;
    uint64_t delay_time = 0;
    /* the shortest time to a pong since shortest_time, and in the RED_STREAM_FLOW_AGE before */
    uint32_t shortest = UINT32_MAX;
    uint32_t shortest_before = UINT32_MAX;
    uint64_t shortest_time = 0;
    /* when the first pong of the latest bunch came, and what was counted up to its probe */
    uint64_t bunch_time = 0;
    uint64_t bunch_begin = 0;
    /* Bytes that came in one of the last periods, those of them in bunches, and the most in one
     * bunch. The current period, and when it began. */
    struct Period {
        uint64_t bytes;
        uint64_t bunched;
        uint64_t largest;
    } periods[RED_STREAM_FLOW_ROUNDS] = { };
    uint32_t period = 0;
    uint64_t period_time = 0;
    /* all pongs of this round trip showed a queue; or came later than the BDP explains */
    bool round_queued = false;
    bool round_late = false;
    /* successive round trips of the second kind that showed less than the rate */
    uint32_t late_rounds = 0;
    /* REMEASURING: because of these */
    bool is_late = false;

    /* bytes per second: the estimate, and the highest sample of each of the last round trips */
    uint64_t rate = 0;
    uint64_t rates[RED_STREAM_FLOW_ROUNDS] = { };
    uint64_t round = 0;
    uint64_t round_end = 0;
    /* RESTARTED: the limit in bytes at first, the time of the restart, and the bytes sent before
     * it */
    uint64_t restart = 0;
    uint64_t restart_time = 0;
    uint64_t restart_begin = 0;

    /* a ping was answered within RED_STREAM_FLOW_LOCAL_DELAY */
    bool is_near = false;

    /* the highest rate so far, and round trips in which it has not grown much */
    uint64_t full_rate = 0;
    uint32_t full_rounds = 0;
};

#include "pop-visibility.h"

#endif /* RED_STREAM_FLOW_H_ */
