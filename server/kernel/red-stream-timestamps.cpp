/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#ifdef __linux__
#include <ctime>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#endif

#include <glib.h>

#include "red-stream-timestamps.h"

/* Flushes whose ack is awaited. There are more only if the kernel has not reported many. */
#define FLUSHES_MAX 4096

RedStreamTimestamps::RedStreamTimestamps(uint32_t unacked, const RedStreamEgress *init_egress,
                                         RedStreamObserver *init_observer):
    egress(init_egress), observer(init_observer), begin(written() - unacked), last(written())
{
}

bool RedStreamTimestamps::flushed()
{
    const uint64_t end = written();

    if (end == last || flushes.size() >= FLUSHES_MAX) {
        return false;
    }
    flushes.push_back({ end, g_get_real_time() });
    last = end;
    return true;
}

void RedStreamTimestamps::notice(const RedStreamNotice &notice)
{
    if (notice.what == RedStreamNotice::ACKED && notice.time) {
        ++counters.timestamps;
        latest_byte = notice.last;
        latest_time = notice.time;
        settle();
    }
}

/* Count the acked flushes. One report may cover several. */
void RedStreamTimestamps::settle()
{
    while (latest_time && !flushes.empty()) {
        const Flush flush = flushes.front();
        /* the kernel's numbers have 32 bits */
        const auto ahead = static_cast<int32_t>(static_cast<uint32_t>(flush.end - begin) - 1 -
                                                latest_byte);

        if (ahead > 0) {
            return;
        }
        flushes.pop_front();
        /* the clock may have been set */
        const uint64_t delay = std::max<int64_t>(latest_time - flush.time, 0);

        ++counters.delivered;
        counters.delivery_time += delay;
        if (observer) {
            observer->event("delivered", { int64_t(flush.end), int64_t(delay) });
        }
    }
}

#ifdef __linux__
bool red_stream_timestamps_set(int fd, uint32_t *unacked)
{
    const int off = 0;
    const int flags = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID |
                      SOF_TIMESTAMPING_OPT_TSONLY | SOF_TIMESTAMPING_TX_ACK;
    int protocol = 0;
    socklen_t len = sizeof(protocol);

    /* other sockets accept the option and never report anything */
    if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) != 0 || protocol != IPPROTO_TCP) {
        return false;
    }
    /* The kernel counts from the first byte that is not acked. If that changed in between, it is
     * unknown which one it used. */
    for (int i = 0; i < 10; ++i) {
        int before, after;

        if (ioctl(fd, SIOCOUTQ, &before) != 0 ||
            setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)) != 0 ||
            ioctl(fd, SIOCOUTQ, &after) != 0) {
            break;
        }
        if (before == after) {
            *unacked = after;
            return true;
        }
        setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &off, sizeof(off));
    }
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &off, sizeof(off));
    return false;
}
#else
bool red_stream_timestamps_set(int fd, uint32_t *unacked)
{
    return false;
}
#endif
