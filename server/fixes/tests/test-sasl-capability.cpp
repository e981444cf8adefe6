/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* With SASL enabled, the link of a client without the capability to select it is closed
 * (fixes/0043). */
#include <config.h>

#if HAVE_SASL

#include <fcntl.h>

#include "test-channel-client.h"
#include "test-link.h"

#include "push-visibility.h"

static void test_without_capability()
{
    TestServer server;

    g_assert_cmpint(spice_server_set_sasl(server.server, TRUE), ==, 0);
    TestLink client(server.server, SPICE_CHANNEL_MAIN, 0, TEST_TCP, 0, 0,
                    1 << SPICE_COMMON_CAP_AUTH_SPICE);
    g_assert_cmpint(client.receive_reply(), ==, SPICE_LINK_ERR_VERSION_MISMATCH);
    g_assert_cmpint(fcntl(client.server_socket, F_GETFD), ==, -1);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of the client */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/sasl-capability/without", test_without_capability);
    return g_test_run();
}

#else

int main()
{
    return 77;      // skipped
}

#endif
