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
#include <string>

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
 *   flow    batch, as much in flight as the path carries, and a client that is behind is
 *           shown what is there by now (catch_up); what moves on the screen is copied (display)
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
     * which is upstream's rule; not with flow */
    uint32_t window;
    /* microseconds that drawings may wait for more, with batch; RED_STREAM_HOLD_AUTO: by
     * red_stream_policy_hold_budget */
    uint32_t hold;
    /* show a client that the path does not keep up with what is there by then instead of
     * all that was drawn, see red-catch-up.h */
    bool catch_up;
    /* the kernel makes the TLS records where it can, see red-stream-ktls.h */
    bool ktls;
    /* have the kernel tell when a flush was acked, see red-stream-timestamps.h */
    bool timestamps;
    /* bytes, more are read by the kernel from where they are, see red-stream-zerocopy.h; 0: off */
    uint32_t zerocopy;
    /* with catch_up: all that was sent with losses is sent again without them, not only what
     * catching up has sent so */
    bool exact;
    /* find what moved on the screen and what is equal, see display-motion.h */
    bool display;
};

#define RED_STREAM_HOLD_AUTO UINT32_MAX

/* bytes; what is smaller costs more to hold than to copy, and may be written to again */
#define RED_STREAM_ZEROCOPY_MIN 4096
#define RED_STREAM_ZEROCOPY_LIMIT (16 * 1024 * 1024)

/* Fill @policy from a text like "batch,record=auto,window=400".
 *
 *   <mode>          a name of the table above
 *   threshold=N     gather_threshold
 *   record=auto|N   record_size, 512 to RED_STREAM_RECORD_MAX
 *   window=N        window, 80 to 100000, not with flow
 *   hold=auto|N     hold, 0 (nothing waits) to RED_STREAM_HOLD_LIMIT
 *   catchup=on|off  catch_up, on in flow
 *   exact=on|off    exact
 *   display=on|off  display, on in flow
 *   ktls=on|off     ktls
 *   timestamps=on|off  timestamps
 *   zerocopy=N|off  zerocopy, RED_STREAM_ZEROCOPY_MIN to RED_STREAM_ZEROCOPY_LIMIT
 *
 * Each word that is none of these, is out of its range, or belongs to a series that the
 * library was built without, is left out: it is appended to @ignored, quoted, and the rest
 * counts. Where the mode is left out, the one that @policy has goes on. Returns whether
 * nothing was left out.
 */
bool red_stream_policy_parse(const char *text, RedStreamPolicy *policy,
                             std::string *ignored = nullptr);

/* The policy of this process: the environment variable SPICE_STREAM, read once,
 * or the default mode. A value that can't be used is warned of and ignored.
 * Any thread.
 */
const RedStreamPolicy *red_stream_policy_get();

/* What is known about a link: by TCP, from struct tcp_info, and the last two by the channel.
 *
 * TCP knows the first hop only. Behind a relay on the server's host (a proxy, an ssh tunnel)
 * that is not the path: see red_stream_policy_is_first_hop. */
struct RedStreamLink {
    /* payload bytes of a segment */
    uint32_t mss;
    /* segments */
    uint32_t cwnd;
    /* the window grows with every ack until something is lost or late */
    bool slow_start;
    /* microseconds, now and at best, 0 if not known */
    uint32_t rtt;
    uint32_t min_rtt;
    /* bytes a second, 0 if not known */
    uint64_t delivery_rate;
    /* segments sent that are not acked */
    uint32_t unacked;
    /* bytes that the kernel has taken and not sent, 0 if not known */
    uint32_t unsent;
    /* the sender, not the path, set delivery_rate */
    bool app_limited;
    /* microseconds since the last data was sent, and the retransmission timeout */
    uint32_t idle;
    uint32_t rto;
    /* bytes a second and microseconds as the client's answers show them
     * (RedStreamFlow::get_path_rate and get_path_delay), 0 if not known */
    uint64_t path_rate;
    uint32_t path_delay;
};

/* Whether TCP's round trip is only a part of the path's, so that what it says of the link is
 * not true of the path: the client's answers take more than twice as long, and
 * RED_STREAM_HOP_SLACK more. False while path_delay is not known. */
bool red_stream_policy_is_first_hop(const RedStreamLink *link);

/* microseconds: a client that is busy answers late */
#define RED_STREAM_HOP_SLACK 5000

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
 * link may be faster, hardly slower. 0 if TCP does not say, or speaks of the first hop only. */
uint64_t red_stream_policy_seen_rate(const RedStreamLink *link);

/* How many bytes that are not sent the kernel should hold for this link: enough to keep
 * it busy until the channel's thread has made the next picture, no more, as what is there
 * can't be dropped any more. Returns what the link delivers within RED_STREAM_UNSENT_BUDGET,
 * from RED_STREAM_UNSENT_MIN to RED_STREAM_UNSENT_MAX bytes. */
uint32_t red_stream_policy_unsent_limit(const RedStreamLink *link);

/* microseconds: compressing a picture of 1 MB takes about as long */
#define RED_STREAM_UNSENT_BUDGET 50000
/* bytes */
#define RED_STREAM_UNSENT_MIN (8 * 1024)
#define RED_STREAM_UNSENT_MAX (1024 * 1024)

/* Bytes a second at which the kernel should send a message longer than a flight over a path that
 * takes @rate for certain (0: not known), 0: as it likes. Left alone TCP fills whatever queue a
 * router has: sound and keys wait behind it, and what the router does not keep is sent again. So
 * a tenth more than the path is known to take, and less as long as more is in flight than a tenth
 * above what fills it. Not on a path of less than RED_STREAM_PACED_DELAY, whose queues
 * nobody notices, nor behind a relay, of whose queue TCP does not know. */
uint64_t red_stream_policy_pace(const RedStreamLink *link, uint64_t rate);

/* microseconds */
#define RED_STREAM_PACED_DELAY 20000

/* How many microseconds a drawing may wait for others, on a path with a round trip of
 * @delay microseconds (0: not known): a twelfth of it, which nobody sees, from
 * RED_STREAM_HOLD_MIN to RED_STREAM_HOLD_MAX. */
uint32_t red_stream_policy_hold_budget(const RedStreamPolicy *policy, uint32_t delay);

/* microseconds */
#define RED_STREAM_HOLD_MIN 2000
#define RED_STREAM_HOLD_MAX 4000
#define RED_STREAM_HOLD_LIMIT 20000

/* When drawings wait for each other. A guest draws in bursts, and each drawing that leaves by
 * itself is a record, a packet, and soon an ack. So what follows something that has just left
 * waits for what follows it in turn, for the budget; what comes after a pause leaves at once.
 *
 * Whoever calls begin() sees to it that all leaves at deadline(), whatever happens
 * elsewhere. Microseconds of a monotonic clock. */
class RedStreamHold
{
public:
    /* There is something to send at @now that may wait for @budget. Returns whether it
     * should: then deadline() is set, if it is not already. */
    bool begin(uint64_t now, uint32_t budget);
    /* All there was has left at @now. */
    void left(uint64_t now);
    /* When all must leave, 0: nothing waits. */
    uint64_t deadline() const { return until; }
    bool active() const { return until != 0; }

private:
    uint64_t last = 0;
    uint64_t until = 0;
};

/* After so many budgets without anything that left it was a pause. */
#define RED_STREAM_HOLD_PAUSE 4

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
