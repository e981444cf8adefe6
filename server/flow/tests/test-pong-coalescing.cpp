/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The drawings that one pong allows share a write with those that the next one allows, as long as
 * the path has enough to carry. The client takes so many bytes per round of the test, and time
 * passes only when the test says so.
 */
#include <config.h>

#include <vector>

#include "red-send-control.h"
#include "test-channel-batch.h"

#include "push-visibility.h"

/* microseconds: how long drawings may wait, longer than a test takes of the time below; and
 * between two looks of the client at its socket, which takes so many bytes */
#define HOLD "1000000"
#define ROUND 10000
#define ROUND_BYTES 10000
/* of PING's body: number, time */
#define PING_SIZE 12
/* drawings, more than are in flight, and fewer than a pong allows */
#define MANY 1000
#define FEW 20
/* rounds after which the rate has stopped growing */
#define ENOUGH 80

/* In place of GLib's, microseconds. */
static int64_t now = G_USEC_PER_SEC;

gint64 g_get_monotonic_time()
{
    return now;
}

namespace {

struct Ping
{
    uint8_t message[sizeof(SpiceMiniDataHeader) + PING_SIZE];
};

struct PongFixture: public Fixture
{
    std::vector<uint8_t> bytes;
    std::vector<Ping> pings;

    PongFixture():
        Fixture(RedChannel::HandleAcks | RedChannel::MigrateAll, test_stream_new,
                SPICE_CHANNEL_DISPLAY)
    {
        rcc->push_set_ack();
        rcc->ack_zero_messages_window();
        rcc->push();
        run_events();
        receive();
    }

    uint64_t writes()
    {
        return red_stream_get_counters(rcc->get_stream()).writes;
    }

    size_t pending()
    {
        return red_stream_pending(rcc->get_stream());
    }

    /* The client takes as many bytes, and owes a pong for each probe. */
    void take(size_t size)
    {
        SpiceMiniDataHeader header;
        size_t pos = 0;
        const size_t before = bytes.size();

        bytes.resize(before + size);
        const ssize_t n = read(peer, &bytes[before], size);
        bytes.resize(before + MAX(n, 0));
        while (bytes.size() - pos >= sizeof(header)) {
            memcpy(&header, &bytes[pos], sizeof(header));
            if (bytes.size() - pos < sizeof(header) + header.size) {
                break;
            }
            if (header.type == SPICE_MSG_PING) {
                Ping ping;

                g_assert_cmpuint(header.size, ==, PING_SIZE);
                header.type = SPICE_MSGC_PONG;
                memcpy(ping.message, &bytes[pos], sizeof(ping.message));
                memcpy(ping.message, &header, sizeof(header));
                pings.push_back(ping);
            }
            pos += sizeof(header) + header.size;
        }
        bytes.erase(bytes.begin(), bytes.begin() + pos);
    }

    /* It sends the oldest pong that it owes, and the server sees that. */
    void pong()
    {
        g_assert_false(pings.empty());
        g_assert_cmpint(write(peer, pings[0].message, sizeof(Ping)), ==, sizeof(Ping));
        pings.erase(pings.begin());
        run_events();
    }

    /* A round trip of a client that answers at once. The delay ends, as by its timer. */
    void round()
    {
        rcc->get_send_control()->end_coalescing();
        now += ROUND;
        take(ROUND_BYTES);
        while (!pings.empty()) {
            pong();
        }
    }

    void draw(int count)
    {
        add_items(count);
        rcc->push();
    }

    /* There is always something to draw, until the rate is known. */
    void fill_path()
    {
        for (int i = 0; i < ENOUGH; ++i) {
            draw(MANY - rcc->get_pipe_size());
            round();
        }
    }

    /* The client takes all that was sent, and owes more pongs than make the path busy. */
    void take_all()
    {
        rcc->get_send_control()->end_coalescing();
        g_assert_cmpuint(pending(), ==, 0);
        now += ROUND;
        take(MANY * MESSAGE_SIZE);
        g_assert_cmpuint(pings.size(), >, RED_STREAM_FLOW_PROBES / 4 + 2);
    }
};

} // namespace

static void share_a_write()
{
    PongFixture f;

    f.fill_path();
    f.draw(MANY);
    f.take_all();
    const uint64_t writes = f.writes();
    size_t pending = 0;
    for (int i = 0; i < 2; ++i) {
        f.pong();
        g_assert_cmpuint(f.writes(), ==, writes);
        g_assert_cmpuint(f.pending(), >, pending);
        pending = f.pending();
    }
    f.rcc->get_send_control()->end_coalescing();
    g_assert_cmpuint(f.pending(), ==, 0);
    g_assert_cmpuint(f.writes(), ==, writes + 1);
}

/* Nothing waits if the pong allows the last drawings, and the path was not busy. */
static void last_of_a_start()
{
    PongFixture f;

    f.draw(MANY);
    g_assert_false(f.rcc->pipe_is_empty());
    while (f.rcc->get_pipe_size() > FEW) {
        f.take(ROUND_BYTES);
        f.pong();
    }
    while (!f.rcc->pipe_is_empty()) {
        f.take(ROUND_BYTES);
        f.pong();
        g_assert_cmpuint(f.pending(), ==, 0);
    }
}

/* A pong that allows nothing delays nothing. */
static void nothing_to_share()
{
    PongFixture f;

    f.fill_path();
    while (!f.rcc->pipe_is_empty()) {
        f.round();
    }
    f.take_all();
    f.pong();
    g_assert_false(f.rcc->get_send_control()->is_coalescing());
}

static const BatchTest tests[] = {
    { "share-a-write", "flow,hold=" HOLD, share_a_write },
    { "last-of-a-start", "flow,hold=" HOLD, last_of_a_start },
    { "nothing-to-share", "flow,hold=" HOLD, nothing_to_share },
};

int main(int argc, char *argv[])
{
    return batch_test_main(argc, argv, "pong-coalescing", tests);
}
