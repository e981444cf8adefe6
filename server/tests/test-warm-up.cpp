/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * On a long and fast path the worker fills TCP's first window while it waits for what a new client
 * of the display says of itself, which takes a round trip.
 */
#include <config.h>

#include "test-link.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

/* microseconds: a round trip, and what 250 KB take at 10 Mbit/s */
#define ROUNDTRIP 100000
#define TRANSMISSION 200000

/* bytes of a SpiceMsgPing without data */
#define PING_SIZE (sizeof(uint32_t) + sizeof(uint64_t))

/* Answer as if it had come @late microseconds later. */
static void pong(TestLink *link, const TestLinkMessage &ping, uint64_t late)
{
    uint8_t body[PING_SIZE];
    uint64_t timestamp;

    memcpy(body, ping.body.data(), sizeof(body));
    memcpy(&timestamp, &body[sizeof(uint32_t)], sizeof(timestamp));
    timestamp = GUINT64_TO_LE(GUINT64_FROM_LE(timestamp) - late);
    memcpy(&body[sizeof(uint32_t)], &timestamp, sizeof(timestamp));
    link->send_message(SPICE_MSGC_PONG, body, sizeof(body));
}

/* The main channel's test of the link: two pings for the round trip, then a large one. */
static void measure(TestLink *main)
{
    unsigned pings = 0;

    while (pings < 3) {
        const TestLinkMessage message = main->next_message();

        if (message.type == SPICE_MSG_PING) {
            ++pings;
            pong(main, message, ROUNDTRIP + (pings == 3 ? TRANSMISSION : 0));
        }
    }
}

struct WarmUpFixture
{
    TestDevice device;
    TestLink main;
    TestLink display;

    WarmUpFixture(TestTransport main_transport, TestTransport display_transport):
        main(without_password(&device), SPICE_CHANNEL_MAIN, 0, main_transport),
        display(device.server, SPICE_CHANNEL_DISPLAY, ready(&main, main_transport),
                display_transport)
    {
        g_assert_cmpint(display.authenticate(""), ==, SPICE_LINK_ERR_OK);
    }

    static SpiceServer *without_password(TestDevice *device)
    {
        g_assert_cmpint(spice_server_set_noauth(device->server), ==, 0);
        return device->server;
    }

    static uint32_t ready(TestLink *main, TestTransport transport)
    {
        g_assert_cmpint(main->authenticate(""), ==, SPICE_LINK_ERR_OK);
        const uint32_t id = main->session_id();

        if (transport == TEST_TCP) {
            measure(main);
        }
        return id;
    }

    /* Nothing but what says so comes before the first picture. */
    void assert_no_warm_up()
    {
        display.say_display_init();
        for (;;) {
            const TestLinkMessage message = display.next_message();

            g_assert_cmpint(message.type, !=, SPICE_MSG_PING);
            if (message.type == SPICE_MSG_DISPLAY_MARK) {
                break;
            }
        }
    }
};

static void far()
{
    WarmUpFixture f(TEST_TCP, TEST_TCP);

    /* the client has not said anything yet */
    g_assert_cmpint(f.display.next_message().type, ==, SPICE_MSG_SET_ACK);
    const TestLinkMessage warm_up = f.display.next_message();
    g_assert_cmpint(warm_up.type, ==, SPICE_MSG_PING);
    g_assert_cmpuint(warm_up.body.size(), >, 12000);
    g_assert_cmpuint(warm_up.body.size(), <=, PING_SIZE + RED_STREAM_WARM_UP_MAX);
    const TestLinkMessage timed = f.display.next_message();
    g_assert_cmpint(timed.type, ==, SPICE_MSG_PING);
    g_assert_cmpuint(timed.body.size(), ==, PING_SIZE);

    /* and goes on, whether the pings are answered or not */
    f.display.say_display_init();
    g_assert_cmpint(f.display.next_message().type, ==, SPICE_MSG_DISPLAY_INVAL_ALL_PALETTES);
    pong(&f.display, warm_up, 0);
    pong(&f.display, timed, 0);
    while (f.display.next_message().type != SPICE_MSG_DISPLAY_MARK) {
        continue;
    }
    /* the worker has not lost its way */
    f.device.run();
}

/* No test of the link: on a slow path it would be in the way of what follows. */
static void unknown()
{
    WarmUpFixture f(TEST_UNIX, TEST_TCP);

    f.assert_no_warm_up();
}

/* No window to fill. */
static void local()
{
    WarmUpFixture f(TEST_TCP, TEST_UNIX);

    f.assert_no_warm_up();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* only flow does it */
    g_unsetenv("SPICE_STREAM");
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/warm-up/far", far);
    g_test_add_func("/server/warm-up/unknown", unknown);
    g_test_add_func("/server/warm-up/local", local);
    return g_test_run();
}
