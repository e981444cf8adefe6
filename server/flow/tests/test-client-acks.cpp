/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every client of test-client-acks.h gets all messages, in every mode: a channel that obeys its
 * limits and fills the pipe as the worker does, over a socket pair to a client that counts acks
 * in its own way.
 */
#include <config.h>

#include <sys/wait.h>

#include "test-client-acks.h"
#include "test-channel-batch.h"

#include "push-visibility.h"

/* upstream's MAX_PIPE_SIZE: the worker takes no more commands of the guest */
#define PIPE_FULL 50

/* A client without a message for PATIENCE microseconds and LOOKS looks gets no more. For clients
 * with which upstream's rule stops, SHORT_PATIENCE is enough. */
#define PATIENCE 5000000
#define SHORT_PATIENCE 300000
#define LOOKS 200

struct Mix
{
    const char *name;
    uint32_t messages;
    uint32_t (*size)(uint32_t number);
    /* so many are pushed when all before have arrived; 0: whenever the pipe is not full */
    uint32_t group;
    /* microseconds between two looks of the client */
    uint32_t delay;
};

static const Mix mixes[] = {
    { "small", 2500, [](uint32_t) { return 60u; }, 0, 0 },
    { "large", 300, [](uint32_t) { return 30000u; }, 0, 0 },
    { "mixed", 1500, [](uint32_t number) { return number % 8 ? 40 + number % 1400 : 20000; }, 0,
      0 },
    /* first so large that an ack is wanted for each few, then so small that for each many */
    { "shrinking", 2500, [](uint32_t number) { return number < 100 ? 30000u : 40u; }, 0, 0 },
    { "growing", 1500, [](uint32_t number) { return number < 1300 ? 40u : 30000u; }, 0, 0 },
    { "groups", 700, [](uint32_t) { return 60u; }, 7, 0 },
    { "far", 1200, [](uint32_t number) { return number < 1000 ? 40u : 15000u; }, 0, 3000 },
};

struct AckTestItem final: public RedPipeItemNum<RED_PIPE_ITEM_TYPE_CHANNEL_BASE>
{
    explicit AckTestItem(uint32_t init_number, uint32_t init_size):
        number(init_number), size(init_size) {}
    const uint32_t number;
    const uint32_t size;
};

struct AckTestChannelClient final: public TestChannelClient
{
    using TestChannelClient::TestChannelClient;

    void send_item(RedPipeItem *item) override
    {
        static uint8_t filling[64 * 1024];
        const auto test_item = static_cast<AckTestItem *>(item);

        init_send_data(SPICE_MSG_MIGRATE_DATA);
        spice_marshaller_add_uint32(get_marshaller(), test_item->number);
        spice_marshaller_add_by_ref(get_marshaller(), filling,
                                    test_item->size - sizeof(test_item->number));
        begin_send_message();
    }
};

/* Returns how many messages have arrived. */
static uint32_t play(const AckingClient &kind, const Mix &mix)
{
    const int64_t timeout = kind.recovers ? PATIENCE : SHORT_PATIENCE;
    TestServer server;
    int fd;
    RedStream *stream = test_stream_new(server.server, &fd);
    auto channel = red::make_shared<TestChannel>(server.server, SPICE_CHANNEL_PORT, 0,
                                                 RedChannel::HandleAcks | RedChannel::MigrateAll);
    auto rcc = red::make_shared<AckTestChannelClient>(channel.get(), server.client, stream,
                                                  &server.caps);
    uint32_t added = 0;
    int looks = 0;
    int64_t since = g_get_monotonic_time();

    red_stream_set_channel(stream, 0, SPICE_CHANNEL_PORT, 0);
    g_assert_true(rcc->init());
    AckingPeer peer(kind, fd);
    server.run_events();
    /* as a display's or cursor's client is greeted */
    rcc->push_set_ack();
    rcc->ack_zero_messages_window();
    rcc->push();

    while (peer.arrived() < mix.messages) {
        const bool goes_on = mix.group == 0 || added % mix.group || peer.arrived() == added;

        if (added < mix.messages && goes_on && rcc->get_pipe_size() < PIPE_FULL) {
            rcc->pipe_add(red::make_shared<AckTestItem>(added, mix.size(added)));
            ++added;
            /* what is in the pipe otherwise is for acks and timers to push */
            rcc->push();
            if (added % PIPE_FULL) {
                continue;
            }
        }
        server.run_events();
        if (mix.delay) {
            g_usleep(mix.delay);
        }
        if (peer.step()) {
            since = g_get_monotonic_time();
            looks = 0;
        } else {
            peer.idle();
            if (++looks > LOOKS && g_get_monotonic_time() - since > timeout) {
                break;
            }
            g_usleep(500);
        }
    }
    const uint32_t arrived = peer.arrived();

    rcc->disconnect();
    rcc.reset();
    channel.reset();
    close(fd);
    return arrived;
}

static void log_but_warnings(const gchar *domain, GLogLevelFlags level, const gchar *message,
                             gpointer)
{
    if (level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL)) {
        g_log_default_handler(domain, level, message, nullptr);
    }
}

/* Returns how often @kind did not get what it should have got.
 * @reference: upstream's rule, which stops for those that say so here */
static int play_mixes(const AckingClient &kind, bool reference)
{
    int stalls = 0;

    for (const Mix &mix : mixes) {
        if (!kind.recovers && &mix != mixes) {
            continue;
        }
        const uint32_t arrived = play(kind, mix);

        if (kind.recovers ? arrived < mix.messages : reference && arrived == mix.messages) {
            fprintf(stderr, "%s, %s: %u of %u messages\n", kind.name, mix.name, arrived,
                    mix.messages);
            ++stalls;
        }
    }
    return stalls;
}

/* They mostly wait, so all clients are played at once, each in a process of its own. */
static void play_all(bool reference)
{
    std::vector<pid_t> children;

    /* the server warns of each invalid message of the misbehaving ones */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_log_set_default_handler(log_but_warnings, nullptr);
    for (const AckingClient &kind : acking_clients) {
        const pid_t child = fork();

        g_assert_cmpint(child, >=, 0);
        if (child == 0) {
            _exit(play_mixes(kind, reference));
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status;

        g_assert_cmpint(waitpid(child, &status, 0), ==, child);
        g_assert_cmpint(status, ==, 0);
    }
}

static void by_upstreams_rule()
{
    play_all(true);
}

static void by_any_rule()
{
    play_all(false);
}

static const BatchTest tests[] = {
    { "normal", "normal", by_upstreams_rule },
    { "gather", "gather", by_upstreams_rule },
    { "cork", "cork", by_upstreams_rule },
    { "more", "more", by_upstreams_rule },
    { "window", "window", by_any_rule },
    { "batch", "batch", by_upstreams_rule },
    { "batch-window", "batch,window=400", by_any_rule },
    { "flow", "flow", by_any_rule },
};

int main(int argc, char *argv[])
{
    return batch_test_main(argc, argv, "client-acks", tests);
}
