/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the flow stops a channel, and where it does not.
 */
#include <config.h>

#define TEST_PATH "/server/channel-flow/"
#include "test-channel-batch.h"

#include "push-visibility.h"

/* more than may be in flight as long as nothing is known of the path */
#define MANY 1200

struct FlowFixture: public Fixture
{
    FlowFixture(): Fixture(RedChannel::HandleAcks | RedChannel::MigrateAll)
    {
        rcc->push_set_ack();
        rcc->ack_zero_messages_window();
        rcc->push();
        run_events();
        receive();
    }

    bool all_sent()
    {
        return rcc->pipe_is_empty() && rcc->no_item_being_sent();
    }
};

/* What the path does not carry stays in the pipe. */
static void stops_without_acks()
{
    FlowFixture f;

    f.add_items(MANY);
    f.rcc->push();
    g_assert_false(f.all_sent());
    f.run_events();
    g_assert_false(f.all_sent());
}

/* A thread that waits for the pipe does not wait for the path as well. */
static void hurries_when_waited_for()
{
    FlowFixture f;

    f.add_items(MANY);
    g_assert_true(f.channel->wait_all_sent(1000000000));
    g_assert_true(f.all_sent());
    f.run_events();
    g_assert_cmpuint(f.receive(), ==, MANY * MESSAGE_SIZE);

    /* afterwards it does again */
    f.add_items(MANY);
    f.rcc->push();
    g_assert_false(f.all_sent());
}

SUBPROCESS(stops, "flow", stops_without_acks)
SUBPROCESS(hurry, "flow", hurries_when_waited_for)

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    batch_test_begin("test-channel-flow");

    ADD(stops, stops_without_acks);
    ADD(hurry, hurries_when_waited_for);

    const int result = g_test_run();
    batch_test_end();
    return result;
}
