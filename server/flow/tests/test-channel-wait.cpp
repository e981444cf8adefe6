/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * While a thread waits for a client no drawing is delayed, neither of that client nor of the
 * thread's other channels.
 */
#include <config.h>

#include <functional>

#include "test-channel-batch.h"

#include "push-visibility.h"

/* messages whose bytes do not fit into a socket that was shrunk */
#define MANY 2000
#define WAIT_NS (INT64_C(1000000000) * 60)

/* what happens when the thread sleeps, which is all it does while it waits */
static std::function<void()> on_sleep;
static int sleeps;

/* in place of the C library's */
int usleep(useconds_t)
{
    ++sleeps;
    if (on_sleep) {
        on_sleep();
    }
    return 0;
}

enum Wait {
    ALL_SENT,
    PIPE_ITEM,
    OUTGOING_ITEM
};

static bool wait_for(Wait what, AckFixture &f)
{
    switch (what) {
    case ALL_SENT:
        return f.channel->wait_all_sent(WAIT_NS);
    case PIPE_ITEM:
        return f.rcc->wait_pipe_item_sent(f.rcc->get_pipe().begin(), WAIT_NS);
    case OUTGOING_ITEM:
        return f.rcc->wait_outgoing_item(WAIT_NS);
    }
    g_assert_not_reached();
}

/* What is said to be sent is with the socket. */
template <Wait WHAT>
static void sent_is_not_held()
{
    AckFixture f;

    f.add_items(3);
    g_assert_true(wait_for(WHAT, f));
    g_assert_cmpint(sleeps, ==, 0);
    g_assert_cmpuint(f.receive(), >=, 3 * MESSAGE_SIZE);
}

/* Another channel of the thread has pushed, and the end of that is held until the thread has
 * looked for more. */
struct TwoChannels: public AckFixture
{
    red::shared_ptr<TestChannel> cursor_channel;
    red::shared_ptr<ThreePartClient> cursor;
    int cursor_peer;

    TwoChannels()
    {
        cursor_channel = red::make_shared<TestChannel>(server, SPICE_CHANNEL_PORT, 1,
                                                       RedChannel::HandleAcks |
                                                       RedChannel::MigrateAll);
        cursor = red::make_shared<ThreePartClient>(cursor_channel.get(), client,
                                                   test_stream_new(server, &cursor_peer), &caps);
        g_assert_true(cursor->init());
        cursor->push_set_ack();
        cursor->ack_zero_messages_window();
        cursor->push();
        run_events();
        g_assert_true(at_cursor() > 0);
    }

    ~TwoChannels()
    {
        cursor->disconnect();
        cursor.reset();
        cursor_channel.reset();
        close(cursor_peer);
    }

    /* Bytes that the cursor's client has got and not read yet. */
    size_t at_cursor()
    {
        uint8_t buffer[4096];
        const ssize_t n = read(cursor_peer, buffer, sizeof(buffer));

        return n > 0 ? n : 0;
    }
};

template <Wait WHAT>
static void others_are_not_held()
{
    TwoChannels f;
    size_t at_first_sleep = 0;

    test_stream_shrink(f.rcc->get_stream());
    f.add_items(MANY);
    if (WHAT == OUTGOING_ITEM) {
        f.rcc->push();
        g_assert_true(f.rcc->is_blocked());
    }
    f.cursor->pipe_add_type(RED_PIPE_ITEM_TYPE_CHANNEL_BASE);
    f.cursor->push();
    on_sleep = [&] {
        if (sleeps == 1) {
            at_first_sleep = f.at_cursor();
        }
        f.receive();
    };
    g_assert_true(wait_for(WHAT, f));
    on_sleep = nullptr;
    g_assert_cmpint(sleeps, >, 0);
    g_assert_cmpuint(at_first_sleep, ==, MESSAGE_SIZE);
}

static const BatchTest tests[] = {
    { "all-sent", "batch,window=100000", sent_is_not_held<ALL_SENT> },
    { "all-sent-flow", "flow", sent_is_not_held<ALL_SENT> },
    { "pipe-item", "batch,window=100000", sent_is_not_held<PIPE_ITEM> },
    { "pipe-item-flow", "flow", sent_is_not_held<PIPE_ITEM> },
    { "others/all-sent", "batch,window=100000", others_are_not_held<ALL_SENT> },
    { "others/all-sent-flow", "flow", others_are_not_held<ALL_SENT> },
    { "others/pipe-item", "batch,window=100000", others_are_not_held<PIPE_ITEM> },
    { "others/outgoing-item", "batch,window=100000", others_are_not_held<OUTGOING_ITEM> },
    /* where nothing is held */
    { "cork", "cork,window=100000", others_are_not_held<ALL_SENT> },
};

int main(int argc, char *argv[])
{
    return batch_test_main(argc, argv, "channel-wait", tests);
}
