/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The drawings of a burst are sent together, and none is delayed longer than allowed.
 */
#include <config.h>

#include <atomic>
#include <fcntl.h>

#include "inputs-channel-client.h"
#include "red-send-control.h"
#include "test-channel-batch.h"
#include "test-qxl-device.h"
#include "test-streaming-agent.h"

#include "push-visibility.h"

/* of the modes below; long, so that a busy machine does not end it */
#define HOLD "20000"
/* microseconds: longer than that, and than what counts as a pause */
#define PAUSE 100000
/* the pipe's size from which on it is sent, and more than that */
#define FULL 40

struct HoldFixture: public Fixture
{
    explicit HoldFixture(int type=SPICE_CHANNEL_DISPLAY):
        Fixture(RedChannel::HandleAcks | RedChannel::MigrateAll, test_stream_new, type)
    {
        rcc->push_set_ack();
        rcc->ack_zero_messages_window();
        rcc->push();
        run_events();
        receive();
        g_usleep(PAUSE);
    }

    /* As the worker does: items first, then a look at the sockets. Returns the messages that
     * have left. */
    int draw(int count)
    {
        add_items(count);
        run_events();
        return arrived();
    }

    int arrived()
    {
        const size_t bytes = receive();

        g_assert_cmpuint(bytes % MESSAGE_SIZE, ==, 0);
        return bytes / MESSAGE_SIZE;
    }

    /* Nothing happens any more but what the channel has planned. */
    int left_alone()
    {
        int count = 0;

        for (int i = 0; i < 10; ++i) {
            g_usleep(PAUSE / 10);
            run_events();
            count += arrived();
        }
        return count;
    }
};

static void burst_leaves_together()
{
    {
        HoldFixture f;

        /* the first after a pause leaves at once */
        g_assert_cmpint(f.draw(1), ==, 1);
        int held = 0, early = 0;
        for (int i = 0; i < 10; ++i) {
            early += f.draw(2);
            held += 2;
        }
        g_assert_cmpint(early + f.left_alone(), ==, held);
        g_assert_cmpint(f.draw(1), ==, 1);
    }
    /* SET_ACK, the first, the burst in two writes at the most, the last */
    g_assert_cmpuint(last_counters.writes, <=, 5);
}

/* A wait for the pipe does not wait for the coalescing delay, and delayed drawings are sent. */
static void waited_for()
{
    HoldFixture f;

    f.draw(1);
    g_assert_cmpint(f.draw(3), ==, 0);
    g_assert_true(f.channel->wait_all_sent(1000000000));
    g_assert_cmpint(f.arrived(), ==, 3);
    g_assert_cmpuint(red_stream_pending(f.rcc->get_stream()), ==, 0);
}

/* Nor for what is drawn meanwhile. */
static void drawn_while_waited_for()
{
    HoldFixture f;

    f.draw(1);
    f.rcc->get_send_control()->set_sync_flush(true);
    g_assert_cmpint(f.draw(3), ==, 3);
    f.rcc->get_send_control()->set_sync_flush(false);
}

/* Nor if it is for what is being sent only. */
static void waited_for_as_sent()
{
    HoldFixture f;

    f.draw(1);
    g_assert_cmpint(f.draw(3), ==, 0);
    g_assert_true(f.rcc->wait_outgoing_item(1000000000));
    g_assert_cmpint(f.arrived(), ==, 3);
}

/* Nor if the client has disconnected, which only sending notices: then nothing is left to wait
 * for. */
static void gone_while_waited_for()
{
    HoldFixture f;
    RedChannelClient *const rcc = f.rcc.get();

    f.draw(1);
    g_assert_cmpint(f.draw(3), ==, 0);
    /* only the library has a reference to it, as usual */
    f.rcc.reset();
    shutdown(f.peer, SHUT_RDWR);
    g_assert_true(rcc->wait_outgoing_item(1000000000));
    g_assert_false(f.channel->is_connected());
}

/* A message of any type sends delayed drawings along with it. */
static void not_of_the_display()
{
    HoldFixture f;

    f.draw(1);
    g_assert_cmpint(f.draw(3), ==, 0);
    f.rcc->pipe_add_type(RED_PIPE_ITEM_TYPE_MIGRATE);
    f.run_events();
    g_assert_cmpuint(f.receive(), ==,
                     3 * MESSAGE_SIZE + sizeof(SpiceMiniDataHeader) + sizeof(SpiceMsgMigrate));
}

