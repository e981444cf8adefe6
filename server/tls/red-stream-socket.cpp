/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <cerrno>
#include <cstddef>
#include <unistd.h>
#ifndef _WIN32
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/uio.h>
#endif

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

const RedStreamSocket red_stream_kernel_socket = {
    kernel_send,
    kernel_set_cork,
};
