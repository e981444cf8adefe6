/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a channel makes of its pipe: how many writes, when they happen, and that it says
 * it is blocked as long as bytes of it wait.
 */
#include <config.h>

#include <string>
#include <vector>

#include <glib/gstdio.h>
#include <spice/protocol.h>

#include "red-stream-policy.h"
#include "test-channel-client.h"

#include "push-visibility.h"

/* a message of three iovecs, as most are */
#define PART_SIZE 30
#define MESSAGE_SIZE (sizeof(SpiceMiniDataHeader) + 2 * PART_SIZE)

static std::string stats_file;

struct ThreePartClient final: public TestChannelClient
{
    using TestChannelClient::TestChannelClient;

    void send_item(RedPipeItem *item) override
    {
        static uint8_t data[2][PART_SIZE];

        init_send_data(SPICE_MSG_MIGRATE_DATA);
        spice_marshaller_add_by_ref(get_marshaller(), data[0], PART_SIZE);
        spice_marshaller_add_by_ref(get_marshaller(), data[1], PART_SIZE);
        begin_send_message();
    }
};

struct Fixture: public TestServer
{
    red::shared_ptr<TestChannel> channel;
    red::shared_ptr<ThreePartClient> rcc;
    int peer;

    explicit Fixture(RedChannel::CreationFlags flags=RedChannel::MigrateAll)
    {
        channel = red::make_shared<TestChannel>(server, SPICE_CHANNEL_PORT, 0, flags);
        RedStream *stream = test_stream_new(server, &peer);
        red_stream_set_channel(stream, 0, SPICE_CHANNEL_PORT, 0);
        rcc = red::make_shared<ThreePartClient>(channel.get(), client, stream, &caps);
        g_assert_true(rcc->init());
    }

    ~Fixture()
    {
        rcc->disconnect();
        rcc.reset();
        channel.reset();
        close(peer);
    }

    void add_items(int count)
    {
        for (int i = 0; i < count; ++i) {
            rcc->pipe_add_type(RED_PIPE_ITEM_TYPE_CHANNEL_BASE);
        }
    }

    /* Bytes that have arrived and were not read yet. */
    size_t receive()
    {
        static uint8_t buffer[1024 * 1024];
        size_t size = 0;
        ssize_t n;

        while ((n = read(peer, buffer, sizeof(buffer))) > 0) {
            size += n;
        }
        return size;
    }
};

/* The value of a counter in the statistics of the test's channel, written when its stream
 * is freed. */
static int counter(const char *name)
{
    char *text;
    const std::string channel = "{\"type\":" + std::to_string(SPICE_CHANNEL_PORT) + ",";
    const std::string key = std::string("\"") + name + "\":";

    g_assert_true(g_file_get_contents(stats_file.c_str(), &text, nullptr, nullptr));
    const std::string all = text;
    g_free(text);
    const size_t line = all.rfind(channel);
    g_assert_true(line != std::string::npos);
    return atoi(all.c_str() + all.find(key, line) + key.size());
}

/* The messages of a drain are one write. */
static void drain_is_one_write()
{
    {
        Fixture f;

        f.add_items(10);
        f.rcc->push();
        g_assert_cmpuint(f.receive(), ==, 10 * MESSAGE_SIZE);
        f.add_items(1);
        f.rcc->push();
        g_assert_cmpuint(f.receive(), ==, MESSAGE_SIZE);
    }
    g_assert_cmpint(counter("messages"), ==, 11);
    g_assert_cmpint(counter("flushes"), ==, 2);
    g_assert_cmpint(counter("writes"), ==, 2);
    g_assert_cmpint(counter("setsockopts"), ==, 0);
}

/* While bytes of the channel wait it is blocked, whoever asks, and they leave when the
 * socket takes them again, although no item is left to be sent. */
static void blocked_while_bytes_wait()
{
    Fixture f;
    size_t received = 0, sent = 0;

    test_stream_shrink(f.rcc->get_stream());
    do {
        f.add_items(1);
        f.rcc->push();
        ++sent;
    } while (f.rcc->pipe_is_empty() && f.rcc->no_item_being_sent() && !f.rcc->is_blocked());
    g_assert_true(f.rcc->is_blocked());

    while (f.rcc->is_blocked()) {
        received += f.receive();
        f.run_events();
    }
    received += f.receive();
    g_assert_cmpuint(received, ==, sent * MESSAGE_SIZE);
    g_assert_true(f.rcc->wait_outgoing_item(-1));
}

/* Everything that may be sent has been when sending stops for an ack. */
static void ack_missing()
{
    Fixture f(RedChannel::HandleAcks | RedChannel::MigrateAll);
    const size_t set_ack = sizeof(SpiceMiniDataHeader) + sizeof(SpiceMsgSetAck);
    const uint32_t window = red_stream_policy_get()->window;

    f.rcc->ack_set_client_window(20);
    f.rcc->push_set_ack();
    f.rcc->ack_zero_messages_window();
    f.add_items(1000);
    f.rcc->push();
    /* sending stops above the window, in which SET_ACK counts */
    g_assert_cmpuint(f.receive(), ==, set_ack + (window ? window : 40) * MESSAGE_SIZE);
    g_assert_false(f.rcc->is_blocked());
    g_assert_false(f.rcc->pipe_is_empty());
}

/* In modes without batches each message is a write, and nothing waits. */
static void normal_is_a_write_each()
{
    {
        Fixture f;

        f.add_items(10);
        f.rcc->push();
        g_assert_cmpuint(f.receive(), ==, 10 * MESSAGE_SIZE);
    }
    g_assert_cmpint(counter("writes"), ==, 10);
}

/* The policy is read once a process. */
static void run_with(const char *policy, const char *test)
{
    g_setenv("SPICE_STREAM", policy, TRUE);
    g_test_trap_subprocess(test, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
    g_test_trap_assert_passed();
}

#define SUBPROCESS(name, policy, function)                                             \
    static void in_ ## name()                                                          \
    {                                                                                  \
        run_with(policy, "/server/channel-batch/" #name "/subprocess");                \
    }

SUBPROCESS(batch, "batch", drain_is_one_write)
SUBPROCESS(blocked, "batch", blocked_while_bytes_wait)
SUBPROCESS(acks, "batch", ack_missing)
SUBPROCESS(window, "batch,window=400", ack_missing)
SUBPROCESS(normal, "normal", normal_is_a_write_each)

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    stats_file = std::string(g_get_tmp_dir()) + "/test-channel-batch-" + std::to_string(getpid());
    g_setenv("SPICE_STREAM_STATS", stats_file.c_str(), TRUE);

#define ADD(name, function)                                                            \
    g_test_add_func("/server/channel-batch/" #name, in_ ## name);                      \
    g_test_add_func("/server/channel-batch/" #name "/subprocess", function)

    ADD(batch, drain_is_one_write);
    ADD(blocked, blocked_while_bytes_wait);
    ADD(acks, ack_missing);
    ADD(window, ack_missing);
    ADD(normal, normal_is_a_write_each);

    const int result = g_test_run();
    g_unlink(stats_file.c_str());
    return result;
}
