/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <glib.h>

#include "red-stream-hop.h"

/* The kernel looks at its limit of what is unsent when it begins a buffer of up to so many bytes
 * (tcp_sendmsg in Linux), and fills that. */
#define KERNEL_BUFFER (64 * 1024)

RedStreamHop::RedStreamHop(int init_socket, const RedStreamPolicy *init_policy):
    socket(init_socket), policy(init_policy)
{
}

/* What TCP and the channel know of it. False if TCP does not say. */
bool RedStreamHop::get_link(const RedStreamSocket *ops, RedStreamLink *link) const
{
    if (!ops->get_link(socket, link)) {
        return false;
    }
    link->path_rate = path_rate;
    link->path_delay = path_delay;
    return true;
}

void RedStreamHop::set_pace(const RedStreamSocket *ops, uint64_t rate)
{
    RedStreamLink link = { };

    pace = rate;
    update_pace(ops, pace && get_link(ops, &link) ? &link : nullptr);
}

/* @link: null if it is not known, or no pace is wanted. */
void RedStreamHop::update_pace(const RedStreamSocket *ops, const RedStreamLink *link)
{
    const uint64_t wanted = link ? red_stream_policy_pace(link, pace) : 0;

    if (ops->set_pace && wanted != kernel_pace) {
        ops->set_pace(socket, wanted);
        kernel_pace = wanted;
    }
}

void RedStreamHop::update_unsent_limit(const RedStreamSocket *ops, const RedStreamLink *link)
{
    const uint32_t limit = red_stream_policy_unsent_limit(link);

    if ((limit >= unsent_limit * 2 || limit <= unsent_limit / 2) &&
        ops->set_unsent_limit(socket, limit)) {
        unsent_limit = limit;
    }
}

/* TCP is asked as long as a pace is wanted, for its queue says more than the rate, and while the
 * kernel should hold little. */
size_t RedStreamHop::get_room(const RedStreamSocket *ops)
{
    const bool holds_little = unsent_limit && unsent_limit < KERNEL_BUFFER;
    RedStreamLink link = { };

    if (!(pace || holds_little) || !get_link(ops, &link)) {
        return SIZE_MAX;
    }
    if (pace) {
        update_pace(ops, &link);
    }
    if (!holds_little) {
        return SIZE_MAX;
    }
    update_unsent_limit(ops, &link);
    return unsent_limit > link.unsent ? unsent_limit - link.unsent : 0;
}

void RedStreamHop::update(const RedStreamSocket *ops, bool encrypted)
{
    const bool wants_record_size = encrypted && policy->batch && !policy->record_size;
    RedStreamLink link = { };

    if (encrypted && policy->record_size) {
        record_size = policy->record_size;
    }
    if (!(wants_record_size || policy->flow) || next_link == UINT64_MAX) {
        return;
    }

    const uint64_t now = g_get_monotonic_time();
    if (now < next_link) {
        return;
    }
    if (!get_link(ops, &link)) {
        next_link = UINT64_MAX;
        return;
    }
    next_link = now + ops->get_link_period();
    if (wants_record_size) {
        record_size = red_stream_policy_record_size(&link);
    }
    if (policy->flow && ops->set_unsent_limit) {
        update_unsent_limit(ops, &link);
    }
}
