/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings of a stream (SPICE_STREAM), and decisions that depend on them: record size, thresholds.
 *
 * All functions are pure (only one reads the environment), so that they can be tested without a
 * socket.
 */
#ifndef RED_STREAM_POLICY_H_
#define RED_STREAM_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "push-visibility.h"

/* The mode if SPICE_STREAM names none; the build option stream-mode overrides it. */
#ifndef RED_STREAM_DEFAULT
#define RED_STREAM_DEFAULT "batch"
#endif

/* Largest plaintext of a TLS record. */
#define RED_STREAM_RECORD_MAX 16384     /* fact: RFC 8446, section 5.1 */

/* A mode, with the settings that can be changed on it.
 *
 *   normal  one system call per message, one TLS record per iovec
 *   gather  as normal, but one TLS record per small message
 *   cork    TCP_CORK around the messages of a send turn (one call of push())
 *   more    MSG_MORE on every message of a send turn but the last, no setsockopt
 *   window  cork, and more messages in flight
 *   batch   messages share buffers, system calls and TLS records
 */
struct RedStreamPolicy {
    const char *name;
    /* whether there is a RedStreamEgress; without it upstream's code sends */
    bool buffered() const { return gather || more; }
    /* a message of at most gather_threshold bytes is one TLS record */
    bool gather;
    bool cork;
    /* pass RED_STREAM_MORE to the kernel as MSG_MORE; also in batch */
    bool more;
    bool batch;
    /* bytes, 1 to RED_STREAM_RECORD_MAX */
    uint32_t gather_threshold;
    /* plaintext bytes per TLS record in batch, 0: by red_stream_policy_record_size */
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
 *   window=N        window, 1 or more
 *
 * A word that is unknown or out of range is ignored: it is appended to @ignored, in quotes,
 * and the other words count. The mode may be missing; then that of @policy stays. Returns true if
 * no word was ignored.
 */
bool red_stream_policy_parse(const char *text, RedStreamPolicy *policy,
                             std::string *ignored = nullptr);

/* The policy of this process: the environment variable SPICE_STREAM, read once,
 * or the default mode. Words that cannot be used cause a warning.
 * Any thread.
 */
const RedStreamPolicy *red_stream_policy_get();

/* A link as TCP measures it, from struct tcp_info. */
struct RedStreamLink {
    /* payload bytes per segment */
    uint32_t mss;
    /* congestion window, segments */
    uint32_t cwnd;
    /* microseconds, 0 if unknown */
    uint32_t rtt;
    /* bytes per second, 0 if unknown */
    uint64_t delivery_rate;
    /* delivery_rate is limited by what the sender had to send, not by the path */
    bool app_limited;
    /* microseconds since the last data was sent, and the retransmission timeout */
    uint32_t idle;
    uint32_t rto;
};

/* The link's rate in bytes per second, 0 if unknown. */
uint64_t red_stream_policy_link_rate(const RedStreamLink *link);

/* How many bytes to put in a TLS record on this link.
 *
 * The peer can read a record only when its last byte has arrived, so on a slow
 * link a large record delays its first message. Returns the bytes that the link
 * delivers within RED_STREAM_RECORD_BUDGET, at least what fits one segment and
 * at most RED_STREAM_RECORD_MAX.
 */
size_t red_stream_policy_record_size(const RedStreamLink *link);

/* Microseconds. With twice the value users of slow links see a message up to 10 ms later; with
 * half, there are twice as many records at 2 Mbit/s. */
#define RED_STREAM_RECORD_BUDGET 10000

/* Microseconds after which a send turn (one call of push()) sends what is ready, see red-channel-client.cpp. With half,
 * images that take long to compress share fewer packets; with twice the value, users see the messages before them
 * 25 ms later. */
#define RED_STREAM_TURN_MAX 25000

/* How many bytes to put in the next record when @pending bytes are to be sent, in
 * records of at most @record_size bytes. The last message begins at @last_message.
 *
 * Only one message ends in the last record of a flush: spice-gtk (0.42 at least)
 * reads while the raw socket is readable and does not call SSL_pending. It would see
 * a second message in that record only when the next packet arrives.
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