/* A client's message on the inputs channel of which something may be the answer. */
static void keys_and_clicks()
{
    HoldFixture f;
    RedChannel *const inputs = reds_find_channel(f.server, SPICE_CHANNEL_INPUTS, 0);
    const struct { uint16_t type; uint16_t size; unsigned inputs; } messages[] = {
        { SPICE_MSGC_INPUTS_KEY_DOWN, 4, 1 },
        { SPICE_MSGC_INPUTS_KEY_UP, 4, 1 },
        { SPICE_MSGC_INPUTS_KEY_SCANCODE, 1, 2 },
        { SPICE_MSGC_INPUTS_MOUSE_PRESS, 3, 3 },
        { SPICE_MSGC_INPUTS_MOUSE_RELEASE, 3, 4 },
        { SPICE_MSGC_INPUTS_MOUSE_MOTION, 10, 4 },
    };
    int peer;

    inputs_channel_client_create(inputs, f.client, test_stream_new(f.server, &peer), &f.caps);
    for (const auto &message : messages) {
        uint8_t bytes[sizeof(SpiceMiniDataHeader) + 10] = { };
        SpiceMiniDataHeader header;

        header.type = GUINT16_TO_LE(message.type);
        header.size = GUINT32_TO_LE(message.size);
        memcpy(bytes, &header, sizeof(header));
        g_assert_cmpint(write(peer, bytes, sizeof(header) + message.size), ==,
                        sizeof(header) + message.size);
        f.run_events();
        g_assert_cmpuint(f.client->get_inputs(), ==, message.inputs);
    }
    inputs->disconnect();
    close(peer);
}

/* The response to a key leaves at once. */
static void after_a_key()
{
    HoldFixture f;

    f.draw(1);
    g_assert_cmpint(f.draw(3), ==, 0);
    f.client->add_input();
    g_assert_cmpint(f.draw(1), ==, 4);
    /* once */
    g_assert_cmpint(f.draw(1), ==, 0);
}

/* The worker takes no more commands when the pipe is full. Its messages are then not flushed one by
 * one. */
static void full_pipe_is_emptied()
{
    HoldFixture f;

    f.draw(1);
    f.draw(FULL);
    g_assert_true(f.rcc->pipe_is_empty());
    g_assert_cmpuint(red_stream_pending(f.rcc->get_stream()), ==, FULL * MESSAGE_SIZE);
    g_assert_cmpint(f.left_alone(), ==, FULL);
    g_assert_cmpuint(red_stream_pending(f.rcc->get_stream()), ==, 0);
}

/* What stops for an ack is not held: the ack would be waited for. */
static void stops_for_an_ack()
{
    HoldFixture f;

    int count = f.draw(1);
    count += f.draw(100);
    g_assert_false(f.rcc->pipe_is_empty());
    g_assert_cmpuint(red_stream_pending(f.rcc->get_stream()), ==, 0);
    g_assert_cmpint(count, >=, 40);
}

static void goes_with_the_channel()
{
    HoldFixture f;

    f.draw(1);
    f.draw(FULL);
    f.rcc->disconnect();
    f.run_events();
    g_assert_cmpuint(red_stream_pending(f.rcc->get_stream()), ==, 0);
}

/* A socket that takes only a part of a message: the messages behind it are sent, too. */
static void blocked()
{
    HoldFixture f;
    const size_t expected = sizeof(SpiceMiniDataHeader) + 2 * LARGE_PART_SIZE +
                            FULL / 2 * MESSAGE_SIZE;
    size_t received = 0;

    test_stream_shrink(f.rcc->get_stream());
    f.rcc->pipe_add_type(LARGE_ITEM);
    f.add_items(FULL / 2);
    f.run_events();
    g_assert_true(f.rcc->is_blocked());
    for (int i = 0; i < 5000 && received < expected; ++i) {
        received += f.receive();
        f.run_events();
        g_usleep(1000);
    }
    g_assert_cmpuint(received, ==, expected);
}

/* Each message leaves at once. */
static void not_held()
{
    HoldFixture f;

    for (int i = 0; i < 10; ++i) {
        g_assert_cmpint(f.draw(3), ==, 3);
    }
}

