/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <glib.h>

#include "red-stream-tcp-info.h"

RedStreamTcpInfo::RedStreamTcpInfo(int init_socket, const RedStreamPolicy *policy):
    socket(init_socket), fixed_size(red_stream_setting_record.get(policy))
{
    if (fixed_size) {
        record_size = fixed_size;
    }
}

bool RedStreamTcpInfo::get_link(const RedStreamSocket *ops, RedStreamLink *link) const
{
    if (!ops->get_link(socket, link)) {
        return false;
    }
    link->path_rate = path_rate;
    link->path_delay = path_delay;
    return true;
}

bool RedStreamTcpInfo::update(const RedStreamSocket *ops, bool encrypted, bool always,
                              RedStreamLink *link)
{
    const bool wants_record_size = encrypted && !fixed_size;

    if (!(wants_record_size || always) || next_link == UINT64_MAX) {
        return false;
    }

    const uint64_t now = g_get_monotonic_time();
    if (now < next_link) {
        return false;
    }
    if (!get_link(ops, link)) {
        next_link = UINT64_MAX;
        return false;
    }
    next_link = now + RED_STREAM_LINK_PERIOD;
    if (wants_record_size) {
        record_size = red_stream_policy_record_size(link);
    }
    return true;
}
