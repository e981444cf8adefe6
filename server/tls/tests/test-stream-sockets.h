/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An egress and a client over the real kernel. */
#ifndef TEST_STREAM_SOCKETS_H_
#define TEST_STREAM_SOCKETS_H_

#include "test-sockets.h"
#include "test-stream-egress.h"

#include "push-visibility.h"

/* An egress over a socket of the kernel and the client at its other end, both in this
 * thread. */
class SocketConnection
{
public:
    SocketConnection(const char *mode, TestTransport transport, int init_version, int buffer,
                     const RedStreamSocket *ops = &red_stream_kernel_socket,
                     const char *ciphers = nullptr):
        policy(test_policy(mode)), version(init_version)
    {
        test_make_sockets(transport, buffer, sockets);
        g_assert_true(test_set_nonblocking(sockets[0]));
        g_assert_true(test_set_nonblocking(sockets[1]));
        egress = new RedStreamEgress(sockets[0], &policy, ops);
        sender = new TestSender(egress);
        if (version) {
            bool server_done = false, client_done = false;

            server = test_tls_new(true, version);
            client = test_tls_new(false, version);
            if (ciphers) {
                SSL_set_cipher_list(server, ciphers);
                SSL_set_cipher_list(client, ciphers);
            }
            g_assert_true(egress->set_ssl(server));
            g_assert_cmpint(SSL_set_fd(client, sockets[1]), ==, 1);
            SSL_set_accept_state(server);
            SSL_set_connect_state(client);
            while (!server_done || !client_done) {
                client_done = test_tls_step(client);
                server_done = test_tls_step(server);
            }
            /* the tickets that end the handshake of TLS 1.3 */
            g_assert_cmpint(read(nullptr, 0), <=, 0);
        }
    }

    ~SocketConnection()
    {
        SSL_free(server);
        SSL_free(client);
        delete egress;
        delete sender;
        close(sockets[0]);
        close(sockets[1]);
    }

    /* The client reads at most @size bytes.
     * Returns how many, or 0 if there are none now. */
    size_t read(void *data, size_t size)
    {
        if (!version) {
            const ssize_t n = ::read(sockets[1], data, size);

            g_assert_true(n > 0 || (n == -1 && errno == EAGAIN));
            return MAX(n, 0);
        }
        uint8_t dummy;
        const int n = size ? SSL_read(client, data, size) : SSL_peek(client, &dummy, 1);

        if (n <= 0) {
            g_assert_cmpint(SSL_get_error(client, n), ==, SSL_ERROR_WANT_READ);
            return 0;
        }
        return n;
    }

    /* The client reads and verifies at most @most bytes of what there is. */
    void receive(size_t most = SIZE_MAX)
    {
        uint8_t data[20000];
        size_t n;

        while (most && (n = read(data, MIN(sizeof(data), most))) > 0) {
            test_verify(data, n, received);
            received += n;
            most -= n;
        }
    }

    RedStreamPolicy policy;
    const int version;
    int sockets[2];
    RedStreamEgress *egress;
    TestSender *sender;
    SSL *server = nullptr;
    SSL *client = nullptr;
    uint64_t received = 0;
};

#include "pop-visibility.h"

#endif /* TEST_STREAM_SOCKETS_H_ */
