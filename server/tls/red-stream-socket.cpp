/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <unistd.h>
#ifndef _WIN32
#include <netinet/in.h>
#include <sys/uio.h>
#endif
#ifdef __linux__
/* not netinet/tcp.h: its struct tcp_info ends before the delivery rate */
#include <linux/tcp.h>
#endif

#include "net-utils.h"
#include "red-stream-bio.h"
#include "red-stream-ktls.h"
#include "red-stream-notices.h"
#include "red-stream-socket.h"
#include "red-stream-timestamps.h"
#include "red-stream-zerocopy.h"

#ifndef _WIN32
#ifndef MSG_MORE
#define MSG_MORE 0
#endif
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

static ssize_t kernel_send(int fd, const struct iovec *iov, int iovcnt, bool more)
{
    struct msghdr msg = { };

    msg.msg_iov = const_cast<struct iovec *>(iov);
    msg.msg_iovlen = iovcnt;
    return sendmsg(fd, &msg, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
}
#else
static ssize_t kernel_send(int fd, const struct iovec *iov, int iovcnt, bool more)
{
    return socket_writev(fd, iov, iovcnt);
}
#endif

#ifdef __linux__
/* tcpi_state, of which linux/tcp.h has no names */
enum { TCP_STATE_ESTABLISHED = 1, TCP_STATE_CLOSE_WAIT = 8 };
#endif

static bool kernel_get_link(int fd, RedStreamLink *link)
{
#ifdef __linux__
    struct tcp_info info;
    socklen_t len = sizeof(info);

    memset(&info, 0, sizeof(info));
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0) {
        return false;
    }
    link->mss = info.tcpi_snd_mss;
    link->cwnd = info.tcpi_snd_cwnd;
    link->slow_start = info.tcpi_snd_cwnd < info.tcpi_snd_ssthresh;
    link->rtt = info.tcpi_rtt;
    link->min_rtt = info.tcpi_min_rtt;
    link->unacked = info.tcpi_unacked;
    /* A connection that has ended still counts what it will not send: then sending has to fail. */
    link->unsent = info.tcpi_state == TCP_STATE_ESTABLISHED ||
                   info.tcpi_state == TCP_STATE_CLOSE_WAIT ? info.tcpi_notsent_bytes : 0;
    /* these are 0 before Linux 4.9, which is what "not known" is */
    link->delivery_rate = info.tcpi_delivery_rate;
    link->app_limited = info.tcpi_delivery_rate_app_limited;
    /* milliseconds; an hour is as good as more */
    link->idle = MIN(info.tcpi_last_data_sent, 3600 * 1000u) * 1000;
    link->rto = info.tcpi_rto;
    return true;
#else
    return false;
#endif
}

/* TCP's window changes in round trips; over a shorter one records are as long as can be. */
static uint64_t kernel_get_link_period()
{
    return 5000;
}

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
    const uint32_t value = rate && rate < UINT32_MAX ? rate : UINT32_MAX;

    return setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &value, sizeof(value)) == 0;
#else
    return false;
#endif
}

const RedStreamSocket red_stream_kernel_socket = {
    "sendmsg",
    kernel_send,
    red_socket_set_cork,
    kernel_get_link,
    kernel_get_link_period,
    kernel_set_unsent_limit,
    kernel_set_pace,
    red_stream_bio_set_ssl,
    red_stream_bio_encrypt,
    red_stream_timestamps_set,
    red_stream_zerocopy_set,
    red_stream_zerocopy_send,
    red_stream_zerocopy_abort,
    red_stream_notices_read,
};

/* until the first record, which tells which of the other two it is */
static const RedStreamSocket undecided_socket = {
    "sendmsg",
    kernel_send,
    red_socket_set_cork,
    kernel_get_link,
    kernel_get_link_period,
    kernel_set_unsent_limit,
    kernel_set_pace,
    red_stream_ktls_set_ssl,
    red_stream_ktls_begin,
    nullptr,
    /* a stream without TLS stays with this */
    red_stream_zerocopy_set,
    red_stream_zerocopy_send,
    red_stream_zerocopy_abort,
    red_stream_notices_read,
};

const RedStreamSocket red_stream_ktls_socket = {
    "ktls",
    red_stream_ktls_send,
    red_socket_set_cork,
    kernel_get_link,
    kernel_get_link_period,
    kernel_set_unsent_limit,
    kernel_set_pace,
    nullptr,
    red_stream_ktls_encrypt,
    /* the kernel counts bytes of records, of which nobody here knows how many there are */
    nullptr,
    /* encrypting is copying */
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

const RedStreamSocket *red_stream_socket_get(const RedStreamPolicy *policy)
{
    return policy->ktls ? &undecided_socket : &red_stream_kernel_socket;
}
