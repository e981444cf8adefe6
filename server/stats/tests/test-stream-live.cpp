/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A running stream's counters can be read from outside, and no file is left behind. */
#include <config.h>

#include <fcntl.h>
#include <map>
#include <string>
#include <unistd.h>

#include <glib/gstdio.h>

#include "red-stream-live.h"
#include "red-stream-trace.h"
#include "test-channel-client.h"
#include "test-stream-egress.h"
#include "win-alarm.h"

#include "push-visibility.h"

static char *folder;

/* The files of the folder, by number of the stream. */
static std::map<int, RedStreamLive> look()
{
    std::map<int, RedStreamLive> found;
    GDir *const dir = g_dir_open(folder, 0, nullptr);
    int pid, stream;

    g_assert_nonnull(dir);
    while (const char *name = g_dir_read_name(dir)) {
        char *const path = g_build_filename(folder, name, nullptr);
        char *content;
        gsize size;

        g_assert_cmpint(sscanf(name, "%d-%d", &pid, &stream), ==, 2);
        g_assert_cmpint(pid, ==, getpid());
        g_assert_true(g_file_get_contents(path, &content, &size, nullptr));
        g_assert_cmpuint(size, ==, sizeof(RedStreamLive));
        memcpy(&found[stream], content, sizeof(RedStreamLive));
        g_free(content);
        g_free(path);
    }
    g_dir_close(dir);
    return found;
}

static void write_message(RedStreamEgress *egress, size_t size)
{
    struct iovec iov = { const_cast<uint8_t *>(test_bytes(0)), size };

    g_assert_cmpint(egress->writev(&iov, 1, RED_STREAM_MESSAGE_START), ==, size);
    g_assert_cmpint(egress->flush(), ==, 0);
}

/* An observed egress, as the first stream of the process or a later one. */
struct Observed {
    ScriptedKernel kernel;
    const RedStreamPolicy policy = test_policy("batch");
    RedStreamObserver *const observer = red_stream_trace_new("batch", true);
    RedStreamEgress egress{ -1, &policy, ScriptedKernel::ops() };
    static int count;

    Observed()
    {
        ++count;
        g_assert_nonnull(observer);
        egress.set_observer(observer);
    }
    ~Observed() { delete observer; }
};

int Observed::count;

static void test_counters()
{
    {
        Observed stream;

        /* the first messages are those of the link, before there is a channel */
        write_message(&stream.egress, 100);
        g_assert_cmpuint(look().size(), ==, 0);

        stream.observer->channel(2, 1, false);
        write_message(&stream.egress, 50);
        write_message(&stream.egress, 60);
        const auto found = look();
        g_assert_cmpuint(found.size(), ==, 1);
        const RedStreamLive &live = found.at(Observed::count);
        g_assert_cmpstr(live.magic, ==, RED_STREAM_LIVE_MAGIC);
        g_assert_cmpstr(live.mode, ==, "batch");
        g_assert_cmpuint(live.channel_type, ==, 2);
        g_assert_cmpuint(live.channel_id, ==, 1);
        g_assert_cmpuint(live.tls, ==, 0);
        g_assert_cmpuint(live.messages, ==, 3);
        g_assert_cmpuint(live.writes, ==, 3);
        g_assert_cmpuint(live.written_bytes, ==, 210);
        g_assert_cmpuint(live.limit, ==, 0);

        stream.observer->event("flow", { 700, 900, 3, 4, 0 }, "growing");
        const RedStreamLive after = look().at(Observed::count);
        g_assert_cmpuint(after.in_flight, ==, 700);
        g_assert_cmpuint(after.limit, ==, 900);
        g_assert_cmpuint(after.rate, ==, 3);
        g_assert_cmpuint(after.delay, ==, 4);
        g_assert_cmpstr(after.phase, ==, "growing");
        g_assert_cmpuint(after.messages, ==, 3);
    }
    g_assert_cmpuint(look().size(), ==, 0);
}

/* Whoever has made the file before can't do anything to the one that is written. */
static void test_made_by_another()
{
    Observed stream;
    char *const name = g_strdup_printf("%s/%d-%d", folder, static_cast<int>(getpid()),
                                       Observed::count);
    const int theirs = open(name, O_RDWR | O_CREAT, 0666);

    g_assert_cmpint(theirs, >=, 0);
    stream.observer->channel(2, 1, false);
    g_assert_cmpint(ftruncate(theirs, 0), ==, 0);
    write_message(&stream.egress, 50);
    g_assert_cmpuint(look().at(Observed::count).messages, ==, 1);
    close(theirs);
    g_free(name);
}

/* What can't be written is warned of once, and the stream does its work. */
static void test_gone()
{
    Observed first, second;

    g_assert_cmpint(g_rmdir(folder), ==, 0);
    g_test_expect_message("Spice", G_LOG_LEVEL_WARNING, "*SPICE_STREAM_STATS: can't write*");
    first.observer->channel(2, 0, false);
    second.observer->channel(3, 0, false);
    g_test_assert_expected_messages();
    first.kernel.use();
    write_message(&first.egress, 50);
    g_assert_cmpuint(first.kernel.wire.size(), ==, 50);
}

/* Without an output buffer nothing is counted, which is said. */
static void test_unbuffered()
{
    TestServer s;
    int peer;
    RedStream *const stream = test_stream_new(s.server, &peer);

    red_stream_set_channel(stream, 0, SPICE_CHANNEL_PORT, 3);
    g_assert_cmpint(red_stream_write(stream, "abc", 3), ==, 3);
    const auto found = look();
    g_assert_cmpuint(found.size(), ==, 1);
    const RedStreamLive &live = found.begin()->second;
    g_assert_cmpstr(live.mode, ==, "cork");
    g_assert_cmpuint(live.channel_type, ==, SPICE_CHANNEL_PORT);
    g_assert_cmpuint(live.channel_id, ==, 3);
    for (uint64_t counter : { live.messages, live.records, live.writes, live.written_bytes,
                              live.pending }) {
        g_assert_cmpuint(counter, ==, RED_STREAM_LIVE_UNKNOWN);
    }
    red_stream_free(stream);
    g_assert_cmpuint(look().size(), ==, 0);
    close(peer);
}

int main(int argc, char *argv[])
{
    folder = g_dir_make_tmp("test-stream-live-XXXXXX", nullptr);
    g_assert_nonnull(folder);
    g_setenv("SPICE_STREAM_STATS", folder, TRUE);
    /* of streams */
    g_setenv("SPICE_STREAM", "cork", TRUE);
    g_test_init(&argc, &argv, nullptr);
    alarm(60);

    g_test_add_func("/stream/live/counters", test_counters);
    g_test_add_func("/stream/live/made-by-another", test_made_by_another);
    g_test_add_func("/stream/live/unbuffered", test_unbuffered);
    g_test_add_func("/stream/live/gone", test_gone);
    return g_test_run();
}
