/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>
#include <cstring>

#ifdef __linux__
#include <ctime>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#endif

#include <glib.h>

#include "red-stream-egress.h"
#include "red-stream-timestamps.h"
#include "red-stream-trace.h"

/* of one call */
#define READ_MAX 16

/* Flushes that are waited for. More are under way only if the kernel has told nothing of many. */
#define FLUSHES_MAX 4096

RedStreamTimestamps::RedStreamTimestamps(int init_fd, const RedStreamSocket *init_ops,
                                         uint32_t unacked, int init_stream,
                                         RedStreamCounters *init_counters):
    fd(init_fd), ops(init_ops), stream(init_stream), counters(init_counters),
    begin(init_counters->written_bytes - unacked), last(init_counters->written_bytes)
{
}

void RedStreamTimestamps::flushed()
{
    const uint64_t end = counters->written_bytes;

    if (end != last && flushes.size() < FLUSHES_MAX) {
        flushes.push_back({ end, g_get_real_time() });
        last = end;
        read();
    }
}

void RedStreamTimestamps::read()
{
    RedStreamTimestamp timestamps[READ_MAX];
    int n;

    do {
        n = ops->read_timestamps(fd, timestamps, READ_MAX);
        ++counters->timestamp_reads;
        for (int i = 0; i < n; ++i) {
            if (timestamps[i].time) {
                ++counters->timestamps;
                latest = timestamps[i];
                settle();
            }
        }
    } while (n == READ_MAX);
    /* a near client may have acked a flush before it was over */
    settle();
}

/* Several flushes may be told of by the last of them. */
void RedStreamTimestamps::settle()
{
    while (latest.time && !flushes.empty()) {
        const Flush flush = flushes.front();
        /* the kernel's numbers have 32 bits */
        const auto ahead = static_cast<int32_t>(static_cast<uint32_t>(flush.end - begin) - 1 -
                                                latest.byte);

        if (ahead > 0) {
            return;
        }
        flushes.pop_front();
        /* somebody may have set the clock */
        const uint64_t delay = std::max<int64_t>(latest.time - flush.time, 0);

        ++counters->delivered;
        counters->delivery_time += delay;
        red_stream_trace_delivered(stream, flush.end, delay);
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

    /* other sockets take the option and never tell anything */
    if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) != 0 || protocol != IPPROTO_TCP) {
        return false;
    }
    /* The kernel counts from the first byte that is not acked. When it was not the same before
     * as after, nobody knows which one that was. */
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

static RedStreamTimestamp parse(struct msghdr *msg)
{
    RedStreamTimestamp timestamp = { };
    bool acked = false;

    for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
        if (cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SO_TIMESTAMPING) {
            struct scm_timestamping times;

            memcpy(&times, CMSG_DATA(cmsg), sizeof(times));
            timestamp.time = times.ts[0].tv_sec * INT64_C(1000000) + times.ts[0].tv_nsec / 1000;
        } else if ((cmsg->cmsg_level == SOL_IP && cmsg->cmsg_type == IP_RECVERR) ||
                   (cmsg->cmsg_level == SOL_IPV6 && cmsg->cmsg_type == IPV6_RECVERR)) {
            struct sock_extended_err error;

            memcpy(&error, CMSG_DATA(cmsg), sizeof(error));
            acked = error.ee_origin == SO_EE_ORIGIN_TIMESTAMPING && error.ee_info == SCM_TSTAMP_ACK;
            timestamp.byte = error.ee_data;
        }
    }
    if (!acked) {
        timestamp.time = 0;
    }
    return timestamp;
}

int red_stream_timestamps_read(int fd, RedStreamTimestamp *timestamps, int room)
{
    union {
        char bytes[256];
        struct cmsghdr align;
    } control[READ_MAX];
    struct mmsghdr messages[READ_MAX];

    room = std::min(room, READ_MAX);
    memset(messages, 0, sizeof(messages));
    for (int i = 0; i < room; ++i) {
        messages[i].msg_hdr.msg_control = &control[i];
        messages[i].msg_hdr.msg_controllen = sizeof(control[i]);
    }
    const int n = recvmmsg(fd, messages, room, MSG_ERRQUEUE | MSG_DONTWAIT, nullptr);
    for (int i = 0; i < n; ++i) {
        timestamps[i] = parse(&messages[i].msg_hdr);
    }
    return std::max(n, 0);
}
#else
bool red_stream_timestamps_set(int fd, uint32_t *unacked)
{
    return false;
}

int red_stream_timestamps_read(int fd, RedStreamTimestamp *timestamps, int room)
{
    return 0;
}
#endif
