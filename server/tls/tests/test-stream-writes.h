/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a write to a stream becomes, for tests of the modes. */
#ifndef TEST_STREAM_WRITES_H_
#define TEST_STREAM_WRITES_H_

#include <sys/ioctl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "red-stream-egress.h"
#include "test-channel-batch.h"
#include "test-channel-tls.h"
#include "test-sockets.h"

#include "push-visibility.h"

/* Number of bytes that the peer can read. */
static inline int test_readable(int peer)
{
    int size;

    g_assert_cmpint(ioctl(peer, FIONREAD, &size), ==, 0);
    return size;
}

/* Write a message of three buffers, another one announced.
 * Returns the number of its TLS records that are on the wire. */
static inline int test_records_at_once(TlsStream *t)
{
    char bytes[600] = {}, got[sizeof(bytes)];
    const struct iovec iov[] = { { bytes, 200 }, { bytes + 200, 200 }, { bytes + 400, 200 } };
    const int ticket = test_readable(t->peer_socket);

    g_assert_cmpint(red_stream_writev_flags(t->stream, iov, 3,
                                            RED_STREAM_MESSAGE_START | RED_STREAM_MORE),
                    ==, sizeof(bytes));
    const int written = test_readable(t->peer_socket) - ticket;
    g_assert_cmpint(red_stream_flush(t->stream), ==, 0);
    g_assert_cmpuint(red_stream_pending(t->stream), ==, 0);
    for (int received = 0; received < static_cast<int>(sizeof(bytes));) {
        const int n = SSL_read(t->peer, got, sizeof(got));

        g_assert_cmpint(n, >, 0);
        received += n;
    }
    return written ? (written - static_cast<int>(sizeof(bytes))) /
                     test_tls_overhead(TLS1_3_VERSION) : 0;
}

static inline bool test_is_corked(int fd)
{
#ifdef TCP_CORK
    int value = 0;
    socklen_t size = sizeof(value);

    g_assert_cmpint(getsockopt(fd, IPPROTO_TCP, TCP_CORK, &value, &size), ==, 0);
    return value;
#else
    return false;
#endif
}

/* @takes: red_stream_set_auto_flush(false) succeeds; @corks: by TCP_CORK */
static inline void test_check_auto_flush(bool takes, bool corks)
{
    TestServer s;
    int sockets[2];

    test_make_sockets(TEST_TCP, 0, sockets);
    red_socket_set_non_blocking(sockets[0], true);
    RedStream *const stream = red_stream_new(s.server, sockets[0]);
    g_assert_true(red_stream_set_auto_flush(stream, true));
    g_assert_cmpint(red_stream_set_auto_flush(stream, false), ==, takes);
    g_assert_cmpint(test_is_corked(sockets[0]), ==, corks);
    if (corks) {
        g_assert_cmpint(red_stream_write(stream, "abc", 3), ==, 3);
        g_assert_cmpint(test_readable(sockets[1]), ==, 0);
        g_assert_cmpint(red_stream_flush(stream), ==, 0);
        g_assert_cmpint(test_readable(sockets[1]), ==, 3);
    }
    g_assert_true(red_stream_set_auto_flush(stream, true));
    g_assert_false(test_is_corked(sockets[0]));
    red_stream_free(stream);
    close(sockets[1]);
}

#include "pop-visibility.h"

#endif /* TEST_STREAM_WRITES_H_ */
