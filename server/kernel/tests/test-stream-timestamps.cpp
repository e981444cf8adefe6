/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test that an egress learns when its flushes were acked, and that a socket whose kernel has told
 * of it is quiet again once its watch was called */
#include <config.h>

#include <string>

#include <glib/gstdio.h>

#include "red-stream-ktls.h"
#include "red-stream-trace.h"
#include "test-channel-batch.h"
#include "test-stream-offload.h"
#include "test-stream-sockets.h"

#include "push-visibility.h"

/* microseconds until what takes next to nothing has failed */
#define ENOUGH (10 * 1000000)

/* How many messages, each ending in a flush, the kernel tests send. */
#define COUNT 20

static std::string trace_file;

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

/* Attaches what @policy asks for. */
static std::unique_ptr<RedStreamOffload> make_offload(const RedStreamPolicy *policy,
                                                      RedStreamEgress *egress,
                                                      RedStreamObserver *observer = nullptr,
                                                      const RedStreamOffloadSocket *ops =
                                                      ScriptedOffload::ops())
{
    std::unique_ptr<RedStreamOffload> offload(RedStreamOffload::create(policy, egress, false,
                                                                       observer, ops));

    egress->set_sender(offload.get());
    return offload;
}

/* A scripted kernel tells of flushes late, of several at once, and of other things. */
static void test_numbers()
{
    const RedStreamPolicy policy = test_policy("batch,timestamps=on");
    const int64_t now = g_get_real_time();

    /* with the second one the numbers begin anew on the way */
    for (uint32_t unacked : { 30u, UINT32_MAX - 100 }) {
        ScriptedKernel kernel;
        ScriptedOffload script(&kernel);
        RedStreamEgress egress(-1, &policy, ScriptedKernel::ops());

        std::unique_ptr<RedStreamObserver> observer(red_stream_trace_new("batch", true));
        g_assert_cmpint(truncate(trace_file.c_str(), 0), ==, 0);
        script.has_timestamps = true;
        script.unacked = unacked;
        /* before there is a channel nobody would read what the kernel tells */
        write_message(&egress, 70);
        const auto offload = make_offload(&policy, &egress, observer.get());
        const RedStreamTimestampCounters &counters = offload->get_timestamps()->get_counters();

        for (int i = 0; i < 4; ++i) {
            write_message(&egress, 100);
            /* nothing more was sent: no other flush */
            g_assert_cmpint(egress.flush(), ==, 0);
        }
        g_assert_cmpuint(counters.delivered, ==, 0);
        /* something else, a byte before the end of the first flush, its end */
        script.ack(unacked + 399, 0);
        script.ack(unacked + 98, now);
        script.ack(unacked + 99, now);
        offload->read();
        g_assert_cmpuint(counters.timestamps, ==, 2);
        g_assert_cmpuint(counters.delivered, ==, 1);
        /* the second and the third by the third, and half of the fourth */
        script.ack(unacked + 299, now);
        script.ack(unacked + 350, now);
        offload->read();
        g_assert_cmpuint(counters.delivered, ==, 3);
        /* more than a call takes */
        for (int i = 0; i < 40; ++i) {
            script.ack(unacked + 360 + i, now + 1000000);
        }
        const RedStreamTimestampCounters before = counters;
        const uint64_t reads = offload->get_reads();
        offload->read();
        g_assert_cmpuint(counters.delivered, ==, 4);
        g_assert_cmpuint(counters.timestamps, ==, 44);
        g_assert_cmpuint(offload->get_reads() - reads, ==, 3);
        g_assert_cmpuint(counters.delivery_time, >=, before.delivery_time);
        g_assert_true(script.notices.empty());
        observer.reset();
        g_assert_true(traced() == std::vector<int>({ 170, 270, 370, 470 }));
    }
}

/* A flush of which not all was taken is one only when the rest is. */
static void test_blocked()
{
    const RedStreamPolicy policy = test_policy("batch,timestamps=on");
    ScriptedKernel kernel;
    ScriptedOffload script(&kernel);
    RedStreamEgress egress(-1, &policy, ScriptedKernel::ops());
    struct iovec iov = { const_cast<uint8_t *>(test_bytes(0)), 100 };

    script.has_timestamps = true;
    const auto offload = make_offload(&policy, &egress);
    kernel.stages = { { 60, 1, EAGAIN } };
    g_assert_cmpint(egress.writev(&iov, 1, RED_STREAM_MESSAGE_START), ==, 100);
    g_assert_cmpuint(egress.pending(), ==, 40);
    script.ack(59);
    offload->read();
    g_assert_cmpuint(offload->get_timestamps()->get_counters().delivered, ==, 0);
    kernel.stages.clear();
    g_assert_cmpint(egress.flush(), ==, 0);
    script.ack(99);
    offload->read();
    g_assert_cmpuint(offload->get_timestamps()->get_counters().delivered, ==, 1);
}

