/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A client comes while a video plays that it was not shown: it may say which videos it likes best
 * before it has said how it begins, and it may have come from another server.
 */
#include <config.h>

#include <memory>
#include <vector>

#include "test-video.h"

#include "push-visibility.h"

/* under which a client comes from another server */
#define FORMER_ID 42

struct Player
{
    const std::vector<uint32_t> pixels;
    TestVideo video;
    TestDevice device;
    std::unique_ptr<TestLink> main;
    uint32_t id;

    /* There is a video, and a client without its display. */
    Player():
        pixels(TEST_QXL_WIDTH * TEST_QXL_HEIGHT),
        video(pixels.data(), { 0, 0, TEST_QXL_HEIGHT, TEST_QXL_WIDTH })
    {
        g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
        spice_server_set_streaming_video(device.server, SPICE_STREAM_VIDEO_ALL);
        main.reset(new TestLink(device.server, SPICE_CHANNEL_MAIN));
        id = main->let_in();
        {
            const auto display = link();
            display->say_display_init();
            video.play(&device, display.get());
        }
        /* the worker has seen the end of the channel in the turn before the last one */
        for (int i = 0; i < 3; ++i) {
            device.run();
        }
    }

    std::unique_ptr<TestLink> link()
    {
        std::unique_ptr<TestLink> display(new TestLink(device.server, SPICE_CHANNEL_DISPLAY, id));

        g_assert_cmpint(display->authenticate(""), ==, SPICE_LINK_ERR_OK);
        return display;
    }
};

static void before_init()
{
    static const uint8_t codecs[] = { 1, SPICE_VIDEO_CODEC_TYPE_MJPEG };
    Player player;
    const auto display = player.link();

    display->send_message(SPICE_MSGC_DISPLAY_PREFERRED_VIDEO_CODEC_TYPE, codecs, sizeof(codecs));
    display->say_display_init();
    /* it is shown one as any other */
    player.video.play(&player.device, display.get());
}

/* It has not yet said what the other server knew of it. */
static void before_migrate_data()
{
    const uint32_t version = GUINT32_TO_LE(1);
    Player player;

    player.main.reset();
    player.main.reset(new TestLink(player.device.server, SPICE_CHANNEL_MAIN, FORMER_ID));
    g_assert_cmpint(player.main->authenticate(""), ==, SPICE_LINK_ERR_OK);
    player.main->send_message(SPICE_MSGC_MAIN_MIGRATE_DST_DO_SEAMLESS, &version, sizeof(version));
    player.main->next_message(SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_ACK);
    player.id = FORMER_ID;
    const auto display = player.link();
    /* the video goes on while there is the channel, which then goes */
    player.video.draw(&player.device);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/video-early/before-init", before_init);
    g_test_add_func("/server/video-early/before-migrate-data", before_migrate_data);
    return g_test_run();
}
