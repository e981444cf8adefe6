/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memory of a message stays unchanged while the kernel may read it, is released then, and is
 * handled when a connection ends. */
#include <config.h>

#include <string>

#include <glib/gstdio.h>

#include "test-channel-batch.h"
#include "test-stream-arrival.h"
#include "test-stream-offload.h"

#include "push-visibility.h"

/* microseconds until what takes next to nothing has failed */
#define ENOUGH (30 * 1000000)

/* An egress over a kernel that tells what the test wants, and a sender that keeps messages. */
struct Scripted
{
    explicit Scripted(const char *mode = "batch,zerocopy=4096"):
        connection(mode, 0), script(&connection.kernel)
    {
        script.has_zerocopy = true;
        offload.reset(RedStreamOffload::create(&connection.policy, connection.egress, false,
                                               nullptr,
                                               ScriptedOffload::ops()));
        keeper = new KeepingSender(connection.egress, offload.get(), &connection.kernel);
        delete connection.sender;
        connection.sender = keeper;
    }
    ~Scripted()
    {
        connection.egress->set_sender(nullptr);
        offload.reset();
    }

    ScriptedKernel &kernel() { return connection.kernel; }
    KeepingSender &sender() { return *keeper; }
    RedStreamZerocopy &zerocopy() { return *offload->get_zerocopy(); }

    void send(const TestDrain &drain)
    {
        sender().add(drain);
        sender().push_all();
    }

    /* What was sent is all there, in order. */
    void check_wire()
    {
        g_assert_cmpuint(kernel().wire.size(), ==, sender().accepted);
        test_verify(kernel().wire.data(), kernel().wire.size(), 0);
    }

    TestConnection connection;
    ScriptedOffload script;
    std::unique_ptr<RedStreamOffload> offload;
    KeepingSender *keeper;
};

/* What has no more bytes than the limit is copied, and so is what was buffered. */
static void test_limit()
{
    Scripted test("batch,zerocopy=10000");

    test.send({ { 10000 } });
    g_assert_cmpuint(test.script.kept.size(), ==, 0);
    g_assert_cmpuint(test.sender().parts, ==, 0);
    test.send({ { 6, 100 }, { 6, 10000 } });
    g_assert_cmpuint(test.script.kept.size(), ==, 1);
    g_assert_cmpuint(test.zerocopy().outstanding(), ==, 10006);
    g_assert_cmpuint(test.sender().parts, ==, 2);
    /* each call that sent counts, and what was buffered leaves a call before */
    g_assert_cmpuint(test.connection.egress->get_counters().writes, ==, 3);
    g_assert_cmpuint(test.kernel().count_sends(), ==, 3);
    g_assert_true(test.kernel().calls[1].more);
    /* a flush has nothing left, although the kernel has not told that it is over */
    g_assert_cmpint(test.connection.egress->flush(), ==, 0);
    g_assert_cmpuint(test.zerocopy().outstanding(), ==, 10006);
    test.script.complete(0, 0);
    test.send({});
    g_assert_cmpuint(test.zerocopy().outstanding(), ==, 0);
    g_assert_cmpuint(test.sender().parts, ==, 0);
    g_assert_cmpuint(test.zerocopy().get_counters().completions, ==, 1);
    test.check_wire();
}

/* Told late, out of order, several at once, twice, and of what was never sent. */
static void test_order()
{
    Scripted test;

    test.send({ { 5000 }, { 6, 5000, 200 }, { 5000 }, { 5000 } });
    g_assert_cmpuint(test.script.kept.size(), ==, 4);
    g_assert_cmpuint(test.sender().parts, ==, 6);
    test.script.notices.push_back({ RedStreamNotice::COMPLETED, 200, 0, 4, false });
    test.script.notices.push_back({ RedStreamNotice::COMPLETED, UINT32_MAX, 0, 100, false });
    test.script.complete(2, 2);
    test.send({});
    g_assert_cmpuint(test.zerocopy().get_counters().completions, ==, 1);
    g_assert_cmpuint(test.sender().parts, ==, 6);
    test.script.complete(0, 0);
    test.script.complete(0, 0);
    test.send({});
    g_assert_cmpuint(test.sender().parts, ==, 5);
    test.script.complete(1, 3);
    test.send({});
    g_assert_cmpuint(test.sender().parts, ==, 0);
    g_assert_cmpuint(test.zerocopy().outstanding(), ==, 0);
    g_assert_cmpuint(test.zerocopy().get_counters().completions, ==, 4);
    g_assert_cmpstr(test.zerocopy().get_state(), ==, "on");
    test.check_wire();
}

