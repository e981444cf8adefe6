/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two clients of one display: messages that wait for the slow one delay neither the guest nor the
 * other client, not even before the slow one counts as late.
 */
#include <config.h>

#include <list>

#include "test-picture-client.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

/* In the place of GLib's: time stands still, and nothing is ever late. */
extern "C" gint64 g_get_monotonic_time()
{
    return G_USEC_PER_SEC;
}

enum {
    /* each changes the whole screen and hides none before it */
    DRAWINGS = 300,
};

struct Drawing: QXLDrawable
{
    explicit Drawing(uint32_t colour): QXLDrawable()
    {
        type = QXL_DRAW_FILL;
        effect = QXL_EFFECT_BLEND;
        bbox = { 0, 0, TEST_QXL_HEIGHT, TEST_QXL_WIDTH };
        u.fill.brush.type = SPICE_BRUSH_TYPE_SOLID;
        u.fill.brush.u.color = colour;
        u.fill.rop_descriptor = SPICE_ROPD_OP_XOR;
        memset(surfaces_dest, 0xff, sizeof(surfaces_dest));
    }
};

static void guest_waits_for_the_quick_one()
{
    /* the guest's memory, which is there as long as the device */
    std::list<Drawing> drawings;
    /* looked at when the server is made */
    g_setenv("SPICE_DEBUG_ALLOW_MC", "1", TRUE);
    TestDevice device;
    g_unsetenv("SPICE_DEBUG_ALLOW_MC");
    Pictures pictures;

    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    spice_server_set_image_compression(device.server, SPICE_IMAGE_COMPRESSION_OFF);
    pictures[0] = Picture(TEST_QXL_WIDTH, TEST_QXL_HEIGHT);
    TestPictureClient slow(device.server);
    TestPictureClient quick(device.server);
    g_assert_true(slow.comes_to_show(pictures));
    g_assert_true(quick.comes_to_show(pictures));

    for (uint32_t colour = 1; colour <= DRAWINGS; ++colour) {
        drawings.emplace_back(colour);
        device.push(QXL_CMD_DRAW, static_cast<QXLDrawable *>(&drawings.back()));
        pictures[0].fill({ 0, 0, TEST_QXL_WIDTH, TEST_QXL_HEIGHT }, colour, true);
    }
    quick.read_while([&] { device.run(); });
    g_assert_cmpint(device.num_left(), ==, 0);
    g_assert_true(quick.comes_to_show(pictures));

    /* then the slow one is sent the current screen */
    slow.received.clear();
    g_assert_true(slow.comes_to_show(pictures));
    g_assert_cmpuint(slow.received[SPICE_MSG_DISPLAY_DRAW_FILL], <, DRAWINGS / 2);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* nothing is held back for a time that does not pass */
    g_setenv("SPICE_STREAM", "flow,hold=0", TRUE);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/quick-client/guest-waits-for-it", guest_waits_for_the_quick_one);
    return g_test_run();
}
