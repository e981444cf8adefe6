/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test what the egress does when the connection ends, or the TLS library refuses a
 * write */
#include <config.h>

#include <csignal>

#include <netinet/in.h>

#include "test-stream-egress.h"
#include "win-alarm.h"

static const int errors[] = { EPIPE, ECONNRESET, ETIMEDOUT };

static const TestDrain drains[] = {
    { { 6, 40, 180 }, { 6, 5000 }, { 6 } },
    { { 18, 40000 }, { 6, 30 } },
    { { 6, 100 } },
};

/* After the end of the connection every call says so, and nothing is sent. */
static void check_ended(TestConnection *stream, int error)
{
    const size_t sends = stream->kernel.count_sends();
    uint8_t byte = 0;
    struct iovec iov = { &byte, 1 };

    for (int i = 0; i < 3; ++i) {
        errno = 0;
        g_assert_cmpint(stream->egress->writev(&iov, 1, i), ==, -1);
        g_assert_cmpint(errno, ==, error);
        errno = 0;
        g_assert_cmpint(stream->egress->flush(), ==, -1);
        g_assert_cmpint(errno, ==, error);
    }
    g_assert_cmpuint(stream->kernel.count_sends(), ==, sends);
    stream->receive();
}

static void send_drains(TestConnection *stream)
{
    for (const TestDrain &drain : drains) {
        stream->sender->add(drain);
        stream->sender->push_all();
    }
}

/* The kernel fails at every call there is. */
static void test_every_call()
{
    for (const char *mode : test_modes) {
        for (int version : test_versions) {
            for (size_t call = 0;; ++call) {
                const int error = errors[call % G_N_ELEMENTS(errors)];
                TestConnection stream(mode, version);

                stream.start();
                stream.kernel.fail_from = call;
                stream.kernel.fail_error = error;
                /* in a drain the first part of the kernel's buffer may be left */
                stream.kernel.stages.push_back({ call * 800, 1, EAGAIN });
                send_drains(&stream);
                if (!stream.sender->error) {
                    break;
                }
                g_assert_cmpint(stream.sender->error, ==, error);
                g_assert_cmpuint(stream.kernel.count_sends(), ==, call + 1);
                check_ended(&stream, error);
            }
        }
    }
}

/* The kernel takes a part and then fails, also when tried again. */
static void test_after_bytes()
{
    for (const char *mode : test_modes) {
        for (int version : test_versions) {
            for (size_t room = 0; room < 45000; room += 1999) {
                TestConnection stream(mode, version);

                stream.start();
                stream.kernel.stages.push_back({ room / 2, 1, EAGAIN });
                stream.kernel.stages.push_back({ room / 2, INT_MAX, ECONNRESET });
                send_drains(&stream);
                g_assert_cmpint(stream.sender->error, ==, ECONNRESET);
                check_ended(&stream, ECONNRESET);
            }
        }
    }
}

/* The handshake over a kernel that takes a byte at a time, and that fails at any call. */
static void test_handshake()
{
    for (int version : { TLS1_2_VERSION, TLS1_3_VERSION }) {
        TestConnection trickle("batch", version);

        for (int i = 0; i < 10000; ++i) {
            trickle.kernel.stages.push_back({ 1, i % 2, EAGAIN });
        }
        trickle.start();
        trickle.kernel.stages.clear();
        trickle.sender->add(drains[0]);
        trickle.sender->push_all();
        trickle.check_sent();

        for (size_t call = 0; call < 3; ++call) {
            TestConnection stream("batch", version);
            int ret;

            stream.kernel.fail_from = call;
            stream.kernel.fail_error = ECONNRESET;
            SSL_do_handshake(stream.client);
            for (int i = 0; i < 10; ++i) {
                ret = SSL_do_handshake(stream.server);
            }
            if (stream.kernel.count_sends() <= call) {
                /* sent before it failed: the server waits for the client */
                g_assert_cmpint(SSL_get_error(stream.server, ret), ==, SSL_ERROR_WANT_READ);
                continue;
            }
            g_assert_cmpuint(stream.kernel.count_sends(), ==, call + 1);
            errno = 0;
            g_assert_cmpint(stream.egress->flush(), ==, -1);
            g_assert_cmpint(errno, ==, ECONNRESET);
        }
    }
}

