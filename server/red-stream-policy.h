/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a stream does with the bytes it is given: pure decisions.
 *
 * Everything here is a function of its arguments (the environment is read by
 * one function only), so that it can be tested without a socket.
 */
#ifndef RED_STREAM_POLICY_H_
#define RED_STREAM_POLICY_H_

#include <cstddef>
#include <cstdint>

#include "push-visibility.h"

/* The mode where SPICE_STREAM names none; the build's option stream-mode may be another. */
#ifndef RED_STREAM_DEFAULT
#define RED_STREAM_DEFAULT "flow"
#endif

/* Largest plaintext of a TLS record (RFC 8446, section 5.1). */
#define RED_STREAM_RECORD_MAX 16384

enum RedStreamMode {
    RED_STREAM_MODE_NORMAL,
    RED_STREAM_MODE_GATHER,
    RED_STREAM_MODE_CORK,
    RED_STREAM_MODE_MORE,
    RED_STREAM_MODE_WINDOW,
    RED_STREAM_MODE_BATCH,
    RED_STREAM_MODE_FLOW,
};

/* One row of the table of modes, with the settings that can be changed on it.
 *
 *   normal  one system call a message, one TLS record an iovec
 *   gather  as normal, but a small message is one TLS record
 *   cork    TCP_CORK around the messages of a drain
 *   more    MSG_MORE on every message of a drain but the last, no setsockopt
 *   window  cork, and more messages in flight
 *   batch   messages share buffers, system calls and TLS records
 *   flow    batch, and as much in flight as the path carries
 */
struct RedStreamPolicy {
    RedStreamMode mode;
    const char *name;
    /* a message of at most gather_threshold bytes is one TLS record */
    bool gather;
    bool cork;
    /* pass "another message follows at once" to the kernel */
    bool more;
    bool batch;
    /* the number of messages in flight follows the path, see red-stream-flow.h */
    bool flow;
    /* bytes, 1 to RED_STREAM_RECORD_MAX */
    uint32_t gather_threshold;
    /* plaintext bytes of a TLS record in batch, 0: by red_stream_policy_record_size */
    uint32_t record_size;
    /* messages that may wait for the client's ack, 0: twice the ack interval,
     * which is upstream's rule */
    uint32_t window;
    /* show a client that the path does not keep up with what is there by then instead of
     * all that was drawn, see red-catch-up.h */
    bool catch_up;
};

/* Fill @policy from a text like "batch,record=auto,window=400".
 *
 *   <mode>          a name of the table above
 *   threshold=N     gather_threshold
 *   record=auto|N   record_size, 512 to RED_STREAM_RECORD_MAX
 *   window=N        window, 80 to 100000
 *   catchup=on|off  catch_up
 *
 * Returns false, leaving @policy as it was, if the text is not of this form.
 */
bool red_stream_policy_parse(const char *text, RedStreamPolicy *policy);

/* The policy of this process: the environment variable SPICE_STREAM, read once,
 * or the default mode. A value that can't be used is warned of and ignored.
 * Any thread.
 */
const RedStreamPolicy *red_stream_policy_get();

/* What is known about a link: by TCP, from struct tcp_info, and the last two by the channel. */
struct RedStreamLink {
    /* payload bytes of a segment */
    uint32_t mss;
    /* segments */
    uint32_t cwnd;
    /* the window grows with every ack until something is lost or late */
    bool slow_start;
    /* microseconds, 0 if not known */
    uint32_t rtt;
    /* bytes a second, 0 if not known */
    uint64_t delivery_rate;
    /* the sender, not the path, set delivery_rate */
    bool app_limited;
    /* microseconds since the last data was sent, and the retransmission timeout */
    uint32_t idle;
    uint32_t rto;
    /* segments with data since the connection was made, and how many of them were sent
     * again, 0 if not known */
    uint64_t segments;
    uint64_t retransmits;
    /* bytes a second at which the client was seen to receive (RedStreamFlow::get_path_rate),
     * 0 if not known */
    uint64_t path_rate;
    /* microseconds that the channel takes to make a message (RedStreamFlow::get_making_time) */
    uint32_t making_time;
};

