/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#ifndef _WIN32
#include <netinet/in.h>
#include <netinet/tcp.h>
#endif

#include "red-stream-pacing.h"
#include "red-stream-path.h"

/* Linux (tcp_sendmsg) checks TCP_NOTSENT_LOWAT only when it begins a buffer, and then fills the
 * buffer with up to this number of bytes. */
#define KERNEL_BUFFER (64 * 1024)

static bool kernel_set_unsent_limit(int fd, uint32_t bytes)
{
#ifdef TCP_NOTSENT_LOWAT
    return setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof(bytes)) == 0;
#else
    return false;
#endif
}

static bool kernel_set_pace(int fd, uint64_t rate)
{
#ifdef SO_MAX_PACING_RATE
    const uint32_t value = rate ? std::min<uint64_t>(rate, UINT32_MAX) : UINT32_MAX;

    return setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &value, sizeof(value)) == 0;
#else
    return false;
#endif
}

const RedStreamPacingSocket red_stream_pacing_kernel = {
    kernel_set_unsent_limit,
    kernel_set_pace,
};

RedStreamPacing::RedStreamPacing(RedStreamEgress *init_egress,
                                 const RedStreamPacingSocket *init_ops):
    RedStreamSender(init_egress), ops(init_ops)
{
}

void RedStreamPacing::set_pace(uint64_t rate)
{
    RedStreamLink link = { };

    pace = rate;
    if (pace) {
        egress->get_link(&link);
    }
    update_pace(&link);
}

/* @link: all 0 if it is unknown, or no pacing is wanted. */
void RedStreamPacing::update_pace(const RedStreamLink *link)
{
    const uint64_t wanted = red_stream_path_pace(link, pace);

    if (wanted != kernel_pace) {
        ops->set_pace(egress->get_socket(), wanted);
        kernel_pace = wanted;
    }
}

void RedStreamPacing::update(const RedStreamLink *link)
{
    const uint32_t limit = red_stream_path_unsent_limit(link);

    if ((limit / 2 >= unsent_limit || limit <= unsent_limit / 2) &&
        ops->set_unsent_limit(egress->get_socket(), limit)) {
        unsent_limit = limit;
    }
}

/* How many bytes may be given to the kernel now, SIZE_MAX: no limit. TCP_INFO is read before each
 * send in two cases. With pacing, as the bytes in flight decide the pacing rate; and if the unsent
 * limit is less than the kernel's buffer, as this function then enforces the limit. */
size_t RedStreamPacing::get_budget()
{
    const bool holds_little = unsent_limit < KERNEL_BUFFER;
    RedStreamLink link = { };

    if (!(pace || holds_little) || !egress->get_link(&link)) {
        return SIZE_MAX;
    }
    update_pace(&link);
    if (!holds_little) {
        return SIZE_MAX;
    }
    update(&link);
    return unsent_limit - std::min(unsent_limit, link.unsent);
}

ssize_t RedStreamPacing::send(const struct iovec *iov, int iovcnt, size_t own, bool more)
{
    struct iovec cut[RED_STREAM_EGRESS_IOV];
    size_t budget = get_budget();

    if (budget == 0) {
        /* the limit may be lower than at the last send */
        egress->push_held();
        return 0;
    }
    /* A send that uses up the budget is followed by nothing now. With MSG_MORE the kernel would
     * hold back less than a segment, and never report the socket as writable. */
    if (budget <= red_iov_size(iov, iovcnt)) {
        iovcnt = red_iov_head(cut, RED_STREAM_EGRESS_IOV, iov, iovcnt, &budget);
        iov = cut;
        own = std::min(own, budget);
        more = false;
    }
    return pass(iov, iovcnt, own, more);
}
