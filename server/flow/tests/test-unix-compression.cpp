/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Images for a client on a Unix socket are compressed until its pongs show that it is on the same
 * host, and no relay is behind the socket.
 */
#include <config.h>

#include "red-stream-flow.h"
#include "test-video.h"

#include "push-visibility.h"

enum {
    WIDTH = TEST_QXL_WIDTH, HEIGHT = TEST_QXL_HEIGHT,
    /* microseconds: of pings, and of probes with something before them */
    FAR = 1100, NEAR = 200, DECODED = 5000,
};

/* A client that answers nothing. */
static void unknown()
{
    const std::vector<uint32_t> pixels(WIDTH * HEIGHT, 0x336699);
    TestFrame frame(1, pixels.data(), { 0, 0, HEIGHT, WIDTH });
    TestDevice device;

    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    spice_server_set_image_compression(device.server, SPICE_IMAGE_COMPRESSION_GLZ);
    TestDisplayClient client(device.server, TEST_UNIX);
    client.display.next_message(SPICE_MSG_DISPLAY_SURFACE_CREATE);
    device.push(QXL_CMD_DRAW, &frame.drawable);
    device.run();
    const TestLinkMessage message = client.display.next_message(SPICE_MSG_DISPLAY_DRAW_COPY);
    g_assert_cmpuint(message.body.size(), <, pixels.size() * sizeof(pixels[0]) / 4);
}

/* Messages, probes, and pongs of a busy path that carries @rate bytes per second. */
static void answer_probes(RedStreamFlow *flow, uint64_t rate)
{
    static uint64_t now = 1000 * 1000;

    for (int i = 0; i < 20; ++i) {
        flow->sent(now, rate * DECODED / G_USEC_PER_SEC - 18);
        const uint32_t id = flow->get_next_probe();
        flow->probe_sent(now, 18);
        now += DECODED;
        g_assert_true(flow->pong_received(now, id));
    }
    g_assert_cmpuint(flow->get_path_rate(), ==, rate);
}

/* A ping tells, and not the pongs of probes, which come when the client has decoded something. */
static void known()
{
    const uint64_t slow = 20 * 1000 * 1000, fast = 40 * 1000 * 1000;
    RedStreamFlow near_by, far_away;

    far_away.ping_answered(FAR);
    g_assert_false(far_away.is_local());
    answer_probes(&far_away, fast);
    g_assert_false(far_away.is_local());

    g_assert_false(near_by.is_local());
    answer_probes(&near_by, slow);
    g_assert_false(near_by.is_local());
    near_by.ping_answered(FAR);
    g_assert_false(near_by.is_local());
    /* compressed images were slow to decode, and now they are not compressed */
    near_by.ping_answered(NEAR);
    g_assert_true(near_by.is_local());
    near_by.ping_answered(FAR);
    answer_probes(&near_by, fast);
    g_assert_true(near_by.is_local());

    /* that was not the reason: the path, behind a relay, is slow */
    RedStreamFlow relayed;
    relayed.ping_answered(NEAR);
    g_assert_true(relayed.is_local());
    answer_probes(&relayed, slow);
    g_assert_false(relayed.is_local());
    relayed.ping_answered(NEAR);
    g_assert_false(relayed.is_local());
}

/* The server measures the path, ahead of the list of channels: they choose by it how to
 * compress. */
static void measured()
{
    TestDevice device;
    std::vector<size_t> pings;

    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    TestLink main(device.server, SPICE_CHANNEL_MAIN);
    main.let_in();
    main.send_message(SPICE_MSGC_MAIN_ATTACH_CHANNELS);
    for (;;) {
        const TestLinkMessage message = main.next_message();

        if (message.type == SPICE_MSG_MAIN_CHANNELS_LIST) {
            break;
        }
        if (message.type == SPICE_MSG_PING) {
            pings.push_back(message.body.size());
        }
    }
    g_assert_cmpuint(pings.size(), ==, 3);
    g_assert_cmpuint(pings[0], <, 100);
    g_assert_cmpuint(pings[1], <, 100);
    g_assert_cmpuint(pings[2], >=, 32 * 1024);
}

int main(int argc, char *argv[])
{
    g_setenv("SPICE_STREAM", "flow", TRUE);
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/unix-compression/unknown", unknown);
    g_test_add_func("/server/unix-compression/known", known);
    g_test_add_func("/server/unix-compression/measured", measured);
    return g_test_run();
}
