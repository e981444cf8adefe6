/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reports on a video, as many as a client likes: what they have told to the main thread does not
 * fill the socket to it, while that waits for the thread that has read them.
 */
#include <config.h>

#include <vector>

#include "test-video.h"

#include "push-visibility.h"

/* some hundred messages to the main thread fill the socket; a client's holds as many reports */
enum { COUNT = 2000 };

/* Answers the test of the link so that it looks like one to the Moon, which a video takes
 * seconds for. */
static void look_far(TestLink *main)
{
    for (int i = 0; i < 2; ++i) {
        TestLinkMessage ping = main->next_message(SPICE_MSG_PING);
        uint64_t time;

        memcpy(&time, &ping.body[4], sizeof(time));
        time = GUINT64_TO_LE(GUINT64_FROM_LE(time) - 4 * G_USEC_PER_SEC);
        memcpy(&ping.body[4], &time, sizeof(time));
        main->send_message(SPICE_MSGC_PONG, ping.body.data(), 4 + sizeof(time));
    }
}

static void append(std::vector<uint8_t> *to, const void *data, size_t size)
{
    to->insert(to->end(), static_cast<const uint8_t *>(data),
               static_cast<const uint8_t *>(data) + size);
}

static void reports()
{
    SpiceDataHeader header = { };
    struct {
        uint32_t stream, id, start, end, num_frames, num_drops, delay, audio_delay;
    } report = { };
    std::vector<uint8_t> all;
    const std::vector<uint32_t> pixels(TEST_QXL_WIDTH * TEST_QXL_HEIGHT);
    TestVideo video(pixels.data(), { 0, 0, TEST_QXL_HEIGHT, TEST_QXL_WIDTH });
    TestDevice device;

    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    spice_server_set_streaming_video(device.server, SPICE_STREAM_VIDEO_ALL);
    /* that of a Unix socket is not tested */
    TestLink main(device.server, SPICE_CHANNEL_MAIN, 0, TEST_TCP);
    const uint32_t id = main.let_in();
    TestLink display(device.server, SPICE_CHANNEL_DISPLAY, id, TEST_TCP, 0,
                     1 << SPICE_DISPLAY_CAP_STREAM_REPORT);
    g_assert_cmpint(display.authenticate(""), ==, SPICE_LINK_ERR_OK);
    display.say_display_init();
    look_far(&main);
    video.play(&device, &display);
    const TestLinkMessage message = display.next_message(SPICE_MSG_DISPLAY_STREAM_ACTIVATE_REPORT);

    /* stream and id */
    memcpy(&report.stream, message.body.data(), 2 * sizeof(report.stream));
    report.num_frames = GUINT32_TO_LE(5);
    header.type = GUINT16_TO_LE(SPICE_MSGC_DISPLAY_STREAM_REPORT);
    header.size = GUINT32_TO_LE(sizeof(report));
    for (int i = 0; i < COUNT; ++i) {
        append(&all, &header, sizeof(header));
        append(&all, &report, sizeof(report));
    }
    display.send_all(all.data(), all.size());
    /* the main thread waits for the one that reads them, of which one turn reads them all */
    for (int i = 0; i < 10; ++i) {
        device.run();
    }
    main.send_message(SPICE_MSGC_MAIN_ATTACH_CHANNELS);
    main.next_message(SPICE_MSG_MAIN_CHANNELS_LIST);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/report-flood", reports);
    return g_test_run();
}
