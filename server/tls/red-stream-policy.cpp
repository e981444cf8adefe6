/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <glib.h>

#include <common/log.h>

#include "red-stream-policy.h"


/* In 2017 the gain of gathering had levelled off at 1 KiB. */
#define DEFAULT_GATHER_THRESHOLD 1024

/* Twenty times upstream's interval between acks: 30 KB in flight on a text
 * console, 400 KB on a desktop. */
#define DEFAULT_WINDOW 400

#define MIN_RECORD_SIZE 512
/* Twice the widest ack interval. With less a client might owe no ack to a server
 * that waits for one. */
#define MIN_WINDOW 80
#define MAX_WINDOW 100000

/* A TLS record is longer than its plaintext by 22 bytes in TLS 1.3 and by 29 in
 * TLS 1.2 with AES-GCM. */
#define RECORD_OVERHEAD 29

/* What a sender may have in flight after a pause (RFC 6928). */
#define INITIAL_CWND 10

/* How much may be in flight, of what fills the path; and the pace, of the path's rate: up to that,
 * so that a path that has become faster shows, and above. */
#define PACED_FULL_PERCENT 110
#define PACED_UP_PERCENT 110
#define PACED_DOWN_PERCENT 60

/* The part of the round trip that a drawing may wait. */
#define HOLD_PART 12

/* Indexed by RedStreamMode. */
static const RedStreamPolicy modes[] = {
    /* mode                     name      gather cork   more   batch  flow */
    { RED_STREAM_MODE_NORMAL,  "normal", false, false, false, false, false,
      DEFAULT_GATHER_THRESHOLD, 0, 0, RED_STREAM_HOLD_AUTO, false, false, false, 0,
      false, false },
    { RED_STREAM_MODE_GATHER,  "gather", true,  false, false, false, false,
      DEFAULT_GATHER_THRESHOLD, 0, 0, RED_STREAM_HOLD_AUTO, false, false, false, 0,
      false, false },
    { RED_STREAM_MODE_CORK,    "cork",   false, true,  false, false, false,
      DEFAULT_GATHER_THRESHOLD, 0, 0, RED_STREAM_HOLD_AUTO, false, false, false, 0,
      false, false },
    { RED_STREAM_MODE_MORE,    "more",   false, false, true,  false, false,
      DEFAULT_GATHER_THRESHOLD, 0, 0, RED_STREAM_HOLD_AUTO, false, false, false, 0,
      false, false },
    { RED_STREAM_MODE_WINDOW,  "window", false, true,  false, false, false,
      DEFAULT_GATHER_THRESHOLD, 0, DEFAULT_WINDOW, RED_STREAM_HOLD_AUTO, false, false, false, 0,
      false, false },
    { RED_STREAM_MODE_BATCH,   "batch",  false, false, true,  true,  false,
      DEFAULT_GATHER_THRESHOLD, 0, 0, RED_STREAM_HOLD_AUTO, false, false, false, 0,
      false, false },
    { RED_STREAM_MODE_FLOW,    "flow",   false, false, true,  true,  true,
      DEFAULT_GATHER_THRESHOLD, 0, 0, RED_STREAM_HOLD_AUTO, true, false, false, 0,
      false, true },
};

/* Replace @value by the number in @text. Returns false if it isn't one from @min
 * to @max. */
static bool parse_number(const char *text, uint32_t min, uint32_t max, uint32_t *value)
{
    char *end;

    if (!g_ascii_isdigit(*text)) {
        return false;
    }
    guint64 number = g_ascii_strtoull(text, &end, 10);
    if (*end || number < min || number > max) {
        return false;
    }
    *value = number;
    return true;
}

/* Replace @value by what follows @name in @text, on or off. Returns false if it is neither. */
static bool parse_switch(const char *text, const char *name, bool *value)
{
    if (!g_str_has_prefix(text, name)) {
        return false;
    }
    text += strlen(name);
    if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0) {
        return false;
    }
    *value = strcmp(text, "on") == 0;
    return true;
}