/* Of a message that goes in several calls all are waited for. */
static void test_blocked()
{
    Scripted test;

    test.kernel().stages = { { 6000, 1, EAGAIN }, { 20000, 1, EAGAIN }, { 100, 1, EAGAIN } };
    test.send({ { 6, 50000 } });
    test.check_wire();
    g_assert_cmpuint(test.script.kept.size(), ==, 4);
    test.script.complete(0, 2);
    test.send({});
    g_assert_cmpuint(test.sender().parts, ==, 2);
    test.script.complete(3, 3);
    test.send({});
    g_assert_cmpuint(test.sender().parts, ==, 0);
}

/* The kernel has no memory for a call: that one is copied. */
static void test_no_buffers()
{
    Scripted test;

    test.script.no_buffers = 2;
    test.send({ { 100 }, { 5000 }, { 6, 5000 }, { 5000 } });
    g_assert_cmpuint(test.script.kept.size(), ==, 1);
    g_assert_cmpuint(test.zerocopy().get_counters().refused, ==, 2);
    g_assert_cmpuint(test.sender().parts, ==, 1);
    test.script.complete(0, 0);
    test.send({});
    g_assert_cmpuint(test.sender().parts, ==, 0);
    test.check_wire();
}

/* The kernel copies again and again: the setting turns itself off, and outstanding completions are
 * waited for all the same. */
static void test_copied()
{
    Scripted test;
    uint32_t sent = 0;

    for (int run : { RED_STREAM_ZEROCOPY_COPIES - 1, RED_STREAM_ZEROCOPY_COPIES }) {
        for (int i = 0; i < run + 2; ++i) {
            test.send({ { 5000 } });
        }
        g_assert_cmpstr(test.zerocopy().get_state(), ==, "on");
        test.script.complete(sent, sent + run - 1, true);
        test.script.complete(sent + run, sent + run, run == RED_STREAM_ZEROCOPY_COPIES);
        sent += run + 1;
        test.send({});
        g_assert_cmpuint(test.sender().parts, ==, 1);
        if (run < RED_STREAM_ZEROCOPY_COPIES) {
            test.script.complete(sent, sent);
            ++sent;
        }
    }
    g_assert_cmpstr(test.zerocopy().get_state(), ==, "the kernel copies");
    test.send({ { 5000 } });
    g_assert_cmpuint(test.script.kept.size(), ==, sent + 1);
    g_assert_cmpuint(test.sender().parts, ==, 1);
    test.script.complete(sent, sent);
    test.send({});
    g_assert_cmpuint(test.sender().parts, ==, 0);
    test.check_wire();
}

/* Not more is kept than the display has drawables for. */
static void test_bound()
{
    Scripted test;

    for (int i = 0; i < RED_STREAM_ZEROCOPY_MESSAGES + 10; ++i) {
        test.send({ { 5000 } });
    }
    g_assert_cmpuint(test.script.kept.size(), ==, RED_STREAM_ZEROCOPY_MESSAGES);
    g_assert_cmpuint(test.sender().parts, ==, RED_STREAM_ZEROCOPY_MESSAGES);
    test.script.complete(0, RED_STREAM_ZEROCOPY_MESSAGES - 1);
    test.send({ { 5000 } });
    g_assert_cmpuint(test.script.kept.size(), ==, RED_STREAM_ZEROCOPY_MESSAGES + 1);
    g_assert_cmpuint(test.sender().parts, ==, 1);
    test.check_wire();
}

