/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connections over the real kernel for the tests of the stream layer. */
#ifndef TEST_STREAM_SOCKETS_H_
#define TEST_STREAM_SOCKETS_H_

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/un.h>

#include "test-stream-egress.h"

#include "push-visibility.h"

enum TestTransport {
    TEST_SOCKETPAIR,
    TEST_UNIX,
    TEST_TCP,
    TEST_TRANSPORTS
};

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
            address.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            len = sizeof(address.in);
        }
        g_assert_cmpint(bind(listener, &address.any, len), ==, 0);
        len = sizeof(address);
        g_assert_cmpint(getsockname(listener, &address.any, &len), ==, 0);
        sockets[1] = socket(family, SOCK_STREAM, 0);
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

/* An egress over a socket of the kernel and the client at its other end, both in this
 * thread. */
class SocketConnection
{
public:
    SocketConnection(const char *mode, TestTransport transport, int init_version, int buffer,
                     const RedStreamSocket *ops = nullptr, const char *ciphers = nullptr):
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
        egress->set_auto_flush(false);
    }

    ~SocketConnection()
    {
        SSL_free(server);
        SSL_free(client);
        delete sender;
        delete egress;
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