/* Returns false, leaving @policy as it was, if @text is no setting or one that the mode does not have. */
static bool parse_setting(const char *text, RedStreamPolicy *policy)
{
    if (g_str_has_prefix(text, "threshold=")) {
        return parse_number(text + strlen("threshold="), 1, RED_STREAM_RECORD_MAX,
                            &policy->gather_threshold);
    }
    if (strcmp(text, "record=auto") == 0) {
        policy->record_size = 0;
        return true;
    }
    if (g_str_has_prefix(text, "record=")) {
        return parse_number(text + strlen("record="), MIN_RECORD_SIZE, RED_STREAM_RECORD_MAX,
                            &policy->record_size);
    }
    if (g_str_has_prefix(text, "window=")) {
        return !policy->flow &&
               parse_number(text + strlen("window="), MIN_WINDOW, MAX_WINDOW, &policy->window);
    }
    if (strcmp(text, "hold=auto") == 0) {
        policy->hold = RED_STREAM_HOLD_AUTO;
        return true;
    }
    if (g_str_has_prefix(text, "hold=")) {
        return parse_number(text + strlen("hold="), 0, RED_STREAM_HOLD_LIMIT, &policy->hold);
    }
    if (strcmp(text, "zerocopy=off") == 0) {
        policy->zerocopy = 0;
        return true;
    }
    if (g_str_has_prefix(text, "zerocopy=")) {
        return parse_number(text + strlen("zerocopy="), RED_STREAM_ZEROCOPY_MIN,
                            RED_STREAM_ZEROCOPY_LIMIT, &policy->zerocopy);
    }
    return parse_switch(text, "ktls=", &policy->ktls) ||
           parse_switch(text, "catchup=", &policy->catch_up) ||
           parse_switch(text, "exact=", &policy->exact) ||
           parse_switch(text, "display=", &policy->display) ||
           parse_switch(text, "timestamps=", &policy->timestamps);
}

static bool parse_mode(const char *text, RedStreamPolicy *policy)
{
    for (const RedStreamPolicy &mode : modes) {
        if (strcmp(text, mode.name) == 0) {
            *policy = mode;
            return true;
        }
    }
    return false;
}

bool red_stream_policy_parse(const char *text, RedStreamPolicy *policy, std::string *ignored)
{
    char **words = g_strsplit(text, ",", -1);
    bool ok = *text;

    if (!ok && ignored) {
        *ignored += "''";
    }
    for (char **word = words; *word; ++word) {
        if (word == words ? parse_mode(*word, policy) : parse_setting(*word, policy)) {
            continue;
        }
        if (ignored) {
            *ignored += std::string(ok ? "'" : ", '") + *word + "'";
        }
        ok = false;
    }
    g_strfreev(words);
    return ok;
}

static RedStreamPolicy policy_from_environment()
{
    RedStreamPolicy policy = { };
    const char *text = getenv("SPICE_STREAM");

    spice_assert(red_stream_policy_parse(RED_STREAM_DEFAULT, &policy));
    std::string ignored;
    if (text && !red_stream_policy_parse(text, &policy, &ignored)) {
        spice_warning("SPICE_STREAM=%s: ignored %s, using %s and the rest; known is "
                      "<mode>[,threshold=N][,record=auto|N][,window=N][,hold=auto|N][,catchup=on|off]"
                      "[,exact=on|off][,display=on|off][,ktls=on|off][,timestamps=on|off]"
                      "[,zerocopy=N|off] with a mode of normal, gather, cork, more, window, batch or "
                      "flow (which has no window)",
                      text, ignored.c_str(), policy.name);
    }
    return policy;
}

const RedStreamPolicy *red_stream_policy_get()
{
    static const RedStreamPolicy policy = policy_from_environment();

    return &policy;
}

/* Bytes a second that a window of @cwnd segments lets go, 0 if not known. */
static uint64_t window_rate(const RedStreamLink *link, uint64_t cwnd)
{
    return link->rtt ? cwnd * link->mss * 1000000 / link->rtt : 0;
}

