/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <glib.h>

#include <common/log.h>

#include "red-stream-policy.h"

/* TLS record overhead in bytes: 22 in TLS 1.3, 29 in TLS 1.2 with AES-GCM (RFC 5246, RFC 5288). */
#define RECORD_OVERHEAD 29

/* What a sender may have in flight after a pause (RFC 6928). */
#define INITIAL_CWND 10

/* All modes and settings. The objects are made before main(), in any order. */
static const RedStreamMode *modes;
static const RedStreamSetting *settings;
static unsigned n_settings;

template <typename T>
static const T *enlist(const T **list, const T *entry)
{
    const T *next = *list;

    *list = entry;
    return next;
}

RedStreamMode::RedStreamMode(const char *init_name, bool init_cork, bool init_batch,
                             const char *init_without):
    name(init_name), cork(init_cork), batch(init_batch), without(init_without),
    next(enlist(&modes, this))
{
}

RedStreamSetting::RedStreamSetting(const char *init_name, const char *init_on_in):
    name(init_name), next(enlist(&settings, this)), index(n_settings++), is_switch(true),
    on_in(init_on_in), min(0), max(0), initial(0), word(nullptr), meaning(0)
{
    spice_assert(n_settings <= RED_STREAM_MAX_SETTINGS);
}

RedStreamSetting::RedStreamSetting(const char *init_name, uint32_t init_min, uint32_t init_max,
                                   uint32_t init_initial, const char *init_word,
                                   uint32_t init_meaning):
    name(init_name), next(enlist(&settings, this)), index(n_settings++), is_switch(false),
    on_in(nullptr), min(init_min), max(init_max), initial(init_initial), word(init_word),
    meaning(init_meaning)
{
    spice_assert(n_settings <= RED_STREAM_MAX_SETTINGS);
}

const RedStreamMode red_stream_mode_cork("cork", true, false);
const RedStreamMode red_stream_mode_batch("batch", false, true);
const RedStreamSetting red_stream_setting_record("record", 512, RED_STREAM_RECORD_MAX, 0,
                                                 "auto", 0);

void RedStreamSetting::reset(RedStreamPolicy *policy) const
{
    policy->values[index] = on_in ? strcmp(policy->mode->name, on_in) == 0 : initial;
}

bool RedStreamSetting::set(RedStreamPolicy *policy, const char *value) const
{
    uint32_t *const to = &policy->values[index];
    char *end;

    if (is_switch) {
        if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0) {
            return false;
        }
        *to = strcmp(value, "on") == 0;
        return true;
    }
    if (word && strcmp(value, word) == 0) {
        *to = meaning;
        return true;
    }
    if (!g_ascii_isdigit(*value)) {
        return false;
    }
    const guint64 number = g_ascii_strtoull(value, &end, 10);
    if (*end || number < min || number > max) {
        return false;
    }
    *to = number;
    return true;
}

std::string RedStreamSetting::get_syntax() const
{
    return is_switch ? "on|off" : word ? std::string(word) + "|N" : "N";
}

/* Returns false, leaving @policy as it was, if @text is no setting or one that the mode does not
 * have. */
static bool parse_setting(const char *text, RedStreamPolicy *policy)
{
    const char *const without = policy->mode->without;

    for (const RedStreamSetting *setting = settings; setting; setting = setting->next) {
        const size_t length = strlen(setting->name);

        if (strncmp(text, setting->name, length) == 0 && text[length] == '=') {
            return !(without && strcmp(setting->name, without) == 0) &&
                   setting->set(policy, text + length + 1);
        }
    }
    return false;
}

static bool parse_mode(const char *text, RedStreamPolicy *policy)
{
    for (const RedStreamMode *mode = modes; mode; mode = mode->next) {
        if (strcmp(text, mode->name) == 0) {
            policy->mode = mode;
            for (const RedStreamSetting *setting = settings; setting; setting = setting->next) {
                setting->reset(policy);
            }
            return true;
        }
    }
    return false;
}

bool red_stream_policy_parse(const char *text, RedStreamPolicy *policy, std::string *ignored)
{
    char **words = g_strsplit(text, ",", -1);
    bool ok = *text;

    if (!policy->mode) {
        parse_mode(red_stream_mode_cork.name, policy);
    }
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

/* What red_stream_policy_parse() accepts, for the text of the warning. */
static std::string known()
{
    std::string text = "[<mode>]";

    for (const RedStreamSetting *setting = settings; setting; setting = setting->next) {
        text += std::string("[,") + setting->name + "=" + setting->get_syntax() + "]";
    }
    text += "; modes:";
    for (const RedStreamMode *mode = modes; mode; mode = mode->next) {
        text += std::string(" ") + mode->name;
    }
    return text;
}

RedStreamPolicy red_stream_policy_from_environment()
{
    RedStreamPolicy policy = { };
    const char *text = getenv("SPICE_STREAM");
    std::string ignored;

    spice_assert(red_stream_policy_parse(RED_STREAM_DEFAULT, &policy));
    if (text && !red_stream_policy_parse(text, &policy, &ignored)) {
        spice_warning("SPICE_STREAM=%s: ignored %s; using %s and the other settings. Syntax: %s",
                      text, ignored.c_str(), policy.mode->name, known().c_str());
    }
    return policy;
}

bool red_stream_policy_is_first_hop(const RedStreamLink *link)
{
    return link->path_delay > 2 * uint64_t{link->rtt} + RED_STREAM_SLACK;
}

uint64_t red_stream_policy_link_rate(const RedStreamLink *link)
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

    /* if the sender did not send all it could, the delivery rate is a lower bound: then use the
     * congestion window, which TCP sends once per round trip */
    uint64_t rate = link->delivery_rate;
    if (link->rtt && (!rate || link->app_limited)) {
        rate = std::max(rate, cwnd * link->mss * 1000000 / link->rtt);
    }
    /* The window counts segments: after many small ones it exceeds what the link carries. */
    if (link->path_rate) {
        rate = std::min(rate, link->path_rate);
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
