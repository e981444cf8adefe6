/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Copies with a mask, on one place one after the other, are no video: no frame has a mask. What is
 * blended over the last one does not abort the server.
 */
#include <config.h>

#include "test-video.h"

#include "push-visibility.h"

enum {
    SIDE = 16, MASK_STRIDE = 4,
    /* more than a video needs, and fewer than the server sends without an answer */
    COPIES = 22,
};

static void masked_copies()
{
    const std::vector<uint32_t> pixels(SIDE * SIDE);
    const std::vector<uint8_t> bits(MASK_STRIDE * SIDE, 0xf0);
    /* away from what run() looks at: each copy is still in the tree when the next one comes */
    const QXLRect box = { SIDE, SIDE, 2 * SIDE, 2 * SIDE };
    std::deque<TestFrame> copies;
    std::deque<QXLImage> masks;
    TestDrawing inversion(QXL_DRAW_INVERS, QXL_EFFECT_BLEND, box);
    unsigned num_videos = 0, num_copies = 0;
    TestDevice device;

    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    spice_server_set_streaming_video(device.server, SPICE_STREAM_VIDEO_ALL);
    TestDisplayClient client(device.server);
    client.display.next_message(SPICE_MSG_DISPLAY_SURFACE_CREATE);
    for (int i = 0; i < COPIES; ++i) {
        copies.emplace_back(TestVideo::FIRST_ID + i, pixels.data(), box);
        masks.emplace_back();
        test_set_bitmap(&masks.back(), SPICE_BITMAP_FMT_1BIT_BE, SIDE, SIDE, MASK_STRIDE,
                        bits.data());
        masks.back().descriptor.id = TestVideo::FIRST_ID + COPIES + i;
        copies.back().drawable.u.copy.mask.bitmap = reinterpret_cast<uintptr_t>(&masks.back());
        device.push(QXL_CMD_DRAW, &copies.back().drawable);
        device.run();
        g_usleep(20 * 1000);
    }
    /* sent in a turn of its own */
    device.run();
    device.push(QXL_CMD_DRAW, &inversion.drawable);
    device.run();
    for (;;) {
        const TestLinkMessage message = client.display.next_message();

        if (message.type == SPICE_MSG_DISPLAY_DRAW_INVERS) {
            break;
        }
        num_videos += message.type == SPICE_MSG_DISPLAY_STREAM_CREATE;
        num_copies += message.type == SPICE_MSG_DISPLAY_DRAW_COPY;
    }
    g_assert_cmpuint(num_videos, ==, 0);
    g_assert_cmpuint(num_copies, >, 0);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/masked-video", masked_copies);
    return g_test_run();
}
