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
#define RED_STREAM_DEFAULT "batch"
#endif

/* Largest plaintext of a TLS record (RFC 8446, section 5.1). */
#define RED_STREAM_RECORD_MAX 16384

/* A mode, with the settings that can be changed on it.
 *
 *   normal  one system call a message, one TLS record an iovec
 *   gather  as normal, but a small message is one TLS record
 *   cork    TCP_CORK around the messages of a drain
 *   more    MSG_MORE on every message of a drain but the last, no setsockopt
 *   window  cork, and more messages in flight
 *   batch   messages share buffers, system calls and TLS records
 */
struct RedStreamPolicy {
    const char *name;
    /* a message of at most gather_threshold bytes is one TLS record */
    bool gather;
    bool cork;
    /* pass "another message follows at once" to the kernel */
    bool more;
    bool batch;
    /* bytes, 1 to RED_STREAM_RECORD_MAX */
    uint32_t gather_threshold;
    /* plaintext bytes of a TLS record in batch, 0: by red_stream_policy_record_size */
    uint32_t record_size;
    /* messages that may wait for the client's ack, 0: twice the ack interval,
     * which is upstream's rule */
    uint32_t window;
};

/* Fill @policy from a text like "batch,record=auto,window=400".
 *
 *   <mode>          a name of the table above
 *   threshold=N     gather_threshold
 *   record=auto|N   record_size, 512 to RED_STREAM_RECORD_MAX
 *   window=N        window, 80 to 100000
 *
 * Each word that is none of these or is out of its range is left out: it is appended to
 * @ignored, quoted, and the rest counts. Where the mode is left out, the one that @policy has
 * goes on. Returns whether nothing was left out.
 */
bool red_stream_policy_parse(const char *text, RedStreamPolicy *policy,
                             std::string *ignored = nullptr);

/* The policy of this process: the environment variable SPICE_STREAM, read once,
 * or the default mode. What can't be used of it is warned of and ignored.
 * Any thread.
 */
const RedStreamPolicy *red_stream_policy_get();

/* What TCP knows of a link, from struct tcp_info. */
struct RedStreamLink {
    /* payload bytes of a segment */
    uint32_t mss;
    /* segments */
    uint32_t cwnd;
    /* microseconds, 0 if not known */
    uint32_t rtt;
    /* bytes a second, 0 if not known */
    uint64_t delivery_rate;
    /* the sender, not the path, set delivery_rate */
    bool app_limited;
    /* microseconds since the last data was sent, and the retransmission timeout */
    uint32_t idle;
    uint32_t rto;
};

/* Bytes a second that the window lets go, and that the link carries; 0 if not known. */
uint64_t red_stream_policy_window_rate(const RedStreamLink *link);
uint64_t red_stream_policy_link_rate(const RedStreamLink *link);

/* How many bytes to put in a TLS record on this link.
 *
 * Nothing of a record can be read before its last byte has arrived, so on a slow
 * link a large record delays its first message. Returns the bytes that the link
 * delivers within RED_STREAM_RECORD_BUDGET, at least what fits one segment and
 * at most RED_STREAM_RECORD_MAX.
 */
size_t red_stream_policy_record_size(const RedStreamLink *link);

/* microseconds. With twice as many a message on a slow line shows 10 ms later; with half,
 * a client on 2 Mbit/s gets twice the records. */
#define RED_STREAM_RECORD_BUDGET 10000

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
