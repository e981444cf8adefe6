/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the flow stops a channel, and where it does not.
 */
#include <config.h>

#include "test-channel-batch.h"

#include "push-visibility.h"

/* more than may be in flight as long as nothing is known of the path */
#define MANY 1200

struct FlowFixture: public AckFixture
{
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

static const BatchTest tests[] = {
    { "stops", "flow", stops_without_acks },
    { "hurry", "flow", hurries_when_waited_for },
};

int main(int argc, char *argv[])
{
    return batch_test_main(argc, argv, "channel-flow", tests);
}
