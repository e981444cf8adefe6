/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A display channel that is refused, since its client has one already, leaves nothing behind.
 */
#include <config.h>

#include "test-allocated.h"
#include "test-link.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

enum {
    CHANNELS = 20,
    /* bytes: a fraction of the encoders of one channel */
    MAX_GROWTH = CHANNELS * 4 * 1024,
};

static void open_again(SpiceServer *server, uint32_t client)
{
    TestLink again(server, SPICE_CHANNEL_DISPLAY, client);

    again.authenticate("");
    again.wait_end();
}

static void leaves_nothing()
{
    TestDevice device;

    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    device.run();
    TestDisplayClient client(device.server);
    client.display.next_message(SPICE_MSG_DISPLAY_MARK);

    open_again(device.server, client.id);
    test_allocates_less(MAX_GROWTH, [&] {
        for (int i = 0; i < CHANNELS; ++i) {
            open_again(device.server, client.id);
        }
    });
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of channels that it refuses */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/refused-display/leaves-nothing", leaves_nothing);
    return g_test_run();
}
