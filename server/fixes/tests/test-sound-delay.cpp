/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sound is sent when it is played, over a slow link too: TCP does not gather it.
 */
#include <config.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "test-channel-client.h"
#include "test-link.h"

#include "push-visibility.h"

static const char PASSWORD[] = "a ticket";

/* microseconds: a round trip, and one in which the 250 KB of the test of the link went at 2
 * Mbit/s */
#define SHORT 100000
#define LONG (SHORT + 1000000)

/* Answers the test of the link as a client behind a slow one. */
static void be_far(TestLink *client)
{
    for (uint32_t pings = 0; pings < 3; ) {
        const TestLinkMessage message = client->next_message();
        SpiceMsgPing pong;

        if (message.type != SPICE_MSG_PING) {
            continue;
        }
        memcpy(&pong.id, &message.body[0], sizeof(pong.id));
        memcpy(&pong.timestamp, &message.body[sizeof(pong.id)], sizeof(pong.timestamp));
        /* the last one carries bytes; before that only the way counts */
        pong.timestamp -= ++pings < 3 ? SHORT : LONG;

        uint8_t body[sizeof(pong.id) + sizeof(pong.timestamp)];

        memcpy(&body[0], &pong.id, sizeof(pong.id));
        memcpy(&body[sizeof(pong.id)], &pong.timestamp, sizeof(pong.timestamp));
        client->send_message(SPICE_MSGC_PONG, body, sizeof(body));
    }
}

static void test_slow_link()
{
    TestServer server;
    SpicePlaybackInterface interface = {
        { SPICE_INTERFACE_PLAYBACK, "playback", SPICE_INTERFACE_PLAYBACK_MAJOR,
          SPICE_INTERFACE_PLAYBACK_MINOR },
    };
    SpicePlaybackInstance playback = { { &interface.base }, nullptr };
    int no_delay = 0;
    socklen_t len = sizeof(no_delay);

    g_assert_cmpint(spice_server_set_ticket(server.server, PASSWORD, 0, FALSE, FALSE), ==, 0);
    g_assert_cmpint(spice_server_add_interface(server.server, &playback.base), ==, 0);
    /* a Unix socket is not tested */
    TestLink client(server.server, SPICE_CHANNEL_MAIN, 0, TEST_TCP);
    g_assert_cmpint(client.authenticate(PASSWORD), ==, SPICE_LINK_ERR_OK);
    const uint32_t id = client.session_id();
    be_far(&client);

    TestLink sound(server.server, SPICE_CHANNEL_PLAYBACK, id, TEST_TCP);
    g_assert_cmpint(sound.authenticate(PASSWORD), ==, SPICE_LINK_ERR_OK);
    g_assert_cmpint(getsockopt(sound.server_socket, IPPROTO_TCP, TCP_NODELAY, &no_delay, &len),
                    ==, 0);
    g_assert_true(no_delay);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/sound-delay/slow-link", test_slow_link);
    return g_test_run();
}
