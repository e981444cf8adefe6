/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The device of a guest's streaming agent is removed while it is open and a client sees it. */
#include <config.h>

#include "test-streaming-agent.h"

#include "push-visibility.h"

/* Its client is told to stop, which the agent would be told as well; then it comes back. */
static void replug(TestStreamingAgent *agent, TestStreamingClient *client)
{
    spice_server_remove_interface(&agent->device->instance.base);
    client->channel.wait_end();
    g_assert_null(reds_find_channel(agent->server, SPICE_CHANNEL_DISPLAY, 0));

    g_assert_cmpint(spice_server_add_interface(agent->server, &agent->device->instance.base), ==,
                    0);
    agent->open();
    g_assert_nonnull(reds_find_channel(agent->server, SPICE_CHANNEL_DISPLAY, 0));
}

static void idle()
{
    TestStreamingAgent agent;
    TestStreamingClient client(agent, SPICE_CHANNEL_DISPLAY);

    replug(&agent, &client);
}

/* A frame waits for the client, and one for that. */
static void frames()
{
    TestStreamingAgent agent;
    TestStreamingClient client(agent, SPICE_CHANNEL_DISPLAY);

    agent.say(TestStreamingAgent::make_frame(1000000), 2);
    g_assert_cmpuint(agent.num_left(), ==, 1);
    replug(&agent, &client);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/agent-unplug/idle", idle);
    g_test_add_func("/server/agent-unplug/frames", frames);
    return g_test_run();
}
