/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test what the kernel is told of the path, and that it gets no more than it should hold */
#include <config.h>

#ifdef __linux__
#include <netinet/in.h>
#include <netinet/tcp.h>
#endif

#include "red-stream-path.h"
#include "test-sockets.h"
#include "test-stream-link.h"
#include "test-stream-pacing.h"
#include "win-alarm.h"

#include "push-visibility.h"

/* The size of records follows what the channel knows of the path, too. */
static void test_path_rate()
{
    const RedStreamLink link = test_make_link(400, 100000, 0);
    PacedConnection stream(TLS1_3_VERSION);

    stream.kernel.link = &link;
    stream.start();
    test_check_sizes(test_drain_records(&stream, { { 6, 8000 } }), { 8006 });

    stream.egress->set_path(250000, 100000);
    test_link_ages();
    test_check_sizes(test_drain_records(&stream, { { 6, 8000 } }), { 2500, 2500, 2500, 506 });

    stream.egress->set_path(0, 100000);
    test_link_ages();
    test_check_sizes(test_drain_records(&stream, { { 6, 8000 } }), { 8006 });
}

/* What the kernel may hold unsent follows the link too, when it changes much. */
static void test_unsent_limit()
{
    for (int version : test_versions) {
        RedStreamLink link = test_make_link(20, 40000, 0);
        PacedConnection stream(version);
        const std::vector<uint32_t> &limits = stream.unsent_limits;

        stream.kernel.link = &link;
        stream.start();
        for (uint64_t rate : { 2500000, 2500000, 4000000, 1500000, 8000000, 9000000, 250000 }) {
            link.delivery_rate = rate;
            test_link_ages();
            test_drain_records(&stream, TestDrain(3, { 6, 40, 180 }));
            g_assert_cmpuint(limits.back(), >, red_stream_path_unsent_limit(&link) / 2);
            g_assert_cmpuint(limits.back(), <, red_stream_path_unsent_limit(&link) * 2);
        }
        g_assert_cmpuint(limits.size(), ==, 3);
    }
}

/* Over a slow link the kernel never holds more unsent bytes than its limit, also of a longer
 * message, and gets nothing while it holds that many. The rest follows. */
static void test_budget()
{
    for (int version : test_versions) {
        const RedStreamLink link = test_make_link(20, 100000, 250000);
        const uint32_t limit = red_stream_path_unsent_limit(&link);
        PacedConnection stream(version);
        ScriptedKernel &kernel = stream.kernel;

        kernel.link = &link;
        stream.start();
        test_drain_records(&stream, { { 6, 40 } });
        g_assert_cmpuint(stream.unsent_limits.back(), ==, limit);

        kernel.slow = true;
        kernel.unsent = limit - 1000;
        stream.sender->add({ { 6, 60000 } });
        g_assert_false(stream.sender->push());
        g_assert_cmpuint(kernel.unsent, ==, limit);
        /* it may be less than a segment, and has to be sent all the same */
        g_assert_false(kernel.calls.back().more);
        const size_t sends = kernel.count_sends();
        g_assert_false(stream.sender->push());
        g_assert_cmpuint(kernel.count_sends(), ==, sends);

        kernel.unsent = 0;
        for (int i = 0; !stream.sender->push(); ++i) {
            g_assert_cmpint(i, <, 60000 / static_cast<int>(limit) + 1);
            g_assert_cmpuint(kernel.unsent, ==, limit);
            kernel.unsent = 0;
        }
        stream.check_sent();

        /* and so is what fills the budget to the last byte, though something follows it (of more
         * than the output buffer copies) */
        for (size_t over = 0; over < 200; ++over) {
            kernel.unsent = 0;
            stream.sender->add({ { 6, 3 * limit - 100 + over }, { 6 } });
            while (!stream.sender->push()) {
                g_assert_cmpuint(kernel.unsent, ==, limit);
                g_assert_false(kernel.calls.back().more);
                kernel.unsent = 0;
            }
            stream.check_sent();
        }

        uint8_t byte = 0;
        const struct iovec one = { &byte, 1 };
        kernel.unsent = limit - 1;
        g_assert_cmpint(stream.pacing.send(&one, 1, 0, true), ==, 1);
        g_assert_false(kernel.calls.back().more);
    }
}

/* The limit becomes lower while the kernel holds back a part of a segment: without a push it
 * would do so for 0.2 s. */
