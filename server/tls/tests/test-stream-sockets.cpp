/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test the egress over sockets of the kernel */
#include <config.h>

#include "test-stream-arrival.h"
#include "win-alarm.h"

#include "push-visibility.h"

static const TestRow sendmsg_row = {
    { test_modes, test_modes + G_N_ELEMENTS(test_modes) },
    { test_versions, test_versions + G_N_ELEMENTS(test_versions) },
    { TEST_SOCKETPAIR, TEST_UNIX, TEST_TCP },
    &red_stream_kernel_socket, nullptr, nullptr,
};

static gpointer reader_thread(gpointer data)
{
    auto stream = static_cast<SocketConnection *>(data);
    const uint64_t expected = 5000000;

    while (stream->received < expected) {
        test_is_readable(stream->sockets[1], 5000);
        stream->receive();
    }
    return nullptr;
}

/* Both ends at once. */
static void test_threads()
{
    for (int version : test_versions) {
        SocketConnection stream("batch", TEST_TCP, version, 0);
        GThread *thread = g_thread_new("reader", reader_thread, &stream);

        while (stream.sender->accepted < 5000000) {
            const size_t left = 5000000 - stream.sender->accepted;

            stream.sender->add(TestDrain(10, { MIN(left / 10, 20), MIN(left / 10, 4980) }));
            if (left < 100) {
                stream.sender->add({ { left } });
            }
            while (!stream.sender->push()) {
                struct pollfd pollfd = { stream.sockets[0], POLLOUT, 0 };

                g_assert_cmpint(stream.sender->error, ==, 0);
                poll(&pollfd, 1, 1000);
            }
        }
        g_thread_join(thread);
        g_assert_cmpuint(stream.received, ==, stream.sender->accepted);
    }
}

/* That it would be seen if something waited. */
static void test_no_wait_can_fail()
{
    SocketConnection stream("batch", TEST_TCP, 0, 0);
    bool held = false;

    for (int i = 0; i < 10 && !held; ++i) {
        uint8_t data[100];
        struct iovec iov = { data, sizeof(data) };

        test_fill(data, sizeof(data), stream.received);
        g_assert_cmpint(stream.egress->writev(&iov, 1,
                                              RED_STREAM_MESSAGE_START | RED_STREAM_MORE),
                        ==, sizeof(data));
        /* on a busy machine this may take long enough for the timer */
        held = !test_is_readable(stream.sockets[1], 50);
        g_assert_cmpint(stream.egress->flush(), ==, 0);
        g_assert_true(test_is_readable(stream.sockets[1], 5000));
        stream.receive();
        g_assert_cmpuint(stream.received, ==, (i + 1) * sizeof(data));
    }
    g_assert_true(held);
}

/* That it starves when two messages end in the last record of a drain, as they would
 * without red_stream_policy_next_record. */
static void test_gtk_reader_can_starve()
{
    for (int version : { TLS1_2_VERSION, TLS1_3_VERSION }) {
        SocketConnection stream("batch", TEST_TCP, version, 0);
        GtkReader reader(&stream);
        const TestDrain drain = { { 6, 40, 180 }, { 6, 30 } };
        uint8_t data[262];

        test_fill(data, sizeof(data), 0);
        reader.expect(drain);
        g_assert_cmpint(SSL_write(stream.server, data, test_size(drain)), ==, test_size(drain));
        g_assert_false(reader.run(50));
        g_assert_cmpuint(stream.received, ==, 226);

        /* the next one brings it on, and is late itself */
        test_fill(data, sizeof(data), 262);
        reader.expect({ { 6 } });
        g_assert_cmpint(SSL_write(stream.server, data, 6), ==, 6);
        g_assert_true(reader.run(5000));
        g_assert_cmpuint(stream.received, ==, 268);
    }
}

int main(int argc, char *argv[])
{
    alarm(300);
    g_test_init(&argc, &argv, nullptr);

    g_test_add_data_func("/server/stream/sockets/exact", &sendmsg_row, test_exact);
    g_test_add_func("/server/stream/sockets/threads", test_threads);
    g_test_add_data_func("/server/stream/sockets/no-wait", &sendmsg_row, test_no_wait);
    g_test_add_func("/server/stream/sockets/no-wait-can-fail", test_no_wait_can_fail);
    g_test_add_data_func("/server/stream/sockets/gtk-reader", &sendmsg_row, test_gtk_reader);
    g_test_add_func("/server/stream/sockets/gtk-reader-can-starve", test_gtk_reader_can_starve);

    const int ret = g_test_run();
    test_tls_cleanup();
    return ret;
}
