/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test the egress over sockets of the kernel: every byte arrives, none waits for a
 * timer */
#include <config.h>

#include "test-stream-sockets.h"
#include "win-alarm.h"

#include "push-visibility.h"

/* The modes and versions of TLS that a test goes through. */
struct TestRow {
    std::vector<const char *> modes;
    std::vector<int> versions;
    std::vector<TestTransport> transports;
    const RedStreamSocket *ops;
};

static const TestRow sendmsg_row = {
    { test_modes, test_modes + G_N_ELEMENTS(test_modes) },
    { test_versions, test_versions + G_N_ELEMENTS(test_versions) },
    { TEST_SOCKETPAIR, TEST_UNIX, TEST_TCP },
    nullptr,
};

/* milliseconds; the kernel sends what it was told to hold back after 200 */
#define AT_ONCE 150

static TestDrain random_drain(GRand *rand, int most, int largest)
{
    TestDrain drain;

    for (int n = g_rand_int_range(rand, 1, most + 1); n > 0; --n) {
        TestMessage message = { 6 };

        for (int k = g_rand_int_range(rand, 0, 4); k > 0; --k) {
            message.push_back(g_rand_int_range(rand, 0, g_rand_int_range(rand, 0, 10) ? 400 :
                                                                                        largest));
        }
        drain.push_back(message);
    }
    return drain;
}

/* Small buffers, so that the kernel refuses most of the time, and a client that reads
 * in bits. */
static void test_exact(gconstpointer data)
{
    auto row = static_cast<const TestRow *>(data);
    GRand *rand = g_rand_new_with_seed(6);

    for (const char *mode : row->modes) {
        for (TestTransport transport : row->transports) {
            for (int version : row->versions) {
                SocketConnection stream(mode, transport, version, 4096, row->ops);

                for (int i = 0; i < 15; ++i) {
                    stream.sender->add(random_drain(rand, 40, i % 5 ? 3000 : 200000));
                    while (!stream.sender->push()) {
                        g_assert_cmpint(stream.sender->error, ==, 0);
                        stream.receive(g_rand_int_range(rand, 1, 30000));
                    }
                    g_assert_cmpuint(stream.egress->pending(), ==, 0);
                }
                while (stream.received < stream.sender->accepted) {
                    g_assert_true(test_is_readable(stream.sockets[1], 5000));
                    stream.receive();
                }
                g_assert_cmpuint(stream.received, ==, stream.sender->accepted);
            }
        }
    }
    g_rand_free(rand);
}

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
    for (const char *mode : { "more", "batch" }) {
        for (int version : test_versions) {
            SocketConnection stream(mode, TEST_TCP, version, 0);
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
}

/* Read what was sent.
 * Returns whether it was there before the kernel's timer could have sent it. */
static bool receive_at_once(SocketConnection *stream)
{
    const gint64 start = g_get_monotonic_time();

    stream->receive();
    while (stream->received < stream->sender->accepted) {
        g_assert_true(test_is_readable(stream->sockets[1], 5000));
        stream->receive();
    }
    return g_get_monotonic_time() - start < AT_ONCE * 1000;
}

/* How many of 30 drains were late. */
static int count_late(const TestRow *row, const char *mode, int version, GRand *rand)
{
    SocketConnection stream(mode, TEST_TCP, version, 0, row->ops);
    int late = 0;

    for (int i = 0; i < 30; ++i) {
        /* less than a segment, or an ack would make the kernel send the rest */
        const bool small = i % 5 == 4;

        stream.sender->breaks_promise = small;
        stream.sender->add(small ? TestDrain({ { 6, 40, 180 }, { 6, 30 } }) :
                                   random_drain(rand, 30, 40000));
        while (!stream.sender->push()) {
            stream.receive();
        }
        late += !receive_at_once(&stream);
        if (i % 10 == 0) {
            g_usleep(2000);
        }
    }
    return late;
}

/* The last byte of a drain is with the peer before the next drain begins. */
static void test_no_wait(gconstpointer data)
{
    auto row = static_cast<const TestRow *>(data);
    GRand *rand = g_rand_new_with_seed(7);

    for (const char *mode : row->modes) {
        for (int version : row->versions) {
            int late = 30;

            /* a busy machine may have stopped this thread; a rule that is broken would
             * show in six drains at the least, each time */
            for (int attempt = 0; late > 3 && attempt < 5; ++attempt) {
                late = count_late(row, mode, version, rand);
            }
            g_assert_cmpint(late, <=, 3);
        }
    }
    g_rand_free(rand);
}

/* That it would be seen if something waited. */
static void test_no_wait_can_fail()
{
    for (const char *mode : { "more", "batch" }) {
        SocketConnection stream(mode, TEST_TCP, 0, 0);
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
}

int main(int argc, char *argv[])
{
    alarm(300);
    g_test_init(&argc, &argv, nullptr);

    g_test_add_data_func("/server/stream/sockets/exact", &sendmsg_row, test_exact);
    g_test_add_func("/server/stream/sockets/threads", test_threads);
    g_test_add_data_func("/server/stream/sockets/no-wait", &sendmsg_row, test_no_wait);
    g_test_add_func("/server/stream/sockets/no-wait-can-fail", test_no_wait_can_fail);

    const int ret = g_test_run();
    test_tls_cleanup();
    return ret;
}
