/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include "red-stream-pacing.h"
#include "red-stream-path.h"

/* Linux (tcp_sendmsg) checks TCP_NOTSENT_LOWAT only when it begins a buffer, and then fills the buffer with
 * up to this number of bytes. */
#define KERNEL_BUFFER (64 * 1024)   /* fact: Linux, tcp_sendmsg() */

RedStreamPacing::RedStreamPacing(int init_socket, const RedStreamTcpInfo *init_tcp_info):
    socket(init_socket), tcp_info(init_tcp_info)
{
}

void RedStreamPacing::set_pace(const RedStreamSocket *ops, uint64_t rate)
{
    RedStreamLink link = { };

    pace = rate;
    update_pace(ops, pace && tcp_info->get_link(ops, &link) ? &link : nullptr);
}

/* @link: null if it is unknown, or no pacing is wanted. */
void RedStreamPacing::update_pace(const RedStreamSocket *ops, const RedStreamLink *link)
{
    const uint64_t wanted = link ? red_stream_path_pace(link, pace) : 0;

    if (ops->set_pace && wanted != kernel_pace) {
        ops->set_pace(socket, wanted);
        kernel_pace = wanted;
    }
}

void RedStreamPacing::update(const RedStreamSocket *ops, const RedStreamLink *link)
{
    const uint32_t limit = red_stream_path_unsent_limit(link);

    if (ops->set_unsent_limit && (limit / 2 >= unsent_limit || limit <= unsent_limit / 2) &&
        ops->set_unsent_limit(socket, limit)) {
        unsent_limit = limit;
    }
}

/* TCP_INFO is read before each send in two cases. With pacing, as the bytes in flight decide the pacing rate;
 * and if the unsent limit is less than the kernel's buffer, as this function then enforces the limit. */
size_t RedStreamPacing::get_budget(const RedStreamSocket *ops)
{
    const bool holds_little = unsent_limit < KERNEL_BUFFER;
    RedStreamLink link = { };

    if (!(pace || holds_little) || !tcp_info->get_link(ops, &link)) {
        return SIZE_MAX;
    }
    if (pace) {
        update_pace(ops, &link);
    }
    if (!holds_little) {
        return SIZE_MAX;
    }
    update(ops, &link);
    return unsent_limit > link.unsent ? unsent_limit - link.unsent : 0;
}
