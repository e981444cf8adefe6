/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The key with which a client encrypts its ticket: a main channel gets a new one, the channels
 * that follow it have the same, and each is let in with what was encrypted with it.
 */
#include <config.h>

#include "test-channel-client.h"
#include "test-link.h"

#include "push-visibility.h"

static const char PASSWORD[] = "a ticket";

static void test_channels_share()
{
    TestServer server;
    TestLink first(server.server, SPICE_CHANNEL_MAIN);
    TestLink inputs(server.server, SPICE_CHANNEL_INPUTS);
    TestLink second(server.server, SPICE_CHANNEL_MAIN);
    TestLink later(server.server, SPICE_CHANNEL_INPUTS);

    g_assert_true(inputs.has_key_of(first));
    g_assert_false(second.has_key_of(first));
    g_assert_true(later.has_key_of(second));
}

static void test_each_is_let_in()
{
    TestServer server;

    g_assert_cmpint(spice_server_set_ticket(server.server, PASSWORD, 0, FALSE, FALSE), ==, 0);
    TestLink first(server.server, SPICE_CHANNEL_MAIN);
    TestLink inputs(server.server, SPICE_CHANNEL_INPUTS);
    TestLink second(server.server, SPICE_CHANNEL_MAIN);

    /* also with a key that new channels no longer get; the ticket was good, the client is none */
    g_assert_cmpint(inputs.authenticate(PASSWORD), ==, SPICE_LINK_ERR_BAD_CONNECTION_ID);
    g_assert_cmpint(second.authenticate("another"), ==, SPICE_LINK_ERR_PERMISSION_DENIED);
    g_assert_cmpint(first.authenticate(PASSWORD), ==, SPICE_LINK_ERR_OK);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of a wrong ticket and of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/ticket-key/channels-share", test_channels_share);
    g_test_add_func("/server/ticket-key/each-is-let-in", test_each_is_let_in);
    return g_test_run();
}
