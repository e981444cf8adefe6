/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A server with a stream that speaks TLS, and a client at its other end. */
#ifndef TEST_CHANNEL_TLS_H_
#define TEST_CHANNEL_TLS_H_

#include "test-channel-client.h"
#include "test-stream-tls.h"
#include "win-alarm.h"

#include "push-visibility.h"

struct TlsStream: public TestServer
{
    RedStream *stream;      // null once a channel has it
    SSL *peer;
    int peer_socket;

    TlsStream()
    {
        stream = test_stream_new(server, &peer_socket);
        peer = test_tls_new(false, TLS1_3_VERSION);
        SSL_set_fd(peer, peer_socket);
        SSL_set_connect_state(peer);
        test_tls_step(peer);
        g_assert_cmpint(red_stream_enable_ssl(stream, test_tls_ctx(true)), ==,
                        RED_STREAM_SSL_STATUS_WAIT_FOR_READ);
        g_assert_true(test_tls_step(peer));
        g_assert_cmpint(red_stream_ssl_accept(stream), ==, RED_STREAM_SSL_STATUS_OK);
        alarm(10);
    }

    ~TlsStream()
    {
        alarm(0);
        red_stream_free(stream);
        SSL_free(peer);
        close(peer_socket);
    }
};

#include "pop-visibility.h"

#endif /* TEST_CHANNEL_TLS_H_ */