/* Where it can't be, all is as without, and the statistics say why. */
static void test_refused()
{
    const struct {
        TestTransport transport;
        int version;
        const char *state;
    } cases[] = {
        { TEST_TCP, TLS1_3_VERSION, "not with TLS" },
        { TEST_UNIX, 0, "not over this socket" },
    };

    for (const auto &one : cases) {
        SocketConnection stream("batch,zerocopy=4096", one.transport, one.version, 0);
        std::unique_ptr<RedStreamOffload> offload(
            RedStreamOffload::create(&stream.policy, stream.egress, one.version != 0, nullptr));
        KeepingSender sender(stream.egress, offload.get());

        sender.add({ { 6, 50000 } });
        while (!sender.push()) {
            stream.receive();
        }
        g_assert_cmpuint(sender.parts, ==, 0);
        g_assert_cmpstr(offload->get_zerocopy()->get_state(), ==, one.state);
        while (stream.received < sender.accepted) {
            g_assert_true(test_is_readable(stream.sockets[1], 5000));
            stream.receive();
        }
        stream.egress->set_sender(nullptr);
    }
    test_tls_cleanup();
}

/* A stream that ends waits for what is outstanding, and ends the connection if it must; a message
 * of which a part has gone is as one that has gone. */
static void test_end()
{
    for (bool told : { true, false }) {
        ScriptedKernel kernel;
        ScriptedOffload script(&kernel);
        const RedStreamPolicy policy = test_policy("batch,zerocopy=4096");
        RedStreamEgress egress(-1, &policy, ScriptedKernel::ops());

        script.has_zerocopy = true;
        auto *const offload = RedStreamOffload::create(&policy, &egress, false, nullptr,
                                                       ScriptedOffload::ops());
        KeepingSender sender(&egress, offload, &kernel);
        kernel.stages = { { 20000, INT_MAX, EAGAIN } };
        sender.add({ { 6, 10000 }, { 6, 50000 } });
        g_assert_false(sender.push());
        sender.sent();
        g_assert_cmpuint(sender.parts, ==, 4);
        if (told) {
            script.complete(0, script.kept.size() - 1);
        }
        const int before = script.notices_read;
        egress.set_sender(nullptr);
        delete offload;
        g_assert_cmpuint(sender.parts, ==, 0);
        g_assert_true(script.aborted != told);
        /* each is a millisecond, maybe of QEMU's main loop */
        g_assert_cmpint(script.notices_read - before, <=, 50);
    }
}

/* bytes of a message, what they are, and what they are when they were freed */
#define BODY 200000
enum { ALIVE = 0x5a, FREED = 0xdd };

static int bodies;

static void free_body(uint8_t *data, void *opaque)
{
    memset(data, FREED, BODY);
    g_free(data);
    --bodies;
}

struct KeepingClient final: public TestChannelClient
{
    using TestChannelClient::TestChannelClient;

    void send_item(RedPipeItem *item) override
    {
        auto data = static_cast<uint8_t *>(g_malloc(BODY));

        memset(data, ALIVE, BODY);
        ++bodies;
        init_send_data(SPICE_MSG_MIGRATE_DATA);
        spice_marshaller_add_by_ref_full(get_marshaller(), data, BODY, free_body, nullptr);
        begin_send_message();
    }
};

/* A channel over TCP, whose peer reads nothing, or all in a thread. */
struct Channel: public TestServer
{
    red::shared_ptr<TestChannel> channel;
    red::shared_ptr<KeepingClient> rcc;
    int sockets[2];
    GThread *thread = nullptr;
    /* milliseconds that the thread waits first */
    int pause = 0;
    uint64_t received = 0;
    int end_error = 0;

    /* @buffer: as of test_make_sockets */
    explicit Channel(int buffer = 0)
    {
        test_make_sockets(TEST_TCP, buffer, sockets);
        red_socket_set_non_blocking(sockets[0], true);
        channel = red::make_shared<TestChannel>(server, SPICE_CHANNEL_PORT, 0,
                                                RedChannel::MigrateAll);
        RedStream *stream = red_stream_new(server, sockets[0]);
        red_stream_set_channel(stream, 0, SPICE_CHANNEL_PORT, 0);
        rcc = red::make_shared<KeepingClient>(channel.get(), client, stream, &caps);
        g_assert_true(rcc->init());
    }

    ~Channel()
    {
        rcc->disconnect();
        g_assert_cmpint(bodies, ==, 0);
        rcc.reset();
        channel.reset();
        if (thread) {
            g_thread_join(thread);
        }
        close(sockets[1]);
    }

    void read_in_thread(int milliseconds)
    {
        pause = milliseconds;
        thread = g_thread_new("peer", read_all, this);
    }

