/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A guest that begins to record while a ping waits in the pipe has the client told so.
 */
#include <config.h>

#include <cstdlib>

#include "test-channel-client.h"
#include "test-link.h"

#include "push-visibility.h"

static const char PASSWORD[] = "a ticket";

/* microseconds; the server pings after 100 ms in which nothing goes */
#define ENOUGH (10 * 1000000)

static int num_drawn;

/* In place of the C library's: each ping draws its number just before it is queued. */
int rand()
{
    return ++num_drawn;
}

/* What is queued by a callback is sent by another, of the next turn of the loop. */
static void wait_for_ping()
{
    const int64_t latest = g_get_monotonic_time() + ENOUGH;
    const int before = num_drawn;

    while (num_drawn == before) {
        g_assert_cmpint(g_get_monotonic_time(), <, latest);
        g_main_context_iteration(basic_event_loop_get_context(), FALSE);
    }
}

static bool is_told(TestLink *client, uint16_t type)
{
    const int64_t latest = g_get_monotonic_time() + ENOUGH;

    while (g_get_monotonic_time() < latest) {
        g_main_context_iteration(basic_event_loop_get_context(), FALSE);
        if (test_is_readable(client->socket, 10) && client->next_message().type == type) {
            return true;
        }
    }
    return false;
}

static void test_ping()
{
    TestServer server;
    SpiceRecordInterface interface = {
        { SPICE_INTERFACE_RECORD, "record", SPICE_INTERFACE_RECORD_MAJOR,
          SPICE_INTERFACE_RECORD_MINOR },
    };
    SpiceRecordInstance record = { { &interface.base }, nullptr };

    g_assert_cmpint(spice_server_set_ticket(server.server, PASSWORD, 0, FALSE, FALSE), ==, 0);
    g_assert_cmpint(spice_server_add_interface(server.server, &record.base), ==, 0);
    TestLink client(server.server, SPICE_CHANNEL_MAIN);
    g_assert_cmpint(client.authenticate(PASSWORD), ==, SPICE_LINK_ERR_OK);
    const uint32_t id = client.session_id();

    /* a Unix socket that nobody reads is not pinged, so the ping is this channel's */
    TestLink sound(server.server, SPICE_CHANNEL_RECORD, id, TEST_TCP);
    g_assert_cmpint(sound.authenticate(PASSWORD), ==, SPICE_LINK_ERR_OK);
    wait_for_ping();
    spice_server_record_start(&record);
    g_assert_true(is_told(&sound, SPICE_MSG_RECORD_START));
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/sound-ping/recording-starts", test_ping);
    return g_test_run();
}