/* Nor is what another channel sends held. */
static void not_the_cursor()
{
    HoldFixture f(SPICE_CHANNEL_CURSOR);

    for (int i = 0; i < 10; ++i) {
        g_assert_cmpint(f.draw(1), ==, 1);
    }
}

/* Nor do the frames of a guest's streaming agent, whose channel has a display's type, wait for more
 * or for answers. */
static void not_a_live_video()
{
    enum { FRAMES = 30, SIZE = 4000 };
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    TestStreamingAgent agent;
    TestStreamingClient client(agent, SPICE_CHANNEL_DISPLAY);
    RedChannel *const channel = reds_find_channel(agent.server, SPICE_CHANNEL_DISPLAY, 0);

    agent.say(TestStreamingAgent::make_format());
    for (int frames = 0; frames < FRAMES; ++frames) {
        TestLinkMessage message;

        agent.say(TestStreamingAgent::make(STREAM_TYPE_DATA, nullptr, 0, SIZE));
        g_assert_false(channel->is_coalescing());
        do {
            message = client.channel.next_message();
            g_assert_cmpuint(message.type, !=, SPICE_MSG_PING);
        } while (message.type != SPICE_MSG_DISPLAY_STREAM_DATA);
    }
}

static std::atomic<int> frames_done;

/* A frame of a local client, for which the guest waits, leaves at once. */
static void not_a_shared_frame()
{
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    TestDevice device;

    device.on_async = [](uint64_t) { ++frames_done; };
    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    TestDisplayClient client(device.server, TEST_UNIX, 0, 1 << SPICE_DISPLAY_CAP_GL_SCANOUT);
    TestLink &display = client.display;
    spice_qxl_gl_scanout(&device.qxl, open("/dev/null", O_RDWR), 16, 16, 64, 0, 0);

    for (int frames = 0; frames < 5; ++frames) {
        TestLinkMessage message;

        spice_qxl_gl_draw_async(&device.qxl, 0, 0, 16, 16, frames);
        const uint64_t start = g_get_monotonic_time();
        do {
            uint8_t byte;

            message = display.next_message();
            if (message.type == SPICE_MSG_DISPLAY_GL_SCANOUT_UNIX) {
                display.receive(&byte, sizeof(byte));
            }
        } while (message.type != SPICE_MSG_DISPLAY_GL_DRAW);
        g_assert_cmpuint(g_get_monotonic_time() - start, <, G_USEC_PER_SEC / 2);
        display.send_message(SPICE_MSGC_DISPLAY_GL_DRAW_DONE);
        while (frames_done <= frames) {
            g_usleep(100);
        }
    }
    spice_qxl_gl_scanout(&device.qxl, -1, 0, 0, 0, 0, 0);
}

static const BatchTest tests[] = {
    { "batch", "batch,window=100000,hold=" HOLD, burst_leaves_together },
    { "flow", "flow,hold=" HOLD, burst_leaves_together },
    { "waited-for", "batch,window=100000,hold=" HOLD, waited_for },
    { "waited-for-flow", "flow,hold=" HOLD, waited_for },
    { "waited-for/drawn", "batch,window=100000,hold=" HOLD, drawn_while_waited_for },
    { "waited-for/outgoing", "batch,window=100000,hold=" HOLD, waited_for_as_sent },
    { "waited-for/gone", "flow,hold=" HOLD, gone_while_waited_for },
    { "any-channel", "batch,window=100000,hold=" HOLD, not_of_the_display },
    { "key", "flow,hold=" HOLD, after_a_key },
    { "inputs", "flow,hold=" HOLD, keys_and_clicks },
    { "full", "batch,window=100000,hold=" HOLD, full_pipe_is_emptied },
    { "ack", "batch,hold=" HOLD, stops_for_an_ack },
    { "disconnect", "batch,window=100000,hold=" HOLD, goes_with_the_channel },
    { "blocked", "batch,window=100000,hold=" HOLD, blocked },
    { "none", "flow,hold=0", not_held },
    { "normal", "normal", not_held },
    { "cursor", "flow,hold=" HOLD, not_the_cursor },
    { "live-video", "flow,hold=" HOLD, not_a_live_video },
    { "shared-frame", "flow,hold=1000000", not_a_shared_frame },
};

int main(int argc, char *argv[])
{
    return batch_test_main(argc, argv, "channel-hold", tests);
}
