/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where SASL is on, a client that is handed over to the server need not authenticate if that is
 * said with it, and is told so; all others have to.
 */
#include <config.h>

#if HAVE_SASL

#include "test-channel-client.h"
#include "test-link.h"
#include "test-sasl.h"

#include "push-visibility.h"

/* as those of spice-gtk, which takes SASL if it is offered */
static const uint32_t any_auth = 1 << SPICE_COMMON_CAP_PROTOCOL_AUTH_SELECTION |
                                 1 << SPICE_COMMON_CAP_AUTH_SPICE |
                                 1 << SPICE_COMMON_CAP_AUTH_SASL;

struct SaslServer: public TestServer
{
    SaslServer()
    {
        g_assert_cmpint(spice_server_set_ticket(server, "a ticket", 0, FALSE, FALSE), ==, 0);
        g_assert_cmpint(spice_server_set_sasl(server, TRUE), ==, 0);
    }
};

/* A client of the main channel. @offered: the one way in that it is told of */
struct Client: public TestLink
{
    Client(const SaslServer &server, bool skip_auth, uint32_t offered):
        TestLink(server.server, SPICE_CHANNEL_MAIN, 0, TEST_TCP, 0, 0, any_auth, skip_auth)
    {
        const uint32_t both = 1 << SPICE_COMMON_CAP_AUTH_SPICE | 1 << SPICE_COMMON_CAP_AUTH_SASL;

        g_assert_cmphex(common_caps() & both, ==, 1 << offered);
    }
};

static void skipped()
{
    SaslServer server;
    Client client(server, true, SPICE_COMMON_CAP_AUTH_SPICE);

    g_assert_cmpint(client.authenticate("another"), ==, SPICE_LINK_ERR_OK);
}

static void others()
{
    const uint32_t mechanism = GUINT32_TO_LE(SPICE_COMMON_CAP_AUTH_SPICE);
    SaslServer server;
    Client client(server, false, SPICE_COMMON_CAP_AUTH_SASL);

    client.send_all(&mechanism, sizeof(mechanism));
    g_assert_cmpint(client.receive_reply(), ==, SPICE_LINK_ERR_INVALID_DATA);
    client.wait_end();
}

/* What one is told says nothing to the next. */
static void in_turn()
{
    SaslServer server;

    for (int i = 0; i < 2; ++i) {
        Client(server, false, SPICE_COMMON_CAP_AUTH_SASL);
        Client client(server, true, SPICE_COMMON_CAP_AUTH_SPICE);

        g_assert_cmpint(client.authenticate("another"), ==, SPICE_LINK_ERR_OK);
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of whom it refuses, and of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/sasl-skip-auth/skipped", skipped);
    g_test_add_func("/server/sasl-skip-auth/others", others);
    g_test_add_func("/server/sasl-skip-auth/in-turn", in_turn);
    return g_test_run();
}

#else

int main()
{
    return 77;      // skipped
}

#endif