/* Freed at any moment: nothing leaks, nothing is used after it. */
static void test_destroy()
{
    for (const char *mode : test_modes) {
        for (int version : test_versions) {
            for (size_t room : { 0, 100, 5000, 30000 }) {
                TestConnection stream(mode, version);

                stream.start();
                stream.kernel.stages.push_back({ room, INT_MAX, EAGAIN });
                stream.sender->add(drains[0]);
                stream.sender->add(drains[1]);
                stream.sender->push();
            }
            if (version) {
                for (size_t room : { 0, 10, 500 }) {
                    TestConnection stream(mode, version);

                    stream.kernel.stages.push_back({ room, INT_MAX, EAGAIN });
                    SSL_do_handshake(stream.client);
                    SSL_do_handshake(stream.server);
                }
            }
        }
    }
}

/* What cannot be sent by TLS any more is not sent without it. */
static void test_cleared()
{
    TestConnection stream("batch", TLS1_3_VERSION);
    uint8_t garbage[64] = { 0 };
    uint8_t secret[] = "secret";
    struct iovec iov = { secret, sizeof(secret) };

    g_assert_cmpint(write(stream.sockets[1], garbage, sizeof(garbage)), ==, sizeof(garbage));
    g_assert_cmpint(SSL_do_handshake(stream.server), ==, -1);
    SSL_free(stream.server);
    stream.server = nullptr;
    stream.egress->clear_ssl();

    stream.kernel.forget_calls();
    g_assert_cmpint(stream.egress->writev(&iov, 1, RED_STREAM_MESSAGE_START), ==, -1);
    g_assert_cmpint(errno, !=, EAGAIN);
    g_assert_cmpuint(stream.kernel.count_sends(), ==, 0);
}

/* A client may ask for records of 512 bytes (RFC 6066): one SSL_write then makes many,
 * which the kernel may refuse in the middle. */
static void test_small_fragments()
{
    for (const char *mode : test_modes) {
        for (int version : { TLS1_2_VERSION, TLS1_3_VERSION }) {
            for (size_t room = 0; room < 20; ++room) {
                TestConnection stream(mode, version);

                SSL_set_tlsext_max_fragment_length(stream.client,
                                                   TLSEXT_max_fragment_length_512);
                stream.start();
                /* so many bytes that the buffer has every degree of fullness when the
                 * next SSL_write begins */
                stream.kernel.stages.push_back({ room % 4 * 1000, 3, EAGAIN });
                stream.kernel.stages.push_back({ 700, 2, EAGAIN });
                stream.sender->add({ { 6, 40, 180 }, { 6, 12700 + room * 150 }, { 18, 100000 },
                                     { 6 } });
                /* errors that this thread has left in OpenSSL's queue are of no connection */
                g_assert_null(BIO_new_file("/", "w"));
                stream.sender->push_all();
                g_assert_cmpint(stream.sender->error, ==, 0);
                g_assert_cmpuint(stream.receive(), ==, stream.sender->accepted);
                for (size_t record : stream.records) {
                    g_assert_cmpuint(record, <=, 512);
                }
            }
        }
    }
}

/* A client may ask for new keys at any time: the next SSL_write sends the server's
 * answer first, and is refused when the kernel does not take that. */
static void test_key_update()
{
    for (const char *mode : test_modes) {
        for (size_t room : { 0, 1, 20, 27, 28, 3000, 31995 }) {
            TestConnection stream(mode, TLS1_3_VERSION);
            char byte;

            stream.start();
            for (int i = 0; i < 5; ++i) {
                g_assert_cmpint(SSL_key_update(stream.client, SSL_KEY_UPDATE_REQUESTED), ==, 1);
                g_assert_cmpint(SSL_do_handshake(stream.client), ==, 1);
                g_assert_cmpint(SSL_read(stream.server, &byte, 1), ==, -1);

                stream.kernel.stages.push_back({ room, 3, EAGAIN });
                stream.kernel.stages.push_back({ 1, 2, EAGAIN });
                stream.sender->add({ { 6, 40, 180 }, { 6, 15000 }, { 6, 15000 }, { 6, 3000 } });
                stream.sender->push_all();
                g_assert_cmpint(stream.sender->error, ==, 0);
                g_assert_cmpuint(stream.egress->pending(), ==, 0);
                g_assert_cmpuint(stream.receive(), ==, stream.sender->accepted);
            }
        }
    }
}