/* Off by default, and where there is no such thing all is as without. */
static void test_refused()
{
    for (const char *mode : { "batch", "batch,timestamps=on", "batch,timestamps=on,ktls=on" }) {
        const RedStreamPolicy policy = test_policy(mode);
        ScriptedKernel kernel;
        ScriptedOffload script(&kernel);
        RedStreamEgress egress(-1, &policy, ScriptedKernel::ops());

        script.has_timestamps = strcmp(mode, "batch,timestamps=on") != 0;
        g_assert_null(RedStreamOffload::create(&policy, &egress, true, nullptr,
                                               ScriptedOffload::ops()));
    }
    SocketConnection stream("batch,timestamps=on", TEST_UNIX, 0, 0);

    g_assert_null(RedStreamOffload::create(&stream.policy, stream.egress, false, nullptr));
}

static bool is_quiet(int fd, int milliseconds=0)
{
    struct pollfd pollfd = { fd, 0, 0 };

    return poll(&pollfd, 1, milliseconds) == 0;
}

/* The kernel's own, and over TLS. */
static void test_kernel()
{
    int noisy = 0;

    for (int version : test_versions) {
        SocketConnection stream("batch,timestamps=on", TEST_TCP, version, 0);
        const int64_t latest = g_get_monotonic_time() + ENOUGH;
        const auto offload = make_offload(&stream.policy, stream.egress, nullptr,
                                          &red_stream_offload_kernel);
        const RedStreamTimestampCounters &counters = offload->get_timestamps()->get_counters();

        for (int i = 0; i < COUNT; ++i) {
            const int off = 0;

            /* the client's kernel acks a little later */
            setsockopt(stream.sockets[1], IPPROTO_TCP, TCP_QUICKACK, &off, sizeof(off));
            stream.sender->add({ { 6, 40, 180 }, { 6, 30, 50 } });
            while (!stream.sender->push()) {
                stream.receive();
            }
            stream.receive();
            noisy += !is_quiet(stream.sockets[0]);
        }
        /* the kernel may ack the last ones later */
        if (counters.delivered < COUNT) {
            noisy += !is_quiet(stream.sockets[0], ENOUGH / 1000);
        }
        while (counters.delivered < COUNT) {
            g_assert_cmpint(g_get_monotonic_time(), <, latest);
            stream.receive();
            offload->read();
        }
        g_assert_true(is_quiet(stream.sockets[0]));
        g_assert_cmpuint(stream.received, ==, stream.sender->accepted);
        stream.egress->set_sender(nullptr);
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
    g_assert_cmpuint(traced().size(), >=, COUNT);
}

/* Those of this series: good, out of range, twice. */
static void test_settings()
{
    RedStreamPolicy policy = { };
    const auto check = [&](uint32_t ktls, uint32_t timestamps, uint32_t zerocopy) {
        g_assert_cmpuint(red_stream_setting_ktls.get(&policy), ==, ktls);
        g_assert_cmpuint(red_stream_setting_timestamps.get(&policy), ==, timestamps);
        g_assert_cmpuint(red_stream_setting_zerocopy.get(&policy), ==, zerocopy);
    };

    g_assert_true(red_stream_policy_parse("flow", &policy));
    check(0, 0, 0);
    g_assert_true(red_stream_policy_parse("batch,ktls=on,timestamps=on,zerocopy=4096", &policy));
    check(1, 1, 4096);
    g_assert_true(red_stream_policy_parse("cork,ktls=on,ktls=off,zerocopy=16777216,zerocopy=off",
                                          &policy));
    check(0, 0, 0);
    for (const char *text : { "flow,ktls", "flow,timestamps=", "flow,timestamps=2", "flow,zerocopy",
                              "flow,zerocopy=", "flow,zerocopy=on", "flow,zerocopy=0",
                              "flow,zerocopy=4095", "flow,zerocopy=16777217", "flow,zerocopy=10k",
                              "flow,zerocopy=-1" }) {
        g_assert_false(red_stream_policy_parse(text, &policy));
        check(0, 0, 0);
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
    };

    trace_file = std::string(g_get_tmp_dir()) + "/test-timestamps-" + std::to_string(getpid());
    g_setenv("SPICE_STREAM_TRACE", trace_file.c_str(), TRUE);
    const int result = batch_test_main(argc, argv, "stream-timestamps", tests);
    g_unlink(trace_file.c_str());
    return result;
}
