/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A frame waits in the pipe when something is blended over its video, so it comes as an ordinary
 * drawing. A client may keep older frames until their time has come, and must not show them over
 * it: before it, the video's clip becomes empty, and stays so.
 */
#include <config.h>

#include "test-video.h"

#include "push-visibility.h"

enum { WIDTH = 32, HEIGHT = 24 };

/* @is_covered: in part, while the frame waits: then a clip waits, too */
static void check(bool is_covered)
{
    /* away from what run() looks at: each frame is still in the tree when the next one comes */
    const QXLRect box = { 8, 8, 8 + HEIGHT, 8 + WIDTH };
    const std::vector<uint32_t> pixels(WIDTH * HEIGHT);
    const std::vector<uint32_t> last_pixels(WIDTH * HEIGHT, 0x123456);
    TestVideo video(pixels.data(), box);
    TestFrame frame(1, last_pixels.data(), box);
    TestDrawing cover(QXL_DRAW_BLACKNESS, QXL_EFFECT_OPAQUE, { 8, 8, 16, 16 });
    TestDrawing inversion(QXL_DRAW_INVERS, QXL_EFFECT_BLEND, { 20, 20, 28, 28 });
    /* rectangles of the last clip */
    uint32_t num_rects = 1;
    unsigned num_copies = 0;
    TestDevice device;

    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    spice_server_set_streaming_video(device.server, SPICE_STREAM_VIDEO_ALL);
    TestDisplayClient client(device.server);
    video.play(&device, &client.display);
    /* sent in a turn of its own */
    device.run();

    /* the worker takes all before it sends any */
    device.push(QXL_CMD_DRAW, &frame.drawable);
    if (is_covered) {
        device.push(QXL_CMD_DRAW, &cover.drawable);
    }
    device.push(QXL_CMD_DRAW, &inversion.drawable);
    device.run();
    for (;;) {
        const TestLinkMessage message = client.display.next_message();

        if (message.type == SPICE_MSG_DISPLAY_DRAW_INVERS) {
            break;
        } else if (message.type == SPICE_MSG_DISPLAY_STREAM_CLIP) {
            /* SpiceMsgDisplayStreamClip: the video, how it is clipped, then rectangles */
            g_assert_cmpuint(message.body.size(), >=, 9);
            g_assert_cmpuint(message.body[4], ==, SPICE_CLIP_TYPE_RECTS);
            memcpy(&num_rects, &message.body[5], sizeof(num_rects));
            if (num_copies > 0) {
                g_assert_cmpuint(num_rects, ==, 0);
            }
        } else if (message.type == SPICE_MSG_DISPLAY_DRAW_COPY) {
            g_assert_cmpuint(num_rects, ==, 0);
            ++num_copies;
        }
    }
    g_assert_cmpuint(num_copies, ==, 1);
}

static void whole_frame()
{
    check(false);
}

static void covered_frame()
{
    check(true);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/video-clip/whole-frame", whole_frame);
    g_test_add_func("/server/video-clip/covered-frame", covered_frame);
    return g_test_run();
}
