/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connections over the real kernel. */
#ifndef TEST_SOCKETS_H_
#define TEST_SOCKETS_H_

#include <errno.h>
#include <fcntl.h>
#ifdef __linux__
#include <sched.h>
#endif
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <glib.h>

#include "push-visibility.h"

enum TestTransport {
    TEST_SOCKETPAIR,
    TEST_UNIX,
    TEST_TCP,
    TEST_TRANSPORTS
};

/* A TCP socket for the peer: of the network namespace that SPICE_TEST_NETNS names, from where it
 * finds the server at SPICE_TEST_ADDRESS. Without, the loopback device is between them, which
 * copies whatever it is asked to. */
static inline int test_peer_socket()
{
#ifdef __linux__
    const char *const name = g_getenv("SPICE_TEST_NETNS");

    if (name) {
        const int here = open("/proc/thread-self/ns/net", O_RDONLY);
        const int there = open(name, O_RDONLY);

        g_assert_cmpint(setns(there, CLONE_NEWNET), ==, 0);
        const int fd = socket(AF_INET, SOCK_STREAM, 0);
        g_assert_cmpint(setns(here, CLONE_NEWNET), ==, 0);
        close(here);
        close(there);
        return fd;
    }
#endif
    return socket(AF_INET, SOCK_STREAM, 0);
}

/* A connected pair of blocking sockets, the server's first, with the options that
 * spice-server gives its own. @buffer: bytes of the server's SO_SNDBUF, and half of those
 * of the client's SO_RCVBUF, 0: the system's. */
static inline void test_make_sockets(TestTransport transport, int buffer, int sockets[2])
{
    if (transport == TEST_SOCKETPAIR) {
        g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), ==, 0);
    } else {
        const int family = transport == TEST_TCP ? AF_INET : AF_UNIX;
        const int listener = socket(family, SOCK_STREAM, 0);
        union {
            struct sockaddr any;
            struct sockaddr_in in;
            struct sockaddr_un un;
        } address = { };
        socklen_t len = sizeof(sa_family_t);

        /* the kernel chooses the port, or the (abstract) name */
        address.any.sa_family = family;
        if (transport == TEST_TCP) {
            const char *const name = g_getenv("SPICE_TEST_ADDRESS");

            address.in.sin_addr.s_addr = name ? inet_addr(name) : htonl(INADDR_LOOPBACK);
            len = sizeof(address.in);
        }
        g_assert_cmpint(bind(listener, &address.any, len), ==, 0);
        len = sizeof(address);
        g_assert_cmpint(getsockname(listener, &address.any, &len), ==, 0);
        sockets[1] = transport == TEST_TCP ? test_peer_socket() : socket(family, SOCK_STREAM, 0);
        if (transport == TEST_TCP) {
            /* segments as of Ethernet: those of the loopback device would be larger than
             * a small window, and a sender with such a segment waits for a timer */
            const int segment = 1448;

            setsockopt(sockets[1], IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
        }
        if (buffer) {
            /* before the window is negotiated */
            const int receive_buffer = 2 * buffer;

            setsockopt(sockets[1], SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
        }
        g_assert_cmpint(listen(listener, 1), ==, 0);
        g_assert_cmpint(connect(sockets[1], &address.any, len), ==, 0);
        sockets[0] = accept(listener, nullptr, nullptr);
        g_assert_cmpint(sockets[0], >=, 0);
        close(listener);
        if (transport == TEST_TCP) {
            const int enabled = 1;

            g_assert_cmpint(setsockopt(sockets[0], IPPROTO_TCP, TCP_NODELAY, &enabled,
                                       sizeof(enabled)), ==, 0);
        }
    }
    if (buffer) {
        setsockopt(sockets[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
    }
}

/* Whether the raw socket is readable within @timeout milliseconds. */
static inline bool test_is_readable(int fd, int timeout)
{
    struct pollfd pollfd = { fd, POLLIN, 0 };
    int ret;

    do {
        ret = poll(&pollfd, 1, timeout);
    } while (ret < 0 && errno == EINTR);
    return ret > 0;
}

/* Whether the kernel tells something in the error queue of @fd within @timeout milliseconds. */
static inline bool test_has_error(int fd, int timeout)
{
    struct pollfd pollfd = { fd, 0, 0 };
    int ret;

    do {
        ret = poll(&pollfd, 1, timeout);
    } while (ret < 0 && errno == EINTR);
    return ret > 0 && (pollfd.revents & POLLERR);
}

#include "pop-visibility.h"

#endif /* TEST_SOCKETS_H_ */
