/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SASL is accepted only where it is enabled (fixes/0042). */
#include <config.h>

#if HAVE_SASL

#include "test-channel-client.h"
#include "test-link.h"
#include "test-sasl.h"

#include "push-visibility.h"

static const uint32_t mechanism = GUINT32_TO_LE(SPICE_COMMON_CAP_AUTH_SASL);

static void test_off()
{
    TestServer server;

    g_assert_cmpint(spice_server_set_ticket(server.server, "a ticket", 0, FALSE, FALSE), ==, 0);
    TestLink client(server.server, SPICE_CHANNEL_MAIN, 0, TEST_TCP);
    client.send_all(&mechanism, sizeof(mechanism));
    client.send_all(test_sasl_answers, sizeof(test_sasl_answers));
    g_assert_cmpint(client.receive_reply(), ==, SPICE_LINK_ERR_INVALID_DATA);
    client.wait_end();
}

static void test_on()
{
    TestServer server;
    uint8_t list[sizeof(uint32_t) + 5];     // ",ONE," and its length

    g_assert_cmpint(spice_server_set_sasl(server.server, TRUE), ==, 0);
    TestLink client(server.server, SPICE_CHANNEL_MAIN, 0, TEST_TCP);
    client.send_all(&mechanism, sizeof(mechanism));
    client.receive(list, sizeof(list));
    g_assert_cmpmem(list + sizeof(uint32_t), sizeof(list) - sizeof(uint32_t), ",ONE,", 5);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of what it refuses */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/sasl-choice/off", test_off);
    g_test_add_func("/server/sasl-choice/on", test_on);
    return g_test_run();
}

#else

int main()
{
    return 77;      // skipped
}

#endif
