/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Somebody on the wire of a plain connection sees an encrypted ticket and the id under which the
 * client's other channels come. That opens no further channel: each link has a key of its own.
 */
#include <config.h>

#include "test-channel-client.h"
#include "test-link.h"

#include "push-visibility.h"

static const char PASSWORD[] = "a ticket";

static void test_recorded_ticket()
{
    TestServer server;

    g_assert_cmpint(spice_server_set_ticket(server.server, PASSWORD, 0, FALSE, FALSE), ==, 0);
    TestLink client(server.server, SPICE_CHANNEL_MAIN);
    const std::vector<uint8_t> recorded = client.encrypt_ticket(PASSWORD);
    g_assert_cmpint(client.send_ticket(recorded), ==, SPICE_LINK_ERR_OK);
    const uint32_t id = client.session_id();

    TestLink further(server.server, SPICE_CHANNEL_INPUTS, id);
    g_assert_cmpint(further.send_ticket(recorded), ==, SPICE_LINK_ERR_PERMISSION_DENIED);
    TestLink main(server.server, SPICE_CHANNEL_MAIN);
    g_assert_cmpint(main.send_ticket(recorded), ==, SPICE_LINK_ERR_PERMISSION_DENIED);

    /* it was the ticket: who knows the password is let in */
    TestLink own(server.server, SPICE_CHANNEL_INPUTS, id);
    g_assert_cmpint(own.authenticate(PASSWORD), ==, SPICE_LINK_ERR_OK);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of a wrong ticket and of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/ticket-replay", test_recorded_ticket);
    return g_test_run();
}