/* How many bytes to put in a TLS record on this link.
 *
 * Nothing of a record can be read before its last byte has arrived, so on a slow
 * link a large record delays its first message. Returns the bytes that the link
 * delivers within RED_STREAM_RECORD_BUDGET, at least what fits one segment and
 * at most RED_STREAM_RECORD_MAX.
 */
size_t red_stream_policy_record_size(const RedStreamLink *link);

/* microseconds */
#define RED_STREAM_RECORD_BUDGET 10000

/* Bytes a second that this link was seen to take: what TCP saw delivered and, while it is in
 * slow start and has found no end to what the path carries, its window in a round trip. The
 * link may be faster, hardly slower. 0 if TCP does not say. */
uint64_t red_stream_policy_seen_rate(const RedStreamLink *link);

/* While there is nothing to send yet on a new connection, bytes that mean nothing make its
 * congestion window grow: RFC 5681 3.1 adds to it in slow start what is acked. Returns what the
 * window lets go at once, but for a segment, and at most RED_STREAM_WARM_UP_MAX. 0 if that would
 * gain little or cost more than it gains: on a path that carries (@carries bytes a round trip)
 * less than four such windows, out of slow start, or if TCP does not say. */
uint32_t red_stream_policy_warm_up_size(const RedStreamLink *link, uint64_t carries);

/* bytes; Linux' initial window of 10 segments (RFC 6928), and some more */
#define RED_STREAM_WARM_UP_MAX (32 * 1024)

/* How many bytes that are not sent the kernel should hold for this link: enough to keep
 * it busy until the channel's thread comes back, no more, as what is there can't be
 * dropped any more. Returns what the link delivers within RED_STREAM_UNSENT_BUDGET and the
 * time that making a message takes, of which RED_STREAM_MAKING_MAX counts, from
 * RED_STREAM_UNSENT_MIN to RED_STREAM_UNSENT_MAX bytes. */
uint32_t red_stream_policy_unsent_limit(const RedStreamLink *link);

/* microseconds */
#define RED_STREAM_UNSENT_BUDGET 20000
#define RED_STREAM_MAKING_MAX 100000
/* bytes */
#define RED_STREAM_UNSENT_MIN (16 * 1024)
#define RED_STREAM_UNSENT_MAX (1024 * 1024)

/* How fast TCP may send, so that a large picture on a slow line does not overflow the queue
 * before it: TCP without pacing sends what its window allows at once, and what is lost of
 * that is sent again, up to a sixth of all bytes. The rate is what the path was seen to
 * deliver, and a little more, so that it can be seen to deliver more.
 *
 * Only what TCP measured with enough to send counts (struct tcp_info says so), and not in
 * slow start: a rate learnt from a trickle would hold up the next picture. Pacing costs
 * timers, so it begins where much is lost, and stays.
 */
class RedStreamPacing
{
public:
    /* Take what TCP says of the link at @now (microseconds of a monotonic clock). */
    void update(uint64_t now, const RedStreamLink *link);

    /* Bytes a second, 0: as fast as TCP likes. */
    uint64_t get_rate() const;

private:
    /* bytes a second, the highest ones of this period and of the one before */
    uint64_t best = 0;
    uint64_t best_before = 0;
    uint64_t period_end = 0;
    /* much was lost */
    bool lossy = false;
};

/* microseconds */
#define RED_STREAM_PACING_PERIOD (5 * 1000 * 1000)
/* Segments: so many were sent again, and one of so many. */
#define RED_STREAM_PACING_RETRANSMITS 16
#define RED_STREAM_PACING_ONE_OF 32
#define RED_STREAM_PACING_GAIN_PERCENT 125

/* How many bytes to put in the next record when @pending are to be sent of which
 * the last message is the part from @last_message on, in records of at most
 * @record_size bytes.
 *
 * No more than one message ends in the last record of a flush: spice-gtk (0.42 at
 * least) goes on reading while the raw socket is readable and does not ask
 * SSL_pending, so of two messages ending in the last record it would see the
 * second only when something else arrives.
 *
 * @pending is not 0 and @last_message is less than @pending.
 */
static inline size_t
red_stream_policy_next_record(size_t pending, size_t last_message, size_t record_size)
{
    if (pending > record_size) {
        return record_size;
    }
    return last_message ? last_message : pending;
}

#include "pop-visibility.h"

#endif /* RED_STREAM_POLICY_H_ */
