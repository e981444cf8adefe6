/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The server waits for a client that is going: the wait ends, at once, and nothing is used
 * after it was freed (which takes AddressSanitizer or valgrind to see).
 */
#include <config.h>

#include "test-channel-client.h"
#include "win-alarm.h"

#include "push-visibility.h"

enum {
    ITEM_LARGE = RED_PIPE_ITEM_TYPE_CHANNEL_BASE,
};

/* what a test has at most, as waiting must take no time; and what the server waits */
#define TEST_SECONDS 10
#define WAIT_NS (INT64_C(1000000000) * 60)

struct WaitChannelClient final: public TestChannelClient
{
    using TestChannelClient::TestChannelClient;

    void send_item(RedPipeItem *item) override
    {
        static uint8_t data[256 * 1024];

        init_send_data(SPICE_MSG_MIGRATE_DATA);
        spice_marshaller_add_by_ref(get_marshaller(), data, sizeof(data));
        begin_send_message();
    }
};

/* A client that has not read all of a message and is gone, which nobody saw yet. Only the
 * library has a reference to it, as usual. */
struct Fixture: public TestServer
{
    red::shared_ptr<TestChannel> channel =
        red::make_shared<TestChannel>(server, SPICE_CHANNEL_PORT, 0, RedChannel::MigrateAll);
    RedChannelClient *rcc;
    int peer;

    Fixture()
    {
        auto wait_rcc = red::make_shared<WaitChannelClient>(channel.get(), client,
                                                            test_stream_new(server, &peer), &caps);

        g_assert_true(wait_rcc->init());
        rcc = wait_rcc.get();
        test_stream_shrink(rcc->get_stream());
        rcc->pipe_add_type(ITEM_LARGE);
        rcc->push();
        g_assert_true(rcc->is_blocked());
        rcc->pipe_add_type(ITEM_LARGE);
        shutdown(peer, SHUT_RDWR);
        alarm(TEST_SECONDS);
    }

    ~Fixture()
    {
        alarm(0);
        g_assert_false(channel->is_connected());
        channel.reset();
        close(peer);
    }
};

static void outgoing_item()
{
    Fixture f;

    g_assert_true(f.rcc->wait_outgoing_item(WAIT_NS));
}

static void pipe_item()
{
    Fixture f;

    g_assert_true(f.rcc->wait_pipe_item_sent(f.rcc->get_pipe().begin(), WAIT_NS));
}

static void all_items()
{
    Fixture f;

    g_assert_true(f.channel->wait_all_sent(WAIT_NS));
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);

    g_test_add_func("/server/wait-gone/outgoing-item", outgoing_item);
    g_test_add_func("/server/wait-gone/pipe-item", pipe_item);
    g_test_add_func("/server/wait-gone/all-items", all_items);

    return g_test_run();
}
