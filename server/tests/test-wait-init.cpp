/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The worker waits for what a new client of the display says of itself, and goes on when that has
 * come: it does not sleep meanwhile.
 */
#include <config.h>

#include <atomic>
#include <time.h>

#include "test-link.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

/* microseconds, a multiple of what the worker would sleep */
#define LATE 35000

static std::atomic<int> sleeps;

/* in place of the C library's */
int usleep(useconds_t time)
{
    const struct timespec left = { 0, static_cast<long>(time) * 1000 };

    ++sleeps;
    return nanosleep(&left, nullptr);
}

/* The id under which the client's other channels come. */
static uint32_t session_id(TestLink *link)
{
    SpiceDataHeader header;
    uint32_t id;

    link->receive(&header, sizeof(header));
    g_assert_cmpint(GUINT16_FROM_LE(header.type), ==, SPICE_MSG_MAIN_INIT);
    link->receive(&id, sizeof(id));
    return GUINT32_FROM_LE(id);
}

static void say_init(TestLink *link)
{
    /* SpiceMsgcDisplayInit: a cache's id and pixels, a dictionary's id and pixels */
    uint8_t init[1 + sizeof(int64_t) + 1 + sizeof(int32_t)] = { 1 };
    const int64_t cache = GINT64_TO_LE(1 << 20);
    const int32_t window = GINT32_TO_LE(1 << 20);
    SpiceDataHeader header = { };

    memcpy(&init[1], &cache, sizeof(cache));
    init[1 + sizeof(cache)] = 1;
    memcpy(&init[2 + sizeof(cache)], &window, sizeof(window));
    header.serial = GUINT64_TO_LE(1);
    header.type = GUINT16_TO_LE(SPICE_MSGC_DISPLAY_INIT);
    header.size = GUINT32_TO_LE(sizeof(init));
    link->send_all(&header, sizeof(header));
    link->send_all(init, sizeof(init));
}

static void test_wait_init()
{
    TestDevice device;

    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    TestLink main(device.server, SPICE_CHANNEL_MAIN);
    g_assert_cmpint(main.authenticate(""), ==, SPICE_LINK_ERR_OK);
    TestLink display(device.server, SPICE_CHANNEL_DISPLAY, session_id(&main));
    g_assert_cmpint(display.authenticate(""), ==, SPICE_LINK_ERR_OK);
    g_usleep(LATE);
    say_init(&display);
    /* the worker has heard that */
    device.run();
    g_assert_cmpint(sleeps, ==, 0);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/wait-init", test_wait_init);
    return g_test_run();
}
