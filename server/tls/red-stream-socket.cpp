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
#elif !defined(_WIN32)
#include <netinet/tcp.h>
#endif

#include "red-stream-bio.h"
#include "red-stream-socket.h"

#ifndef _WIN32
static ssize_t kernel_send(int fd, const struct iovec *iov, int iovcnt, bool more)
{
    struct msghdr msg = { };
    int flags = 0;

#ifdef MSG_NOSIGNAL
    flags |= MSG_NOSIGNAL;
#endif
#ifdef MSG_MORE
    flags |= more ? MSG_MORE : 0;
#endif
    msg.msg_iov = const_cast<struct iovec *>(iov);
    msg.msg_iovlen = iovcnt;
    return sendmsg(fd, &msg, flags);
}
#else
static ssize_t kernel_send(int fd, const struct iovec *iov, int iovcnt, bool more)
{
    return socket_writev(fd, iov, iovcnt);
}
#endif

/* BSD calls it TCP_NOPUSH. On Darwin clearing it does not send the incomplete segment. */
#if !defined(TCP_CORK) && defined(TCP_NOPUSH) && !defined(__APPLE__)
#define TCP_CORK TCP_NOPUSH
#endif

static bool kernel_set_cork(int fd, bool enabled)
{
#ifdef TCP_CORK
    const int value = enabled;

    return setsockopt(fd, IPPROTO_TCP, TCP_CORK, &value, sizeof(value)) == 0;
#else
    return false;
#endif
}

#ifdef __linux__
/* values of tcpi_state (net/tcp_states.h), for which linux/tcp.h has no names */
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
    link->rtt = info.tcpi_rtt;
    link->min_rtt = info.tcpi_min_rtt;
    link->unacked = info.tcpi_unacked;
    /* A connection that has ended still counts bytes that it will never send. They must not keep
     * the caller from a send, which fails. */
    link->unsent = info.tcpi_state == TCP_STATE_ESTABLISHED ||
                   info.tcpi_state == TCP_STATE_CLOSE_WAIT ? info.tcpi_notsent_bytes : 0;
    /* 0 (unknown) before Linux 4.9 */
    link->delivery_rate = info.tcpi_delivery_rate;
    link->app_limited = info.tcpi_delivery_rate_app_limited;
    /* milliseconds; limited to an hour, so that it fits 32 bits as microseconds */
    link->idle = std::min(info.tcpi_last_data_sent, 3600 * 1000u) * 1000;
    link->rto = info.tcpi_rto;
    return true;
#else
    return false;
#endif
}

const RedStreamSocket red_stream_kernel_socket = {
    kernel_send,
    kernel_set_cork,
    kernel_get_link,
    red_stream_bio_set_ssl,
    red_stream_bio_encrypt,
};
