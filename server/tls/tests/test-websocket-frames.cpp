/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A WebSocket over TLS: a message is one frame in one record, however many buffers it has. */
#include <config.h>

#include <sys/ioctl.h>

#include "test-channel-tls.h"

#include "push-visibility.h"

static void one_record_a_message()
{
    static const char request[] = "GET / HTTP/1.1\r\nSec-WebSocket-Key: x\r\n\r\n";
    TlsStream t;
    char bytes[600] = {}, head[4], got[1024];
    const struct iovec iov[] = { { bytes, 200 }, { bytes + 200, 200 }, { bytes + 400, 200 } };
    int on_the_wire;

    g_assert_cmpint(SSL_write(t.peer, request, strlen(request)), ==, strlen(request));
    g_assert_cmpint(red_stream_read(t.stream, head, sizeof(head)), ==, sizeof(head));
    g_assert_true(red_stream_is_websocket(t.stream, head, sizeof(head)));
    g_assert_cmpint(SSL_read(t.peer, got, sizeof(got)), >, 0);      // the answer to the request

    memset(bytes, 'x', sizeof(bytes));
    g_assert_cmpint(red_stream_writev(t.stream, iov, G_N_ELEMENTS(iov)), ==, sizeof(bytes));
    red_stream_flush(t.stream);
    g_assert_cmpint(ioctl(t.peer_socket, FIONREAD, &on_the_wire), ==, 0);
    g_assert_cmpint(on_the_wire, ==, 4 + sizeof(bytes) + test_tls_overhead(TLS1_3_VERSION));
    g_assert_cmpint(SSL_read(t.peer, got, sizeof(got)), ==, 4 + sizeof(bytes));
    g_assert_cmpint(memcmp(got, "\x82\x7e\x02\x58", 4), ==, 0);
    g_assert_cmpint(memcmp(got + 4, bytes, sizeof(bytes)), ==, 0);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_setenv("SPICE_STREAM", "batch", TRUE);

    g_test_add_func("/server/websocket-frames/one-record-a-message", one_record_a_message);

    return g_test_run();
}
