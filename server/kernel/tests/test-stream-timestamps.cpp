/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test that an egress learns when its flushes were acked, and that a socket whose kernel has told
 * of it is quiet again once its watch was called */
#include <config.h>

#include <string>

#include <glib/gstdio.h>

#include "test-channel-batch.h"
#include "test-stream-sockets.h"

#include "push-visibility.h"

/* microseconds until what takes next to nothing has failed */
#define ENOUGH (10 * 1000000)

/* How many messages, each ending in a flush, the kernel tests send. */
#define COUNT 20

static std::string trace_file;

static void read_notices(RedStreamEgress *egress)
{
    if (egress->get_offload()) {
        egress->get_offload()->read();
    }
}

static void write_message(RedStreamEgress *egress, size_t size)
{
    struct iovec iov = { const_cast<uint8_t *>(test_bytes(0)), size };

    g_assert_cmpint(egress->writev(&iov, 1, RED_STREAM_MESSAGE_START), ==, size);
    g_assert_cmpint(egress->flush(), ==, 0);
}

/* The END of each delivery in the trace. */
static std::vector<int> traced()
{
    std::vector<int> ends;
    char *text;

    g_assert_true(g_file_get_contents(trace_file.c_str(), &text, nullptr, nullptr));
    char **lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; ++line) {
        const char *found = strstr(*line, " delivered ");
        int end, delay;

        if (found) {
            g_assert_cmpint(sscanf(found, " delivered %d %d", &end, &delay), ==, 2);
            g_assert_cmpint(delay, >=, 0);
            ends.push_back(end);
        }
    }
    g_strfreev(lines);
    g_free(text);
    return ends;
}

/* A scripted kernel tells of flushes late, of several at once, and of other things. */
static void test_numbers()
{
    const RedStreamPolicy policy = test_policy("batch,timestamps=on");
    const int64_t now = g_get_real_time();

    /* with the second one the numbers begin anew on the way */
    for (uint32_t unacked : { 30u, UINT32_MAX - 100 }) {
        ScriptedKernel kernel;
        auto *const egress = new RedStreamEgress(-1, &policy, ScriptedKernel::ops());

        g_assert_cmpint(truncate(trace_file.c_str(), 0), ==, 0);
        kernel.has_timestamps = true;
        kernel.unacked = unacked;
        /* before there is a channel nobody would read what the kernel tells */
        write_message(egress, 70);
        egress->set_channel(1, 0);

        for (int i = 0; i < 4; ++i) {
            write_message(egress, 100);
            /* nothing more was sent: no other flush */
            g_assert_cmpint(egress->flush(), ==, 0);
        }
        g_assert_cmpuint(egress->get_counters().delivered, ==, 0);
        /* something else, a byte before the end of the first flush, its end */
        kernel.ack(unacked + 399, 0);
        kernel.ack(unacked + 98, now);
        kernel.ack(unacked + 99, now);
        read_notices(egress);
        g_assert_cmpuint(egress->get_counters().timestamps, ==, 2);
        g_assert_cmpuint(egress->get_counters().delivered, ==, 1);
        /* the second and the third by the third, and half of the fourth */
        kernel.ack(unacked + 299, now);
        kernel.ack(unacked + 350, now);
        read_notices(egress);
        g_assert_cmpuint(egress->get_counters().delivered, ==, 3);
        /* more than a call takes */
        for (int i = 0; i < 40; ++i) {
            kernel.ack(unacked + 360 + i, now + 1000000);
        }
        const RedStreamCounters before = egress->get_counters();
        read_notices(egress);
        const RedStreamCounters after = egress->get_counters();
        g_assert_cmpuint(after.delivered, ==, 4);
        g_assert_cmpuint(after.timestamps, ==, 44);
        g_assert_cmpuint(after.notice_reads - before.notice_reads, ==, 3);
        g_assert_cmpuint(after.delivery_time, >=, before.delivery_time);
        g_assert_true(kernel.notices.empty());
        delete egress;
        g_assert_true(traced() == std::vector<int>({ 170, 270, 370, 470 }));
    }
}

/* A flush of which not all was taken is one only when the rest is. */
static void test_blocked()
{
    const RedStreamPolicy policy = test_policy("batch,timestamps=on");
    ScriptedKernel kernel;
    RedStreamEgress egress(-1, &policy, ScriptedKernel::ops());
    struct iovec iov = { const_cast<uint8_t *>(test_bytes(0)), 100 };

    kernel.has_timestamps = true;
    egress.set_channel(1, 0);
    kernel.stages = { { 60, 1, EAGAIN } };
    g_assert_cmpint(egress.writev(&iov, 1, RED_STREAM_MESSAGE_START), ==, 100);
    g_assert_cmpuint(egress.pending(), ==, 40);
    kernel.ack(59);
    read_notices(&egress);
    g_assert_cmpuint(egress.get_counters().delivered, ==, 0);
    kernel.stages.clear();
    g_assert_cmpint(egress.flush(), ==, 0);
    kernel.ack(99);
    read_notices(&egress);
    g_assert_cmpuint(egress.get_counters().delivered, ==, 1);
}

