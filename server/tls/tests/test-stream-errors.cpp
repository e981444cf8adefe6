/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test what the egress does when the connection ends */
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

int main(int argc, char *argv[])
{
    alarm(120);
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream/errors/every-call", test_every_call);
    g_test_add_func("/server/stream/errors/after-bytes", test_after_bytes);
    g_test_add_func("/server/stream/errors/destroy", test_destroy);
    g_test_add_func("/server/stream/errors/reset", test_reset);

    const int ret = g_test_run();
    test_tls_cleanup();
    return ret;
}