    /* Until the end. Nothing that was freed comes. */
    static gpointer read_all(gpointer data)
    {
        auto self = static_cast<Channel *>(data);
        static uint8_t buffer[1024 * 1024];
        ssize_t n;

        g_usleep(self->pause * 1000);
        while ((n = read(self->sockets[1], buffer, sizeof(buffer))) > 0) {
            g_assert_null(memchr(buffer, FREED, n));
            self->received += n;
        }
        self->end_error = n < 0 ? errno : 0;
        return nullptr;
    }

    void add(int count)
    {
        for (int i = 0; i < count; ++i) {
            rcc->pipe_add_type(RED_PIPE_ITEM_TYPE_CHANNEL_BASE);
        }
        rcc->push();
    }
};

#define MESSAGE (sizeof(SpiceMiniDataHeader) + BODY)

static std::string stats_file;

/* The statistics of the latest stream of a channel that was freed. */
static std::string last_line()
{
    char *text;

    g_assert_true(g_file_get_contents(stats_file.c_str(), &text, nullptr, nullptr));
    const std::string all = text;
    g_free(text);
    const size_t line = all.rfind("{\"type\":" + std::to_string(SPICE_CHANNEL_PORT) + ",");
    g_assert_true(line != std::string::npos);
    return all.substr(line);
}

static int counter(const char *name)
{
    const std::string line = last_line();
    const std::string key = std::string("\"") + name + "\":";
    const size_t found = line.find(key);

    g_assert_true(found != std::string::npos);
    return atoi(line.c_str() + found + key.size());
}

static int read_without_copied(int fd, RedStreamNotice *notices, int room)
{
    const int n = red_stream_errqueue_read(fd, notices, room);

    for (int i = 0; i < n; ++i) {
        notices[i].copied = false;
    }
    return n;
}

/* The kernel's, which does not say that it copies, so that the egress goes on: over loopback it
 * does so when the peer's turn has come, and reads from where it is until then. */
static const RedStreamOffloadSocket *zerocopy_ops()
{
    static RedStreamOffloadSocket ops = red_stream_offload_kernel;

    ops.read_notices = read_without_copied;
    return &ops;
}

static std::unique_ptr<RedStreamOffload> offload;

static void begin_keeping(SocketConnection *stream)
{
    offload.reset(RedStreamOffload::create(&stream->policy, stream->egress, false, nullptr,
                                           zerocopy_ops()));
    delete stream->sender;
    stream->sender = new KeepingSender(stream->egress, offload.get());
}

static void all_is_freed(SocketConnection *stream)
{
    while (static_cast<KeepingSender *>(stream->sender)->parts) {
        g_assert_true(test_has_error(stream->sockets[0], 5000));
        offload->read();
    }
}

static const TestRow zerocopy_row = {
    { "batch,zerocopy=4096" },
    { 0 },
    { TEST_TCP },
    &red_stream_kernel_socket, begin_keeping, all_is_freed,
};

static void test_arrival()
{
    test_exact(&zerocopy_row);
    test_no_wait(&zerocopy_row);
    test_gtk_reader(&zerocopy_row);
}

/* All arrives, all is given back, and the loop comes to rest. */
static void test_loop()
{
    {
        Channel test;
        const int64_t latest = g_get_monotonic_time() + ENOUGH;
        int idle = 0;

        /* more than a kernel takes as long as nobody reads */
        test.add(30);
        g_assert_cmpint(bodies, >, 0);
        test.read_in_thread(0);
        while (idle < 5) {
            g_assert_cmpint(g_get_monotonic_time(), <, latest);
            const bool active = g_main_context_iteration(basic_event_loop_get_context(), FALSE);

            idle = active || bodies || !test.rcc->pipe_is_empty() ? 0 : idle + 1;
            g_usleep(1000);
        }
        g_assert_false(test.rcc->is_unfinished());
        test.rcc->disconnect();
        g_thread_join(test.thread);
        test.thread = nullptr;
        /* a machine so busy that this takes long has the server ask whether somebody is there */
        g_assert_cmpuint(test.received, >=, 30 * MESSAGE);
    }
    g_assert_cmpint(counter("zerocopy_sends"), >, 0);
    g_assert_cmpint(counter("completions"), ==, counter("zerocopy_sends"));
    g_assert_cmpint(counter("zerocopy_max"), >, 0);

    /* over real or virtio cards not all is copied, see test_peer_socket */
    if (!g_getenv("SPICE_TEST_NETNS")) {
        g_assert_true(last_line().find("\"zerocopy\":\"the kernel copies\"") != std::string::npos);
        g_assert_cmpint(counter("zerocopy_copies"), ==, counter("completions"));
    }
}

