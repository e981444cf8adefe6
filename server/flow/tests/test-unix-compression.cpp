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
    /* microseconds, of probes */
    FAR = 40 * 1000, NEAR = 200,
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

/* Messages, probes, and pongs after @delay. */
static void answer_probes(RedStreamFlow *flow, uint64_t delay, uint64_t *now)
{
    for (int i = 0; i < 20; ++i) {
        flow->sent(*now, 1000);
        const uint32_t id = flow->get_next_probe();
        flow->probe_sent(*now, 18);
        *now += delay;
        flow->starved();
        g_assert_true(flow->pong_received(*now, id));
        *now += 1000 * 1000;
    }
}

/* Whether a client counts as local whose path is busy, and carries @rate bytes per second. */
static bool is_local_at(uint64_t rate)
{
    RedStreamFlow flow;
    uint64_t now = 1000 * 1000;

    for (int i = 0; i < 20; ++i) {
        flow.sent(now, rate * NEAR / G_USEC_PER_SEC - 18);
        const uint32_t id = flow.get_next_probe();
        flow.probe_sent(now, 18);
        now += NEAR;
        g_assert_true(flow.pong_received(now, id));
    }
    g_assert_cmpuint(flow.get_path_rate(), ==, rate);
    return flow.is_local();
}

static void known()
{
    uint64_t now = 1000 * 1000;
    RedStreamFlow near_by, far_away;

    g_assert_false(near_by.is_local());
    answer_probes(&near_by, NEAR, &now);
    g_assert_true(near_by.is_local());
    answer_probes(&far_away, FAR, &now);
    g_assert_false(far_away.is_local());
    g_assert_true(is_local_at(40 * 1000 * 1000));
    g_assert_false(is_local_at(20 * 1000 * 1000));
}

int main(int argc, char *argv[])
{
    g_setenv("SPICE_STREAM", "flow", TRUE);
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/unix-compression/unknown", unknown);
    g_test_add_func("/server/unix-compression/known", known);
    return g_test_run();
}