static void test_lower_limit()
{
    /* more than the output buffer takes */
    std::vector<uint8_t> data(40000);
    const struct iovec iov = { data.data(), data.size() };
    RedStreamLink link = test_make_link(20, 100000, 1000000);
    PacedConnection stream(0);
    ScriptedKernel &kernel = stream.kernel;

    kernel.link = &link;
    stream.start();
    test_drain_records(&stream, { { 6, 40 } });
    kernel.slow = true;
    stream.egress->writev(&iov, 1, RED_STREAM_MESSAGE_START | RED_STREAM_MORE);
    g_assert_false(kernel.pushed);

    link.delivery_rate = 100000;
    const size_t sends = kernel.count_sends();
    stream.egress->writev(&iov, 1, RED_STREAM_MESSAGE_START);
    g_assert_cmpuint(kernel.count_sends(), ==, sends);
    g_assert_true(kernel.pushed);
}

/* The kernel is told a pace when one is wanted, another one when there is a queue, and when
 * none is wanted any more. */
static void test_pace()
{
    RedStreamLink link = test_make_link(100, 100000, 0);
    PacedConnection stream(TLS1_3_VERSION);
    const std::vector<uint64_t> &paces = stream.paces;

    link.unacked = 10;
    stream.kernel.link = &link;
    stream.start();
    stream.egress->set_path(0, 100000);
    test_drain_records(&stream, { { 6, 8000 } });
    g_assert_cmpuint(paces.size(), ==, 0);

    stream.pacing.set_pace(250000);
    g_assert_cmpuint(paces.size(), ==, 1);
    g_assert_cmpuint(paces[0], >, 250000);
    test_drain_records(&stream, { { 6, 8000 } });
    g_assert_cmpuint(paces.size(), ==, 1);
    link.unacked = 30;
    link.rtt = 150000;
    test_drain_records(&stream, { { 6, 8000 } });
    g_assert_cmpuint(paces.size(), ==, 2);
    g_assert_cmpuint(paces[1], <, 250000);

    stream.pacing.set_pace(0);
    test_drain_records(&stream, { { 6, 8000 } });
    g_assert_cmpuint(paces.size(), ==, 3);
    g_assert_cmpuint(paces[2], ==, 0);

    /* none is wanted: TCP_INFO is not read for it */
    uint8_t byte = 0;
    const struct iovec one = { &byte, 1 };
    const size_t calls = stream.kernel.link_calls;
    stream.pacing.set_pace(0);
    stream.pacing.send(&one, 1, 0, false);
    g_assert_cmpuint(stream.kernel.link_calls, ==, calls);

    /* nothing is known of the link */
    stream.kernel.link = nullptr;
    stream.pacing.set_pace(250000);
    g_assert_cmpuint(paces.size(), ==, 3);
}

/* A limit that is no less than what the kernel takes at once is the kernel's to keep, paced or
 * not: @stream sends all. */
static void check_whole(PacedConnection *stream, uint32_t limit)
{
    g_assert_cmpuint(stream->unsent_limits.back(), ==, limit);
    stream->kernel.slow = true;
    for (uint64_t pace : { 0, 250000 }) {
        stream->pacing.set_pace(pace);
        stream->kernel.unsent = limit - 1000;
        stream->sender->add({ { 6, 8000 } });
        g_assert_true(stream->sender->push());
        stream->check_sent();
    }
    stream->kernel.slow = false;
}

/* The limit is changed when it is half or twice what it was, and kept to if it is less than the
 * kernel takes at once. */
static void test_limits()
{
    RedStreamLink link = test_make_link(20, 100000, 1310720);
    PacedConnection stream(0);

    stream.kernel.link = &link;
    stream.start();
    for (uint32_t limit : { 65536, 131072, 65536 }) {
        link.delivery_rate = limit * UINT64_C(20);
        stream.kernel.unsent = 0;
        test_link_ages();
        test_drain_records(&stream, { { 6, 40 } });
        check_whole(&stream, limit);
    }
    g_assert_cmpuint(stream.unsent_limits.size(), ==, 3);
}

/* Where the kernel knows no limit there is none. */
static void test_no_limit()
{
    const RedStreamLink link = test_make_link(20, 100000, 250000);
    PacedConnection stream(0);

    stream.takes_limits = false;
    stream.kernel.link = &link;
    stream.start();
    test_drain_records(&stream, { { 6, 40 } });
    g_assert_cmpuint(stream.unsent_limits.size(), >, 0);
    stream.kernel.unsent = stream.unsent_limits[0];
    stream.sender->add({ { 6, 8000 } });
    g_assert_true(stream.sender->push());
    stream.check_sent();
}

