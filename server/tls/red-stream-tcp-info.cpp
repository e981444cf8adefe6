/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <glib.h>

#include "red-stream-tcp-info.h"

RedStreamTcpInfo::RedStreamTcpInfo(int init_socket, const RedStreamPolicy *init_policy):
    socket(init_socket), policy(init_policy)
{
}

void RedStreamTcpInfo::update(const RedStreamSocket *ops, bool encrypted)
{
    const bool wants_record_size = encrypted && policy->batch && !policy->record_size;
    RedStreamLink link = { };

    if (encrypted && policy->record_size) {
        record_size = policy->record_size;
    }
    if (!wants_record_size || next_link == UINT64_MAX) {
        return;
    }

    const uint64_t now = g_get_monotonic_time();
    if (now < next_link) {
        return;
    }
    if (!ops->get_link(socket, &link)) {
        next_link = UINT64_MAX;
        return;
    }
    next_link = now + ops->get_link_period();
    record_size = red_stream_policy_record_size(&link);
}
