/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A display channel that is refused, since its client has one already, leaves nothing behind.
 */
#include <config.h>

#include <malloc.h>

#include "test-link.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
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

/* Under AddressSanitizer malloc does not tell, and the leak is found at the end. */
static void leaves_nothing()
{
    TestDevice device;

    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    device.run();
    TestDisplayClient client(device.server);
    client.display.next_message(SPICE_MSG_DISPLAY_MARK);

    open_again(device.server, client.id);
    const auto before = mallinfo2();
    for (int i = 0; i < CHANNELS; ++i) {
        open_again(device.server, client.id);
    }
    const auto after = mallinfo2();

    g_assert_cmpuint(after.uordblks + after.hblkhd, <,
                     before.uordblks + before.hblkhd + MAX_GROWTH);
}
#else
static void leaves_nothing()
{
    g_test_skip("the C library does not tell what is allocated");
}
#endif

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of channels that it refuses */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/refused-display/leaves-nothing", leaves_nothing);
    return g_test_run();
}
