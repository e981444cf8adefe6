/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A client closes a display channel and opens it again while the display's thread is busy: the
 * thread then finds both at once, and lets the client in.
 */
#include <config.h>

#include <atomic>
#include <memory>

#include "test-link.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

enum { ROUNDS = 20 };

static std::atomic<bool> is_to_wait{false};
static std::atomic<bool> waits{false};

/* in the display's thread */
static void wait_there(uint64_t)
{
    waits = true;
    while (is_to_wait) {
        g_usleep(1000);
    }
    waits = false;
}

static std::unique_ptr<TestLink> open_display(SpiceServer *server, uint32_t client)
{
    std::unique_ptr<TestLink> display(new TestLink(server, SPICE_CHANNEL_DISPLAY, client));

    g_assert_cmpint(display->authenticate(""), ==, SPICE_LINK_ERR_OK);
    TestLink::run_events();
    return display;
}

static void is_let_in(TestLink *display)
{
    display->say_display_init();
    display->next_message(SPICE_MSG_DISPLAY_MARK);
}

static void while_thread_is_busy()
{
    TestDevice device;

    device.on_async = wait_there;
    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    device.run();
    TestLink main(device.server, SPICE_CHANNEL_MAIN);
    const uint32_t client = main.let_in();
    auto display = open_display(device.server, client);
    is_let_in(display.get());

    for (int round = 0; round < ROUNDS; ++round) {
        is_to_wait = true;
        spice_qxl_flush_surfaces_async(&device.qxl, 0);
        while (!waits) {
            g_usleep(1000);
        }
        display.reset();
        display = open_display(device.server, client);
        is_to_wait = false;
        is_let_in(display.get());
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of channels that it refuses */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/reopened-display/while-thread-is-busy", while_thread_is_busy);
    return g_test_run();
}
