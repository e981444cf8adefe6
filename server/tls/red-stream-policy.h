/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes and settings of streams (SPICE_STREAM), and decisions that depend on the link: record size.
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

/* The mode if SPICE_STREAM names none, unless the build defines another. */
#ifndef RED_STREAM_DEFAULT
#define RED_STREAM_DEFAULT "batch"
#endif

/* Largest plaintext of a TLS record (RFC 8446, section 5.1). */
#define RED_STREAM_RECORD_MAX 16384

/* A way to send. Modes are global objects of the modules that implement them; the parser knows all
 * that are linked. */
struct RedStreamMode {
    /* @without: the name of a setting that this mode does not have */
    RedStreamMode(const char *name, bool cork, bool batch, const char *without = nullptr);
    RedStreamMode(const RedStreamMode &) = delete;

    const char *const name;
    /* TCP_CORK around the messages of a send turn (one call of push()) */
    const bool cork;
    /* messages share buffers, system calls and TLS records: there is a RedStreamEgress. Without it
     * upstream's code sends. */
    const bool batch;
    const char *const without;
    const RedStreamMode *const next;
};

/* as releases send */
extern const RedStreamMode red_stream_mode_cork;
extern const RedStreamMode red_stream_mode_batch;

#define RED_STREAM_MAX_SETTINGS 16

/* The mode and the value of each setting. */
struct RedStreamPolicy {
    const RedStreamMode *mode;
    uint32_t values[RED_STREAM_MAX_SETTINGS];
};

/* A setting, NAME=VALUE in SPICE_STREAM. As a mode, it is a global object of the module that it
 * belongs to. */
class RedStreamSetting
{
public:
    /* on or off; on in the mode called @on_in unless SPICE_STREAM says otherwise */
    explicit RedStreamSetting(const char *name, const char *on_in = nullptr);
    /* a number from @min to @max, or the word @word, which is @meaning; at first @initial */
    RedStreamSetting(const char *name, uint32_t min, uint32_t max, uint32_t initial,
                     const char *word = nullptr, uint32_t meaning = 0);
    RedStreamSetting(const RedStreamSetting &) = delete;

    /* The value in @policy; of a switch 0 is off, 1 on. */
    uint32_t get(const RedStreamPolicy *policy) const { return policy->values[index]; }
    /* Set the default, which of some settings depends on the mode of @policy. */
    void reset(RedStreamPolicy *policy) const;
    /* Returns false, leaving @policy, if that is no value of this setting. */
    bool set(RedStreamPolicy *policy, const char *value) const;
    /* "on|off", "N" or such */
    std::string get_syntax() const;

    const char *const name;
    const RedStreamSetting *const next;

private:
    const unsigned index;
    const bool is_switch;
    const char *const on_in;
    const uint32_t min, max, initial;
    const char *const word;
    const uint32_t meaning;
};

/* Plaintext bytes per TLS record, 0: by red_stream_policy_record_size. */
extern const RedStreamSetting red_stream_setting_record;

/* Fill @policy from a text like "batch,record=4096": the name of a mode, and settings. Without a
 * mode that of @policy stays.
 *
 * A word that is unknown or out of range is ignored: it is appended to @ignored, in quotes,
 * and the other words count. Returns true if no word was ignored.
 */
bool red_stream_policy_parse(const char *text, RedStreamPolicy *policy,
                             std::string *ignored = nullptr);

/* What the environment variable SPICE_STREAM says, or the default mode. Words that cannot be used
 * cause a warning. */
RedStreamPolicy red_stream_policy_from_environment();

/* The policy of this process: the same, read once. It is in red-stream.cpp, so that a program which
 * calls it has all modes and settings linked. Any thread. */
const RedStreamPolicy *red_stream_policy_get();

/* A link as TCP measures it, from struct tcp_info; the last two members are from the channel. */
struct RedStreamLink {
    /* payload bytes per segment */
    uint32_t mss;
    /* congestion window, segments */
    uint32_t cwnd;
    /* microseconds, smoothed and minimum, 0 if unknown */
    uint32_t rtt;
    uint32_t min_rtt;
    /* bytes per second, 0 if unknown */
    uint64_t delivery_rate;
    /* segments in flight */
    uint32_t unacked;
    /* bytes in the kernel that are not sent, 0 if unknown */
    uint32_t unsent;
    /* delivery_rate is limited by what the sender had to send, not by the path */
    bool app_limited;
    /* microseconds since the last data was sent, and the retransmission timeout */
    uint32_t idle;
    uint32_t rto;
    /* bytes per second and microseconds of the whole path, as the client's answers show them, see
     * red_stream_set_path; 0 if unknown */
    uint64_t path_rate;
    uint32_t path_delay;
};

/* Microseconds for which a RedStreamLink is recent enough. TCP's window changes once per round
 * trip; below 5 ms records have the maximum size anyway. */
#define RED_STREAM_LINK_PERIOD 5000

/* Whether TCP_INFO describes the first hop only: answers take more than twice TCP's round trip plus
 * RED_STREAM_SLACK. False while path_delay is unknown. */
bool red_stream_policy_is_first_hop(const RedStreamLink *link);

/* Microseconds: how much later than an idle client a busy one may answer. Without this allowance
 * each message to a user on a LAN would wait for an answer. */
#define RED_STREAM_SLACK 5000

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

/* Microseconds: the longest delay that users do not see. After it a send turn sends what is ready,
 * see red-channel-client.cpp. With half, images that take long to compress share fewer packets;
 * with twice the value, users see the messages before them 25 ms later. It is also the longest
 * queue on the path: with less, the jitter of Wi-Fi counts as a queue; with more, sound and keys
 * wait longer behind a queue. */
#define RED_STREAM_UNNOTICED 25000

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
