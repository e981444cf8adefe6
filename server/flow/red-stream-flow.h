/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much a channel may have in flight: what the path and the client carry, and little
 * more, so that what waits does so in the channel's pipe, where it can still be merged
 * or dropped, and not in front of a key's answer or of sound.
 *
 * Upstream stops after twice the number of messages that the client acks together, which
 * knows nothing of the path: at 100 ms it is 400 messages a second, and on a slow line it
 * may be seconds of stale picture. Those acks are left as they are, for every client counts
 * them in its own way. What is learnt comes from marks: SPICE_MSG_PING, which each client
 * answers with a PONG of the same number when it has handled all that went before. So a mark
 * has seen the whole path, whatever relays there are, and the client's decoder.
 *
 * The model is that of BBR (Cardwell et al., "BBR: Congestion-Based Congestion Control",
 * ACM Queue 14-5, 2016), applied to messages between this server and the client's
 * decoder instead of segments between two kernels:
 *
 *   rate       the highest number of bytes a second that marks have shown over the last
 *              RED_STREAM_FLOW_ROUNDS round trips. A round trip that began with nothing to
 *              send does not count, unless it shows more: so what comes after a pause leaves
 *              at the rate that the path was known to carry
 *   delay      the shortest time from sending a mark to its answer over
 *              RED_STREAM_FLOW_DELAY_AGE; when that is too old, or was far exceeded all
 *              through a round trip, one with so little in flight that there is no
 *              queue measures it anew
 *
 * At most rate * delay * gain bytes may be in flight, with a gain of 1.75 until the rate stops
 * growing or the delay shows a queue, and a little above 1 from then on, which lets the estimate
 * follow a path that has become faster. The client is part of the path: one that decodes slowly
 * shows a low rate, and gets a short queue.
 *
 * A message longer than a flight has mostly left the socket when the socket has taken its
 * end, though its mark comes after it; so no more than half a flight of it counts, lest the
 * path be idle for a round trip after each. The kernel is to hold back the rest, see get_pace().
 *
 * Nobody says that the path is still what it was when nothing has come back for
 * RED_STREAM_FLOW_RATE_AGE. BBR starts again at the old rate, paced, and TigerVNC with 16 KB after
 * two round trips. Here a quarter of a flight may be in flight then, and as much more as is
 * answered, until that is a flight; an answer that shows a queue before has the rate learnt anew.
 *
 * Progress never depends on replies to our pings. Upstream's own rule holds, and flow only
 * allows more,
 *
 *   - until the first mark is answered;
 *   - when sending has stopped and nothing was answered for get_patience(), until some marks
 *     have been answered, and more of them each time that this happens again (silence). A long
 *     path takes its time: three round trips of it are no silence;
 *   - for good, when the client has acked what was sent after a mark, and has not answered
 *     that for RED_STREAM_FLOW_PATIENCE_MIN.
 *
 * No clock, socket or lock; times are microseconds of a monotonic clock. Not thread safe.
 */
#ifndef RED_STREAM_FLOW_H_
#define RED_STREAM_FLOW_H_

#include "red-common.h"

#include "push-visibility.h"

/* Marks in flight at the most; a full flight has up to twice RED_STREAM_FLOW_MOST_MARKS. */
#define RED_STREAM_FLOW_MARKS 128
#define RED_STREAM_FLOW_ROUNDS 10
/* microseconds */
#define RED_STREAM_FLOW_DELAY_AGE (30 * 1000 * 1000)
#define RED_STREAM_FLOW_PATIENCE_MIN (300 * 1000)
#define RED_STREAM_FLOW_PATIENCE_MAX (1000 * 1000)
/* of a path whose round trip is more than a third of that */
#define RED_STREAM_FLOW_PATIENCE_LONG (10 * 1000 * 1000)
#define RED_STREAM_FLOW_RATE_AGE (30 * 1000 * 1000)
/* of a path within this host: microseconds, and bytes a second */
#define RED_STREAM_FLOW_LOCAL_DELAY 1000
#define RED_STREAM_FLOW_LOCAL_RATE (50 * 1000 * 1000)
/* Set in the number of a mark, and not in one of upstream's pings, which have it from rand(). */
#define RED_STREAM_FLOW_MARK (UINT32_C(1) << 31)
/* Answers after which the client is asked to ack less often. */
#define RED_STREAM_FLOW_KNOWN 16

