/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the flow stops a channel, and where it does not.
 */
#include <config.h>

#include "test-channel-batch.h"

#include "push-visibility.h"

/* more than may be in flight as long as nothing is known of the path */
#define MANY 1200
/* less than that, and enough to learn how large messages are */
#define FEW 300
/* microseconds after which SET_ACK may be sent again */
#define PAUSE 20000

struct FlowFixture: public AckFixture
{
    bool all_sent()
    {
        return rcc->pipe_is_empty() && rcc->no_item_being_sent();
    }

    /* The client has received SET_ACK, and some time has passed. */
    void sync()
    {
        const SpiceMiniDataHeader header = { SPICE_MSGC_ACK_SYNC, sizeof(uint32_t) };
        const uint32_t generation = 1;

        g_assert_cmpint(write(peer, &header, sizeof(header)), ==, sizeof(header));
        g_assert_cmpint(write(peer, &generation, sizeof(generation)), ==, sizeof(generation));
        run_events();
        g_usleep(PAUSE);
    }

    /* Messages of a type among those that have arrived and were not read yet. */
    int receive_count(uint16_t type)
    {
        SpiceMiniDataHeader header;
        uint8_t body[2 * PART_SIZE];
        int count = 0;

        while (read(peer, &header, sizeof(header)) == sizeof(header)) {
            count += header.type == type;
            g_assert_cmpuint(header.size, <=, sizeof(body));
            g_assert_cmpint(read(peer, body, header.size), ==, header.size);
        }
        return count;
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

/* The messages are smaller than was thought, so the client is told to ack less often. */
static void sets_the_interval()
{
    FlowFixture f;

    f.sync();
    f.add_items(FEW);
    f.rcc->push();
    g_assert_true(f.all_sent());
    f.run_events();
    g_assert_cmpint(f.receive_count(SPICE_MSG_SET_ACK), ==, 1);
}

/* Between MIGRATE and MIGRATE_DATA a client expects nothing else. */
static void keeps_quiet_in_migration()
{
    FlowFixture f;

    f.sync();
    f.rcc->migrate();
    f.add_items(FEW);
    f.rcc->push();
    g_assert_true(f.all_sent());
    f.run_events();
    g_assert_cmpint(f.receive_count(SPICE_MSG_SET_ACK), ==, 0);
}

static const BatchTest tests[] = {
    { "stops", "flow", stops_without_acks },
    { "hurry", "flow", hurries_when_waited_for },
    { "interval", "flow", sets_the_interval },
    { "migration", "flow", keeps_quiet_in_migration },
};

int main(int argc, char *argv[])
{
    return batch_test_main(argc, argv, "channel-flow", tests);
}