/* The kernel has the limit that it was given, and says so if it has none. */
static void test_kernel_limit()
{
#if defined(__linux__) && defined(TCP_NOTSENT_LOWAT)
    int sockets[2];
    uint32_t limit = 0;
    socklen_t len = sizeof(limit);

    test_make_sockets(TEST_TCP, 0, sockets);
    g_assert_true(red_stream_pacing_kernel.set_unsent_limit(sockets[0], 8192));
    g_assert_cmpint(getsockopt(sockets[0], IPPROTO_TCP, TCP_NOTSENT_LOWAT, &limit, &len), ==, 0);
    g_assert_cmpuint(limit, ==, 8192);
    close(sockets[0]);
    close(sockets[1]);
    g_assert_false(red_stream_pacing_kernel.set_unsent_limit(-1, 8192));
    g_assert_false(red_stream_pacing_kernel.set_pace(-1, 8192));
#else
    g_test_skip("no TCP_NOTSENT_LOWAT");
#endif
}

/* The kernel sends no faster than it is told, until it is told that it may. */
static void test_kernel_pace()
{
#ifdef SO_MAX_PACING_RATE
    int sockets[2];
    uint32_t rate = 0;
    socklen_t len = sizeof(rate);

    test_make_sockets(TEST_TCP, 0, sockets);
    g_assert_true(red_stream_pacing_kernel.set_pace(sockets[0], 250000));
    g_assert_cmpint(getsockopt(sockets[0], SOL_SOCKET, SO_MAX_PACING_RATE, &rate, &len), ==, 0);
    g_assert_cmpuint(rate, ==, 250000);
    for (uint64_t fast : { UINT64_C(0), UINT64_C(5000000000) }) {
        g_assert_true(red_stream_pacing_kernel.set_pace(sockets[0], 250000));
        g_assert_true(red_stream_pacing_kernel.set_pace(sockets[0], fast));
        g_assert_cmpint(getsockopt(sockets[0], SOL_SOCKET, SO_MAX_PACING_RATE, &rate, &len), ==, 0);
        g_assert_cmpuint(rate, ==, UINT32_MAX);
    }
    close(sockets[0]);
    close(sockets[1]);
#else
    g_test_skip("no SO_MAX_PACING_RATE");
#endif
}

/* A connection that has ended holds nothing: sending has to be tried, for it to fail. */
static void test_kernel_ended()
{
#ifdef __linux__
    const struct linger reset = { 1, 0 };
    const std::vector<uint8_t> bytes(1 << 20);
    RedStreamLink link = { };
    int sockets[2];

    test_make_sockets(TEST_TCP, 65536, sockets);
    g_assert_true(test_set_nonblocking(sockets[0]));
    while (send(sockets[0], bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
        continue;
    }
    g_assert_true(red_stream_kernel_socket.get_link(sockets[0], &link));
    g_assert_cmpuint(link.unsent, >, 0);

    setsockopt(sockets[1], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(sockets[1]);
    g_assert_true(test_is_readable(sockets[0], 5000));
    g_assert_true(red_stream_kernel_socket.get_link(sockets[0], &link));
    g_assert_cmpuint(link.unsent, ==, 0);
    close(sockets[0]);
#else
    g_test_skip("no TCP_INFO");
#endif
}

int main(int argc, char *argv[])
{
    alarm(120);
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream/pacing/path-rate", test_path_rate);
    g_test_add_func("/server/stream/pacing/unsent-limit", test_unsent_limit);
    g_test_add_func("/server/stream/pacing/budget", test_budget);
    g_test_add_func("/server/stream/pacing/lower-limit", test_lower_limit);
    g_test_add_func("/server/stream/pacing/pace", test_pace);
    g_test_add_func("/server/stream/pacing/limits", test_limits);
    g_test_add_func("/server/stream/pacing/no-limit", test_no_limit);
    g_test_add_func("/server/stream/pacing/kernel-limit", test_kernel_limit);
    g_test_add_func("/server/stream/pacing/kernel-pace", test_kernel_pace);
    g_test_add_func("/server/stream/pacing/kernel-ended", test_kernel_ended);

    const int ret = g_test_run();
    test_tls_cleanup();
    return ret;
}
