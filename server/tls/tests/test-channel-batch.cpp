/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How a channel sends the items of its pipe: how many writes, when they happen, and that it reports
 * itself blocked as long as bytes of it wait.
 */
#include <config.h>

#include "test-channel-batch.h"

#include "push-visibility.h"

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
    g_assert_cmpuint(last_counters.messages, ==, 11);
    g_assert_cmpuint(last_counters.flushes, ==, 2);
    g_assert_cmpuint(last_counters.writes, ==, 2);
    g_assert_cmpuint(last_counters.setsockopts, ==, 0);
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

#define CONNECTIVITY_TIMEOUT 300 /* milliseconds */

static void let_time_pass(Fixture *f)
{
    const gint64 end = g_get_monotonic_time() + CONNECTIVITY_TIMEOUT * 3 / 2 * 1000;

    while (g_get_monotonic_time() < end) {
        f->run_events();
        g_usleep(1000);
    }
}

/* A client that has not read for some time does so at last, and what the stream has held
 * leaves: the connection was not idle. */
static void passing_on_is_no_idleness()
{
    Fixture f;

    test_stream_shrink(f.rcc->get_stream());
    do {
        f.add_items(1);
        f.rcc->push();
    } while (!f.rcc->is_blocked());
    g_assert_true(f.rcc->pipe_is_empty() && f.rcc->no_item_being_sent());

    f.rcc->start_connectivity_monitoring(CONNECTIVITY_TIMEOUT);
    let_time_pass(&f);
    while (f.rcc->is_blocked()) {
        f.receive();
        f.run_events();
    }
    let_time_pass(&f);
    g_assert_true(f.rcc->is_connected());
}

static void ack_missing()
{
    test_ack_missing(40);
}

/* A stream that has become a WebSocket. */
static RedStream *make_websocket(SpiceServer *server, int *peer)
{
    static const char request[] = "GET / HTTP/1.1\r\nSec-WebSocket-Key: x\r\n\r\n";
    RedStream *const stream = test_stream_new(server, peer);
    char head[4], answer[1024];

    g_assert_cmpint(write(*peer, request, strlen(request)), ==, strlen(request));
    g_assert_cmpint(red_stream_read(stream, head, sizeof(head)), ==, sizeof(head));
    g_assert_true(red_stream_is_websocket(stream, head, sizeof(head)));
    g_assert_cmpint(read(*peer, answer, sizeof(answer)), >, 0);
    return stream;
}

/* A WebSocket's ping comes when the kernel takes nothing, and nothing else is to be sent. */
static void pong_is_not_left()
{
    static const uint8_t ping[] = { 0x89, 0x80, 1, 2, 3, 4 };
    Fixture f(RedChannel::MigrateAll, make_websocket);
    size_t filled = 0;
    uint8_t pong[2];

    while (write(f.rcc->get_stream()->socket, "", 1) == 1) {
        ++filled;
    }
    g_assert_cmpint(write(f.peer, ping, sizeof(ping)), ==, sizeof(ping));
    f.run_events();
    while (filled > 0) {
        char byte;

        g_assert_cmpint(read(f.peer, &byte, 1), ==, 1);
        --filled;
    }
    f.run_events();
    g_assert_cmpint(read(f.peer, pong, sizeof(pong)), ==, sizeof(pong));
    g_assert_cmphex(pong[0], ==, 0x8a);
}

/* Without an output buffer upstream's code sends all the same, and nothing is counted. */
static void unbuffered()
{
    {
        Fixture f;

        f.add_items(10);
        f.rcc->push();
        g_assert_cmpuint(f.receive(), ==, 10 * MESSAGE_SIZE);
        g_assert_false(f.rcc->is_blocked());

        /* the socket is full: the channel waits, as for a message */
        test_stream_shrink(f.rcc->get_stream());
        size_t sent = 0, received = 0;
        do {
            f.add_items(1);
            f.rcc->push();
            ++sent;
        } while (!f.rcc->is_blocked());
        while (f.rcc->is_blocked()) {
            received += f.receive();
            f.run_events();
        }
        received += f.receive();
        g_assert_cmpuint(received, ==, sent * MESSAGE_SIZE);
    }
    g_assert_cmpuint(last_counters.writes, ==, 0);
    g_assert_cmpuint(last_counters.written_bytes, ==, 0);
}

/* Each message takes long to make, as images to compress do. */
struct SlowClient final: public TestChannelClient
{
    using TestChannelClient::TestChannelClient;

    int peer;
    int sent = 0;
    size_t arrived = 0;

    void send_item(RedPipeItem *item) override
    {
        static uint8_t data[1000];

        g_usleep(2 * RED_STREAM_UNNOTICED);
        const ssize_t n = read(peer, data, sizeof(data));
        arrived += MAX(n, 0);
        g_assert_cmpuint(arrived, ==, sent * (sizeof(SpiceMiniDataHeader) + PART_SIZE));
        ++sent;
        init_send_data(SPICE_MSG_MIGRATE_DATA);
        spice_marshaller_add_by_ref(get_marshaller(), data, PART_SIZE);
        begin_send_message();
    }
};

/* No message waits for more than one other that takes long. */
static void takes_long()
{
    TestServer server;
    int peer;
    auto channel = red::make_shared<TestChannel>(server.server, SPICE_CHANNEL_DISPLAY, 0,
                                                 RedChannel::MigrateAll);
    auto rcc = red::make_shared<SlowClient>(channel.get(), server.client,
                                            test_stream_new(server.server, &peer), &server.caps);

    rcc->peer = peer;
    g_assert_true(rcc->init());
    for (int i = 0; i < 5; ++i) {
        rcc->pipe_add_type(RED_PIPE_ITEM_TYPE_CHANNEL_BASE);
    }
    rcc->push();
    g_assert_cmpint(rcc->sent, ==, 5);
    rcc->disconnect();
    close(peer);
}

static const BatchTest tests[] = {
    { "batch", "batch", drain_is_one_write },
    { "blocked", "batch", blocked_while_bytes_wait },
    { "idleness", "batch", passing_on_is_no_idleness },
    { "acks", "batch", ack_missing },
    { "cork", "cork", unbuffered },
    { "pong", "batch", pong_is_not_left },
    { "takes-long", "batch", takes_long },
};

int main(int argc, char *argv[])
{
    return batch_test_main(argc, argv, "channel-batch", tests);
}
