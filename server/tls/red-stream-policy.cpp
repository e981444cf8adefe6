/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include <common/log.h>

#include "red-stream-policy.h"

static std::vector<RedStreamPolicy> make_modes()
{
    RedStreamPolicy normal = { };
    normal.name = "normal";

    RedStreamPolicy cork = normal;
    cork.name = "cork";
    cork.cork = true;

    return {
        normal, cork,
    };
}

static const std::vector<RedStreamPolicy> &get_modes()
{
    static const std::vector<RedStreamPolicy> modes = make_modes();

    return modes;
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
    const bool ok = parse_mode(text, policy);

    if (!ok && ignored) {
        *ignored += std::string("'") + text + "'";
    }
    return ok;
}

/* The names that red_stream_policy_parse() accepts, for the text of the warning. */
static std::string known()
{
    std::string text = "<mode>; modes:";

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
        spice_warning("SPICE_STREAM=%s: ignored %s; using %s. Syntax: %s", text,
                      ignored.c_str(), policy.name, known().c_str());
    }
    return policy;
}

const RedStreamPolicy *red_stream_policy_get()
{
    static const RedStreamPolicy policy = policy_from_environment();

    return &policy;
}