/* Off by default, and where there is no such thing all is as without. */
static void test_refused()
{
    for (const char *mode : { "batch", "batch,timestamps=on" }) {
        const RedStreamPolicy policy = test_policy(mode);
        ScriptedKernel kernel;
        RedStreamEgress egress(-1, &policy, ScriptedKernel::ops());

        kernel.has_timestamps = !policy.timestamps;
        egress.set_channel(1, 0);
        write_message(&egress, 100);
        read_notices(&egress);
        g_assert_cmpuint(egress.get_counters().notice_reads, ==, 0);
        g_assert_cmpuint(kernel.count_sends(), ==, 1);
    }
    SocketConnection stream("flow,timestamps=on", TEST_UNIX, 0, 0);

    stream.egress->set_channel(1, 0);
    write_message(stream.egress, 100);
    read_notices(stream.egress);
    g_assert_cmpuint(stream.egress->get_counters().notice_reads, ==, 0);
    g_assert_cmpuint(stream.egress->get_counters().written_bytes, ==, 100);
}

static bool is_quiet(int fd, int milliseconds=0)
{
    struct pollfd pollfd = { fd, 0, 0 };

    return poll(&pollfd, 1, milliseconds) == 0;
}

/* The kernel's own, in the modes that send in different ways and over TLS. */
static void test_kernel()
{
    int noisy = 0;

    for (const char *mode : { "gather", "more", "flow" }) {
        for (int version : test_versions) {
            SocketConnection stream((std::string(mode) + ",timestamps=on").c_str(), TEST_TCP,
                                    version, 0);
            const int64_t latest = g_get_monotonic_time() + ENOUGH;

            stream.egress->set_channel(1, 0);
            for (int i = 0; i < COUNT; ++i) {
                stream.sender->add({ { 6, 40, 180 }, { 6, 30, 5000 } });
                while (!stream.sender->push()) {
                    stream.receive();
                }
                stream.receive();
                noisy += !is_quiet(stream.sockets[0]);
            }
            /* the kernel may ack the last ones later */
            if (stream.egress->get_counters().delivered < COUNT) {
                noisy += !is_quiet(stream.sockets[0], ENOUGH / 1000);
            }
            while (stream.egress->get_counters().delivered < COUNT) {
                g_assert_cmpint(g_get_monotonic_time(), <, latest);
                stream.receive();
                read_notices(stream.egress);
            }
            g_assert_true(is_quiet(stream.sockets[0]));
            g_assert_cmpuint(stream.received, ==, stream.sender->accepted);
        }
    }
    /* or it would prove nothing that it is quiet in the end */
    g_assert_cmpint(noisy, >, 0);
    test_tls_cleanup();
}

static RedStream *tcp_stream_new(SpiceServer *server, int *peer)
{
    int sockets[2];

    test_make_sockets(TEST_TCP, 0, sockets);
    red_socket_set_non_blocking(sockets[0], true);
    red_socket_set_non_blocking(sockets[1], true);
    *peer = sockets[1];
    return red_stream_new(server, sockets[0]);
}

/* Unread entries of the error queue do not keep a channel's loop awake. */
static void test_loop()
{
    {
        Fixture test(RedChannel::MigrateAll, tcp_stream_new);
        const int64_t latest = g_get_monotonic_time() + ENOUGH;
        size_t received = 0;
        int idle = 0;

        for (int i = 0; i < COUNT; ++i) {
            test.add_items(1);
            test.rcc->push();
            while (received < (i + 1) * MESSAGE_SIZE) {
                g_assert_cmpint(g_get_monotonic_time(), <, latest);
                received += test.receive();
            }
        }
        /* the main channel's timers may have something to do once in a while */
        while (idle < 5) {
            g_assert_cmpint(g_get_monotonic_time(), <, latest);
            idle = g_main_context_iteration(basic_event_loop_get_context(), FALSE) ? 0 : idle + 1;
            g_usleep(1000);
        }
    }
    /* a machine so busy that this takes long has the server ask whether somebody is there */
    g_assert_cmpuint(last_counters.messages, >=, COUNT);
    g_assert_cmpuint(last_counters.delivered, >=, COUNT);
}

/* Those of this series: good, out of range, twice. */
static void test_settings()
{
    RedStreamPolicy policy = { };

    g_assert_true(red_stream_policy_parse("flow", &policy));
    g_assert_false(policy.ktls || policy.timestamps);
    g_assert_true(red_stream_policy_parse("batch,ktls=on,timestamps=on", &policy));
    g_assert_true(policy.ktls && policy.timestamps);
    g_assert_true(red_stream_policy_parse("cork,ktls=on,ktls=off", &policy));
    g_assert_false(policy.ktls || policy.timestamps);
    for (const char *text : { "flow,ktls", "flow,timestamps=", "flow,timestamps=2" }) {
        g_assert_false(red_stream_policy_parse(text, &policy));
        g_assert_false(policy.ktls || policy.timestamps);
    }
}

int main(int argc, char *argv[])
{
    static const BatchTest tests[] = {
        { "settings", "flow", test_settings },
        { "numbers", "flow", test_numbers },
        { "blocked", "flow", test_blocked },
        { "refused", "flow", test_refused },
        { "kernel", "flow", test_kernel },
        { "loop", "flow,timestamps=on", test_loop },
        { "loop-batch", "batch,timestamps=on", test_loop },
        { "loop-more", "more,timestamps=on", test_loop },
    };

    trace_file = std::string(g_get_tmp_dir()) + "/test-timestamps-" + std::to_string(getpid());
    g_setenv("SPICE_STREAM_TRACE", trace_file.c_str(), TRUE);
    const int result = batch_test_main(argc, argv, "stream-timestamps", tests);
    g_unlink(trace_file.c_str());
    return result;
}
