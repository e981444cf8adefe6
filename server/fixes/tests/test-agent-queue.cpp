/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a guest's streaming agent says does not pile up for a client that does not read: the agent
 * waits. Nothing is lost, all comes once the client reads.
 */
#include <config.h>

#include "test-streaming-agent.h"

#include "push-visibility.h"

/* as many messages as no queue holds */
enum { TIMES = 1000, FEW = 100 };

static void check_all_come(TestStreamingAgent *agent, uint8_t channel_type, uint16_t type,
                           const std::vector<uint8_t> &message)
{
    TestStreamingClient client(*agent, channel_type);

    agent->say(message, TIMES);
    g_assert_cmpuint(agent->num_left(), >, TIMES - FEW);
    for (int i = 0; i < TIMES; ++i) {
        client.next_message(type);
    }
    g_assert_cmpuint(agent->num_left(), ==, 0);
}

static void cursors()
{
    TestStreamingAgent agent;
    StreamMsgCursorSet cursor = { };

    cursor.width = cursor.height = GUINT16_TO_LE(64);
    cursor.type = SPICE_CURSOR_TYPE_ALPHA;
    check_all_come(&agent, SPICE_CHANNEL_CURSOR, SPICE_MSG_CURSOR_SET,
                   TestStreamingAgent::make(STREAM_TYPE_CURSOR_SET, &cursor, sizeof(cursor),
                                            64 * 64 * 4));
}

static void formats()
{
    TestStreamingAgent agent;

    check_all_come(&agent, SPICE_CHANNEL_DISPLAY, SPICE_MSG_DISPLAY_STREAM_CREATE,
                   TestStreamingAgent::make_format());
}

/* One frame waits, and no more are read. */
static void frames()
{
    TestStreamingAgent agent;

    check_all_come(&agent, SPICE_CHANNEL_DISPLAY, SPICE_MSG_DISPLAY_STREAM_DATA,
                   TestStreamingAgent::make_frame(10000));
}

/* The agent closes its device behind each frame, and opens it again. */
static void reopened()
{
    TestStreamingAgent agent;
    TestStreamingClient client(agent, SPICE_CHANNEL_DISPLAY);
    RedChannel *const channel = reds_find_channel(agent.server, SPICE_CHANNEL_DISPLAY, 0);
    unsigned taken = 0;

    for (int i = 0; i < TIMES; ++i) {
        agent.say(TestStreamingAgent::make_frame(10000));
        taken += 1 - agent.num_left();
        agent.close();
        agent.open();
    }
    g_assert_cmpuint(taken, >, 0);
    g_assert_cmpuint(taken, <, FEW);
    g_assert_cmpuint(channel->max_pipe_size(), <, FEW);

    /* those that were taken, and one more */
    agent.say(TestStreamingAgent::make_frame(20000));
    while (client.next_message(SPICE_MSG_DISPLAY_STREAM_DATA).body.size() < 20000) {
        g_assert_cmpuint(taken, >, 0);
        --taken;
    }
    g_assert_cmpuint(taken, ==, 0);
    g_assert_cmpuint(agent.num_left(), ==, 0);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/agent-queue/cursors", cursors);
    g_test_add_func("/server/agent-queue/formats", formats);
    g_test_add_func("/server/agent-queue/frames", frames);
    g_test_add_func("/server/agent-queue/reopened", reopened);
    return g_test_run();
}
