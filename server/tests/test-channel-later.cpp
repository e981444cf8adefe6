/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A channel with acks is served by a thread that has more to do than wait. What it pushes
 * before it has looked for more shares a write.
 */
#include <config.h>

#include "test-channel-batch.h"

#include "push-visibility.h"

struct LaterFixture: public AckFixture
{
    void drain(int count)
    {
        add_items(count);
        rcc->push();
        g_assert_false(rcc->is_blocked());
    }
};

/* It leaves when the thread has looked. */
static void drains_share_a_write()
{
    {
        LaterFixture f;

        for (int i = 0; i < 10; ++i) {
            f.drain(3);
        }
        g_assert_cmpuint(f.receive(), ==, 0);
        f.run_events();
        g_assert_cmpuint(f.receive(), ==, 30 * MESSAGE_SIZE);
    }
    g_assert_cmpint(counter("writes"), ==, 2);
}

/* It does not wait for long if the thread always has more. */
static void not_for_long()
{
    LaterFixture f;

    f.drain(1);
    g_assert_cmpuint(f.receive(), ==, 0);
    g_usleep(20000);
    f.drain(1);
    g_assert_cmpuint(f.receive(), ==, 2 * MESSAGE_SIZE);
}

static void leaves_with_the_channel()
{
    LaterFixture f;

    f.drain(1);
    g_assert_cmpuint(f.receive(), ==, 0);
    f.rcc->disconnect();
    g_assert_cmpuint(f.receive(), ==, MESSAGE_SIZE);
}

/* The socket takes nothing when the thread has looked: then the channel is blocked. */
static void blocked_afterwards()
{
    LaterFixture f;
    size_t received = 0, sent = 0;

    test_stream_shrink(f.rcc->get_stream());
    do {
        f.add_items(1);
        f.rcc->push();
        ++sent;
        f.run_events();
    } while (!f.rcc->is_blocked());
    while (f.rcc->is_blocked() || !f.rcc->pipe_is_empty()) {
        received += f.receive();
        f.run_events();
    }
    received += f.receive();
    g_assert_cmpuint(received, ==, sent * MESSAGE_SIZE);
}

/* Where nothing is batched each message leaves at once. */
static void not_in_normal()
{
    LaterFixture f;

    f.drain(2);
    g_assert_cmpuint(f.receive(), ==, 2 * MESSAGE_SIZE);
}

static const BatchTest tests[] = {
    { "batch", "batch,window=100000", drains_share_a_write },
    { "flow", "flow", drains_share_a_write },
    { "latest", "batch", not_for_long },
    { "disconnect", "batch", leaves_with_the_channel },
    { "blocked", "batch,window=100000", blocked_afterwards },
    { "normal", "normal", not_in_normal },
};

int main(int argc, char *argv[])
{
    return batch_test_main(argc, argv, "channel-later", tests);
}
