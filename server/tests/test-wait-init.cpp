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

static void test_wait_init()
{
    TestDevice device;

    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    TestLink main(device.server, SPICE_CHANNEL_MAIN);
    g_assert_cmpint(main.authenticate(""), ==, SPICE_LINK_ERR_OK);
    TestLink display(device.server, SPICE_CHANNEL_DISPLAY, main.session_id());
    g_assert_cmpint(display.authenticate(""), ==, SPICE_LINK_ERR_OK);
    g_usleep(LATE);
    display.say_display_init();
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