/* The peer of a TCP connection is gone: an error, not a signal. */
static void test_reset()
{
    g_assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);

    for (const char *mode : test_modes) {
        const RedStreamPolicy policy = test_policy(mode);
        struct sockaddr_in address = { };
        socklen_t len = sizeof(address);
        const struct linger linger = { 1, 0 };
        const int listener = socket(AF_INET, SOCK_STREAM, 0);

        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        g_assert_cmpint(bind(listener, (struct sockaddr *) &address, len), ==, 0);
        g_assert_cmpint(listen(listener, 1), ==, 0);
        g_assert_cmpint(getsockname(listener, (struct sockaddr *) &address, &len), ==, 0);
        const int client = socket(AF_INET, SOCK_STREAM, 0);
        g_assert_cmpint(connect(client, (struct sockaddr *) &address, len), ==, 0);
        const int server = accept(listener, nullptr, nullptr);
        g_assert_true(test_set_nonblocking(server));
        {
            RedStreamEgress egress(server, &policy);
            TestSender sender(&egress);

            setsockopt(client, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
            close(client);
            for (int i = 0; i < 1000 && !sender.error; ++i) {
                sender.add({ { 6, 40, 180 }, { 6, 5000 } });
                sender.push();
            }
            g_assert_true(sender.error == ECONNRESET || sender.error == EPIPE);
            const int error = sender.error;
            g_assert_false(sender.push());
            g_assert_cmpint(sender.error, ==, error);
        }
        close(server);
        close(listener);
    }
}

/* The client says goodbye (close_notify) or sends nonsense: what the TLS library then
 * does not take ends the connection too. */
static void test_tls_end()
{
    for (const char *mode : test_modes) {
        for (int version : { TLS1_2_VERSION, TLS1_3_VERSION }) {
            TestConnection nonsense(mode, version);
            const char record[] = "\x17\x03\x03\x00\x20 not encrypted at all, no key.. ";
            char byte;

            nonsense.start();
            g_assert_cmpint(write(nonsense.sockets[1], record, 37), ==, 37);
            g_assert_cmpint(SSL_read(nonsense.server, &byte, 1), <=, 0);
            nonsense.sender->add(drains[0]);
            nonsense.sender->push_all();
            g_assert_cmpint(nonsense.sender->error, ==, EPIPE);
            g_assert_cmpuint(nonsense.sender->accepted, <=, test_size(drains[0]));

            /* after a goodbye one may still send (RFC 8446, 6.1), and it arrives */
            TestConnection goodbye(mode, version);

            goodbye.start();
            g_assert_cmpint(SSL_shutdown(goodbye.client), ==, 0);
            g_assert_cmpint(SSL_read(goodbye.server, &byte, 1), <=, 0);
            g_assert_cmpint(SSL_get_error(goodbye.server, 0), ==, SSL_ERROR_ZERO_RETURN);
            goodbye.sender->add(drains[0]);
            goodbye.sender->push_all();
            g_assert_cmpint(goodbye.sender->error, ==, 0);
        }
    }
}

int main(int argc, char *argv[])
{
    alarm(120);
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream/errors/every-call", test_every_call);
    g_test_add_func("/server/stream/errors/after-bytes", test_after_bytes);
    g_test_add_func("/server/stream/errors/handshake", test_handshake);
    g_test_add_func("/server/stream/errors/destroy", test_destroy);
    g_test_add_func("/server/stream/errors/cleared", test_cleared);
    g_test_add_func("/server/stream/errors/small-fragments", test_small_fragments);
    g_test_add_func("/server/stream/errors/key-update", test_key_update);
    g_test_add_func("/server/stream/errors/reset", test_reset);
    g_test_add_func("/server/stream/errors/tls-end", test_tls_end);

    const int ret = g_test_run();
    test_tls_cleanup();
    return ret;
}
