/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A client goes while messages wait for it: all of them are released, at once, whatever
 * releasing one does to the pipe that it was in.
 */
#include <config.h>

#include "test-channel-client.h"

#include "push-visibility.h"

enum {
    ITEM_PLAIN = RED_PIPE_ITEM_TYPE_CHANNEL_BASE,
    ITEM_URGENT_FIRST,
};

static int items_alive;

struct CountedItem: public RedPipeItem
{
    explicit CountedItem(int item_type=ITEM_PLAIN): RedPipeItem(item_type) { ++items_alive; }
    ~CountedItem() override { --items_alive; }
};

/* The last user of something all clients have: they are told when it goes. */
struct LastUserItem final: public CountedItem
{
    explicit LastUserItem(RedChannel *init_channel): channel(init_channel) {}
    ~LastUserItem() override
    {
        channel->pipes_add(red::make_shared<CountedItem>());
    }
    RedChannel *const channel;
};

/* Makes another item needless, as a drawable that replaces what is below it. */
struct ReplacingItem final: public CountedItem
{
    ReplacingItem(RedChannelClient *init_rcc, RedPipeItem *init_other):
        rcc(init_rcc), other(init_other)
    {
    }
    ~ReplacingItem() override
    {
        rcc->pipe_remove_and_release(other);
    }
    RedChannelClient *const rcc;
    RedPipeItem *const other;
};

/* Sends an item as a message that holds the item, or as two where the second is urgent. */
struct HoldingChannelClient final: public TestChannelClient
{
    using TestChannelClient::TestChannelClient;

    void send_item(RedPipeItem *item) override
    {
        static uint8_t data[256 * 1024];

        init_send_data(SPICE_MSG_MIGRATE_DATA);
        item->add_to_marshaller(get_marshaller(), data, sizeof(data));
        if (item->type == ITEM_URGENT_FIRST) {
            SpiceMarshaller *urgent = switch_to_urgent_sender();
            init_send_data(SPICE_MSG_MIGRATE_DATA);
            spice_marshaller_add_by_ref(urgent, data, sizeof(data));
        }
        begin_send_message();
    }
};

struct Fixture: public TestServer
{
    red::shared_ptr<TestChannel> channel =
        red::make_shared<TestChannel>(server, SPICE_CHANNEL_PORT, 0, RedChannel::MigrateAll);
    red::shared_ptr<HoldingChannelClient> rcc;
    int peer;

    Fixture()
    {
        items_alive = 0;
        rcc = red::make_shared<HoldingChannelClient>(channel.get(), client,
                                                     test_stream_new(server, &peer), &caps);
        g_assert_true(rcc->init());
        test_stream_shrink(rcc->get_stream());
    }

    ~Fixture()
    {
        rcc.reset();
        channel.reset();
        close(peer);
    }

    void assert_all_released()
    {
        g_assert_false(rcc->is_connected());
        g_assert_true(rcc->pipe_is_empty());
        g_assert_true(rcc->no_item_being_sent());
        g_assert_cmpint(items_alive, ==, 0);
    }
};

/* The pipe is released newest item first. Each of these adds one more item. */
static void item_adds_item()
{
    Fixture f;

    for (int i = 0; i < 10; ++i) {
        f.rcc->pipe_add(red::make_shared<CountedItem>());
        f.rcc->pipe_add(red::make_shared<LastUserItem>(f.channel.get()));
        f.rcc->pipe_add(red::make_shared<CountedItem>());
    }
    f.rcc->disconnect();
    f.assert_all_released();
}

static void item_removes_item()
{
    Fixture f;

    f.rcc->pipe_add(red::make_shared<CountedItem>());
    RedPipeItem *const other = f.rcc->get_pipe().front().get();
    f.rcc->pipe_add(red::make_shared<ReplacingItem>(f.rcc.get(), other));
    f.rcc->disconnect();
    f.assert_all_released();
}

/* The server notices by itself, with a message half sent. */
static void peer_closes()
{
    Fixture f;

    f.rcc->pipe_add(red::make_shared<LastUserItem>(f.channel.get()));
    f.rcc->push();
    g_assert_true(f.rcc->is_blocked());
    for (int i = 0; i < 10; ++i) {
        f.rcc->pipe_add(red::make_shared<LastUserItem>(f.channel.get()));
    }
    shutdown(f.peer, SHUT_RDWR);
    f.run_events();
    f.assert_all_released();
}

/* Two messages are on their way, the urgent one is half sent. */
static void urgent_message_before()
{
    Fixture f;

    f.rcc->pipe_add(red::make_shared<CountedItem>(ITEM_URGENT_FIRST));
    f.rcc->push();
    g_assert_true(f.rcc->is_blocked());
    g_assert_cmpint(items_alive, ==, 1);
    f.rcc->disconnect();
    f.assert_all_released();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);

    g_test_add_func("/server/disconnect/item-adds-item", item_adds_item);
    g_test_add_func("/server/disconnect/item-removes-item", item_removes_item);
    g_test_add_func("/server/disconnect/peer-closes", peer_closes);
    g_test_add_func("/server/disconnect/urgent-message-before", urgent_message_before);

    return g_test_run();
}