class RedStreamFlow
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* Another channel of the client has seen the path take @rate bytes a second. */
    void expect(uint64_t rate) { expected_rate = rate; }

    /* A message of @bytes (its header included) was given to the stream. */
    void sent(uint64_t now, uint32_t bytes);

    /* Whether a mark should be next: enough was sent since the last one. Ask after each
     * message. */
    bool wants_mark() const;

    /* The number of the mark that is sent next. */
    uint32_t get_next_mark() const { return mark_end | RED_STREAM_FLOW_MARK; }

    /* That mark, of @bytes, was given to the stream (do not call sent for it). */
    void mark_sent(uint64_t now, uint32_t bytes);

    /* The client has answered mark @id, so it has all that was sent before. Returns false if
     * no such mark is in flight. */
    bool answered(uint64_t now, uint32_t id);

    /* The client has acked @messages more, which is not more than it has received. */
    void acked(uint64_t now, uint32_t messages);

    /* Nothing has been heard for get_patience() since sending has stopped. */
    void silence(uint64_t now);

    /* There was nothing more to send though there could have been. */
    void starved();

    /* Whether a further message may be sent now. @slack: upstream's own rule allows it. If not, either
     * that rule forbids it, too, or a mark is in flight. */
    bool may_send(bool slack) const;

    /* Microseconds after which silence() is to be called if sending has stopped. */
    uint32_t get_patience() const;

    /* Whether so much is in flight that the path has enough to carry for the next few
     * milliseconds. */
    bool is_path_busy() const;

    /* True once: the client answers its marks, so its acks need only be few. */
    bool wants_fewer_acks();

    /* The rate of the path in bytes a second and its delay in microseconds, as the client's
     * answers show them; 0 as long as they are not known. The rate is when it has stopped
     * growing. */
    uint64_t get_path_rate() const { return growing ? 0 : rate; }
    uint32_t get_path_delay() const { return delay; }

    /* Whether answers show that the client is on this host: they come at once, and the path has
     * not been seen to carry less than memory does. */
    bool is_local() const
    {
        return !off && delay > 0 && delay <= RED_STREAM_FLOW_LOCAL_DELAY &&
               (growing || rate >= RED_STREAM_FLOW_LOCAL_RATE);
    }

    /* Bytes a second that the path takes for certain, while a message longer than a flight is in
     * flight, 0: not, or not known. The limit can hold back no part of such a message, so the
     * kernel should. Not less than what was expected: a client that did not read for a while
     * shows a low rate. */
    uint64_t get_pace() const;

    /* For traces and tests. */
    uint64_t bytes_in_flight() const { return counted_bytes - counted_acked; }
    uint64_t limit() const;
    uint64_t get_rate() const { return rate; }
    /* times that the client was silent */
    uint32_t get_silences() const { return silences; }
    const char *get_phase() const
    {
        return off ? "off" : silent ? "silent" : probing ? "probing" : growing ? "growing" :
               "steady";
    }

private:
    struct Mark {
        /* bytes since the mark before */
        uint64_t bytes;
        /* all bytes sent up to here, as sent and as counted, all messages, and when */
        uint64_t sent_bytes;
        uint64_t counted_bytes;
        uint64_t messages;
        uint64_t sent_time;
        /* bytes in flight before it that were not counted: of messages longer than a flight */
        uint64_t uncounted;
        /* what had been answered then, when, and when the last of that was sent */
        uint64_t acked_bytes;
        uint64_t acked_time;
        uint64_t acked_sent_time;
        /* the sender had nothing more to send */
        bool starved;
    };

    bool update_delay(uint64_t now, const Mark *mark);
    void update_rate(uint64_t now, const Mark *mark);
    void update_restart(uint64_t now, bool queued);
    void start_again(uint64_t now);
    void next_round();
    bool is_overtaken(uint64_t now) const;
    void check_full_rate();
    bool has_room() const;
    uint64_t flight() const;
    uint64_t full_flight() const;
    uint64_t answered_since_restart() const;
    uint64_t probing_flight() const;
    uint32_t in_flight() const { return mark_end - mark_begin; }

    /* marks in flight, a ring indexed by numbers that only grow */
    Mark marks[RED_STREAM_FLOW_MARKS];
    uint32_t mark_begin = 0;
    uint32_t mark_end = 0;
    /* bytes up to the last mark, as sent and as counted, and when the first after it was sent */
    uint64_t marked_bytes = 0;
    uint64_t marked_counted = 0;
    uint64_t span_time = 0;

    uint64_t sent_bytes = 0;
    uint64_t acked_bytes = 0;
    /* the same with large messages counted as far as they fill the path */
    uint64_t counted_bytes = 0;
    uint64_t counted_acked = 0;
    uint64_t acked_time = 0;
    uint64_t acked_sent_time = 0;
    /* bytes sent when there was nothing more to send; answers up to here say little */
    uint64_t starved_until = 0;
    /* all bytes up to the end of the last message longer than a flight */
    uint64_t large_until = 0;
    /* bytes a second, 0: not known */
    uint64_t expected_rate = 0;

    /* messages sent, and those that the client's own acks are for */
    uint64_t messages = 0;
    uint64_t acked_messages = 0;

    /* marks answered */
    uint32_t answers = 0;
    uint32_t silences = 0;
    bool silent = false;
    /* number of answers from which on the client is trusted again, and the power of 2 that it
     * takes since the silence */
    uint32_t trusted_from = 0;
    uint32_t doubt = 0;
    /* since when the client has acked what is behind a mark that it has not answered, or 0 */
    uint64_t overtaken_time = 0;
    bool off = false;
    bool fewer_acks = false;

    /* microseconds, 0: not known */
    uint32_t delay = 0;
    uint64_t delay_time = 0;
    bool probing = false;
    /* all marks of this round have met a queue */
    bool round_queued = false;

    /* bytes a second, and the highest one of each of the last rounds */
    uint64_t rate = 0;
    uint64_t rates[RED_STREAM_FLOW_ROUNDS] = { };
    uint64_t round = 0;
    uint64_t round_end = 0;
    /* bytes that may be in flight besides what has been answered since, 0: the rate is not old; since
     * when, and what had been sent before */
    uint64_t restart = 0;
    uint64_t restart_time = 0;
    uint64_t restart_begin = 0;

    /* growing until the rate does not grow for some rounds or the delay does */
    bool growing = true;
    uint64_t full_rate = 0;
    uint32_t full_rounds = 0;
};

#include "pop-visibility.h"

#endif /* RED_STREAM_FLOW_H_ */