bool red_stream_policy_is_first_hop(const RedStreamLink *link)
{
    return link->path_delay > 2 * uint64_t{link->rtt} + RED_STREAM_HOP_SLACK;
}

/* Bytes a second that the link carries, 0 if not known. */
static uint64_t link_rate(const RedStreamLink *link)
{
    if (red_stream_policy_is_first_hop(link)) {
        return link->path_rate;
    }
    /* after a pause TCP starts again with the initial window */
    uint64_t cwnd = link->cwnd;
    if (!link->mss || !cwnd) {
        return 0;
    }
    if (link->idle > link->rto && cwnd > INITIAL_CWND) {
        cwnd = INITIAL_CWND;
    }

    /* a flight leaves at once and takes a round trip to be paid back; the rate seen
     * when the sender had nothing more to send is only a lower bound */
    uint64_t rate = link->delivery_rate;
    if (!rate || link->app_limited) {
        rate = std::max(rate, window_rate(link, cwnd));
    }
    /* A window counts segments: after many small ones it says more than the link carries. */
    if (link->path_rate) {
        rate = std::min(rate, link->path_rate);
    }
    return rate;
}

size_t red_stream_policy_record_size(const RedStreamLink *link)
{
    const uint64_t rate = link_rate(link);

    if (!rate) {
        return RED_STREAM_RECORD_MAX;
    }

    const uint64_t size = rate * RED_STREAM_RECORD_BUDGET / 1000000;
    const uint64_t segment = link->mss > MIN_RECORD_SIZE + RECORD_OVERHEAD ?
        link->mss - RECORD_OVERHEAD : MIN_RECORD_SIZE;

    return std::min<uint64_t>(std::max(size, segment), RED_STREAM_RECORD_MAX);
}

uint64_t red_stream_policy_seen_rate(const RedStreamLink *link)
{
    if (red_stream_policy_is_first_hop(link)) {
        return 0;
    }
    return std::max(link->delivery_rate, link->slow_start ? window_rate(link, link->cwnd) : 0);
}

uint32_t red_stream_policy_unsent_limit(const RedStreamLink *link)
{
    const uint64_t size = link_rate(link) * RED_STREAM_UNSENT_BUDGET / 1000000;

    if (!size) {
        return RED_STREAM_UNSENT_MAX;
    }
    return std::min<uint64_t>(std::max<uint64_t>(size, RED_STREAM_UNSENT_MIN),
                              RED_STREAM_UNSENT_MAX);
}

uint64_t red_stream_policy_pace(const RedStreamLink *link, uint64_t rate)
{
    if (!rate || link->path_delay < RED_STREAM_PACED_DELAY ||
        red_stream_policy_is_first_hop(link)) {
        return 0;
    }
    /* the path may have become faster, or be faster than was known */
    rate = std::max(rate, link->delivery_rate);

    /* the client's first answers have waited for the channel to begin */
    const uint32_t delay = link->min_rtt ? std::min(link->path_delay, link->min_rtt) :
                           link->path_delay;
    const uint64_t full = rate * delay / 1000000 * PACED_FULL_PERCENT / 100;
    const uint64_t in_flight = uint64_t{link->unacked} * link->mss;

    return rate * (in_flight > full ? PACED_DOWN_PERCENT : PACED_UP_PERCENT) / 100;
}

uint32_t red_stream_policy_hold_budget(const RedStreamPolicy *policy, uint32_t delay)
{
    if (!policy->batch) {
        return 0;
    }
    if (policy->hold != RED_STREAM_HOLD_AUTO) {
        return policy->hold;
    }
    return std::min<uint32_t>(std::max<uint32_t>(delay / HOLD_PART, RED_STREAM_HOLD_MIN),
                              RED_STREAM_HOLD_MAX);
}

bool RedStreamHold::begin(uint64_t now, uint32_t budget)
{
    if (budget == 0 || now - last >= uint64_t{budget} * RED_STREAM_HOLD_PAUSE) {
        return active();
    }
    if (!active()) {
        until = now + budget;
    }
    return true;
}

void RedStreamHold::left(uint64_t now)
{
    last = now;
    until = 0;
}