/* A client that does not read is disconnected: what is freed is not sent. */
static void test_disconnect()
{
    Channel test(16384);

    test.add(40);
    /* until what its kernel takes without it is full */
    for (int i = 0; i < 50; ++i) {
        test.rcc->push();
        g_usleep(10000);
    }
    g_assert_true(test.rcc->is_blocked());
    g_assert_true(test.rcc->is_unfinished());
    g_assert_cmpint(bodies, >, 0);
    test.rcc->disconnect();
    g_assert_cmpint(bodies, ==, 0);
    Channel::read_all(&test);
    g_assert_cmpuint(test.received, <, 40 * MESSAGE);
    g_assert_cmpint(test.end_error, ==, ECONNRESET);
}

/* A client that has read everything gets the end of the connection as before, though no ack was
 * looked at. */
static void test_disconnect_in_time()
{
    Channel test;

    test.add(1);
    g_assert_cmpint(bodies, ==, 1);
    while (test.rcc->is_blocked()) {
        static uint8_t buffer[10000];
        const ssize_t n = recv(test.sockets[1], buffer, sizeof(buffer), MSG_DONTWAIT);

        test.received += MAX(n, 0);
        test.rcc->push();
    }
    while (test.received < MESSAGE) {
        static uint8_t buffer[10000];

        g_assert_true(test_is_readable(test.sockets[1], 5000));
        test.received += recv(test.sockets[1], buffer, sizeof(buffer), 0);
    }
    test.rcc->disconnect();
    g_assert_cmpint(bodies, ==, 0);
    Channel::read_all(&test);
    g_assert_cmpuint(test.received, ==, MESSAGE);
    g_assert_cmpint(test.end_error, ==, 0);
}

/* What waits until all is sent waits for what the kernel reads. */
static void test_wait()
{
    for (bool item : { false, true }) {
        Channel test;

        test.read_in_thread(200);
        test.add(2);
        g_assert_cmpint(bodies, >, 0);
        if (item) {
            while (!test.rcc->pipe_is_empty()) {
                test.rcc->push();
                g_usleep(1000);
            }
            g_assert_true(test.rcc->wait_outgoing_item(INT64_C(30) * NSEC_PER_SEC));
        } else {
            g_assert_true(test.channel->wait_all_sent(INT64_C(30) * NSEC_PER_SEC));
        }
        g_assert_cmpint(bodies, ==, 0);
    }
}

int main(int argc, char *argv[])
{
    static const BatchTest tests[] = {
        { "limit", "flow", test_limit },
        { "order", "flow", test_order },
        { "blocked", "flow", test_blocked },
        { "no-buffers", "flow", test_no_buffers },
        { "copied", "flow", test_copied },
        { "bound", "flow", test_bound },
        { "refused", "flow", test_refused },
        { "end", "flow", test_end },
        { "arrival", "flow", test_arrival },
        { "loop", "flow,zerocopy=4096", test_loop },
        { "loop-timestamps", "batch,zerocopy=4096,timestamps=on", test_loop },
        { "disconnect", "flow,zerocopy=4096", test_disconnect },
        { "disconnect-in-time", "flow,zerocopy=4096", test_disconnect_in_time },
        { "wait", "flow,zerocopy=4096", test_wait },
    };

    stats_file = std::string(g_get_tmp_dir()) + "/test-zerocopy-" + std::to_string(getpid());
    if (!g_getenv("SPICE_STREAM_STATS")) {
        g_setenv("SPICE_STREAM_STATS", stats_file.c_str(), TRUE);
    }
    stats_file = g_getenv("SPICE_STREAM_STATS");
    const int result = batch_test_main(argc, argv, "stream-zerocopy", tests);
    if (!g_test_subprocess()) {
        g_unlink(stats_file.c_str());
    }
    return result;
}
