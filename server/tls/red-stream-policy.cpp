/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <glib.h>

#include <common/log.h>

#include "red-stream-policy.h"

/* TLS record overhead in bytes: 22 in TLS 1.3, 29 in TLS 1.2 with AES-GCM. */
#define RECORD_OVERHEAD 29      /* fact: RFC 5246, RFC 5288 */

/* What a sender may have in flight after a pause. */
#define INITIAL_CWND 10         /* fact: RFC 6928 */

static std::vector<RedStreamPolicy> make_modes()
{
    RedStreamPolicy normal = { };
    normal.name = "normal";
    /* larger values gained nothing when measured in 2017 */
    normal.gather_threshold = 1024;

    RedStreamPolicy gather = normal;
    gather.name = "gather";
    gather.gather = true;

    RedStreamPolicy cork = normal;
    cork.name = "cork";
    cork.cork = true;

    RedStreamPolicy more = normal;
    more.name = "more";
    more.more = true;

    RedStreamPolicy window = cork;
    window.name = "window";
    /* twenty ack intervals of upstream: 30 KB on a text console, 400 KB on a desktop */
    window.window = 400;

    RedStreamPolicy batch = more;
    batch.name = "batch";
    batch.batch = true;

    return {
        normal, gather, cork, more, window,
        batch,
    };
}

static const std::vector<RedStreamPolicy> &get_modes()
{
    static const std::vector<RedStreamPolicy> modes = make_modes();

    return modes;
}

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

/* As parse_number, or @value becomes @other if @text is @word. */
static bool parse_number_or(const char *word, uint32_t other, const char *text, uint32_t min,
                            uint32_t max, uint32_t *value)
{
    if (strcmp(text, word) != 0) {
        return parse_number(text, min, max, value);
    }
    *value = other;
    return true;
}

/* What may follow the mode. */
static const struct Setting {
    const char *name;
    const char *values;
    /* Returns false, leaving @policy as it was, if it can't be @value. */
    bool (*set)(RedStreamPolicy *policy, const char *value);
} settings[] = {
    { "threshold", "N", [](RedStreamPolicy *policy, const char *value) {
        return parse_number(value, 1, RED_STREAM_RECORD_MAX, &policy->gather_threshold);
    } },
    { "record", "auto|N", [](RedStreamPolicy *policy, const char *value) {
        return parse_number_or("auto", 0, value, 512, RED_STREAM_RECORD_MAX,
                               &policy->record_size);
    } },
    { "window", "N", [](RedStreamPolicy *policy, const char *value) {
        return parse_number(value, 1, UINT32_MAX, &policy->window);
    } },
};

/* Returns false, leaving @policy as it was, if @text is no setting or one that the mode does not have. */
static bool parse_setting(const char *text, RedStreamPolicy *policy)
{
    for (const Setting &setting : settings) {
        const size_t length = strlen(setting.name);

        if (strncmp(text, setting.name, length) == 0 && text[length] == '=') {
            return setting.set(policy, text + length + 1);
        }
    }
    return false;
}

static bool parse_mode(const char *text, RedStreamPolicy *policy)
{
    for (const RedStreamPolicy &mode : get_modes()) {
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
        if ((word == words && parse_mode(*word, policy)) || parse_setting(*word, policy)) {
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

/* The settings that red_stream_policy_parse() accepts, for the text of the warning. */
static std::string known()
{
    std::string text = "[<mode>]";

    for (const Setting &setting : settings) {
        text += std::string("[,") + setting.name + "=" + setting.values + "]";
    }
    text += "; modes:";
    for (const RedStreamPolicy &mode : get_modes()) {
        text += std::string(" ") + mode.name;
    }
    return text;
}

static RedStreamPolicy policy_from_environment()
{
    RedStreamPolicy policy = { };
    const char *text = getenv("SPICE_STREAM");

    spice_assert(red_stream_policy_parse(RED_STREAM_DEFAULT, &policy));
    std::string ignored;
    if (text && !red_stream_policy_parse(text, &policy, &ignored)) {
        spice_warning("SPICE_STREAM=%s: ignored %s; using %s and the other settings. Syntax: %s", text,
                      ignored.c_str(), policy.name, known().c_str());
    }
    return policy;
}

const RedStreamPolicy *red_stream_policy_get()
{
    static const RedStreamPolicy policy = policy_from_environment();

    return &policy;
}

uint64_t red_stream_policy_link_rate(const RedStreamLink *link)
{
    /* after a pause TCP starts again with the initial window */
    uint64_t cwnd = link->cwnd;
    if (!link->mss || !cwnd) {
        return 0;
    }
    if (link->idle > link->rto && cwnd > INITIAL_CWND) {
        cwnd = INITIAL_CWND;
    }

    /* if the sender did not send all it could, the delivery rate is a lower bound: then use the
     * congestion window, which TCP sends once per round trip */
    uint64_t rate = link->delivery_rate;
    if (link->rtt && (!rate || link->app_limited)) {
        rate = std::max(rate, cwnd * link->mss * 1000000 / link->rtt);
    }
    return rate;
}

size_t red_stream_policy_record_size(const RedStreamLink *link)
{
    const uint64_t rate = red_stream_policy_link_rate(link);

    if (!rate) {
        return RED_STREAM_RECORD_MAX;
    }

    const uint64_t size = rate * RED_STREAM_RECORD_BUDGET / 1000000;
    const uint64_t segment = link->mss > RECORD_OVERHEAD ? link->mss - RECORD_OVERHEAD : 0;

    /* as the least that record= takes, whatever the client's TCP announces */
    return std::min<uint64_t>(std::max<uint64_t>({ size, segment, 512 }), RED_STREAM_RECORD_MAX);
}
