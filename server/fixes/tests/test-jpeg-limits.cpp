/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libjpeg ends the process for a picture of more pixels to a side than it takes, or of none: such
 * a bitmap is not sent as JPEG, nor as a frame of a video.
 */
#include <config.h>

#include "image-encoders.h"
#include "test-bitmap.h"
#include "test-glib-compat.h"
#include "video-encoder.h"

#include "push-visibility.h"

enum { MOST = 65500 };

static void check_picture(uint32_t width, uint32_t height, bool good)
{
    ImageEncoderSharedData shared = {};
    ImageEncoders encoders = {};
    SpiceImage image = {};
    TestBitmap bitmap(width, height);
    compress_send_data_t sent = {};

    image_encoder_shared_init(&shared);
    image_encoders_init(&encoders, &shared);
    encoders.jpeg_quality = 80;
    g_assert_true(image_encoders_compress_jpeg(&encoders, &image, &bitmap, &sent) == good);
    for (RedCompressBuf *buf = sent.comp_buf, *next; buf; buf = next) {
        next = buf->send_next;
        compress_buf_free(buf);
    }
    image_encoders_free(&encoders);
}

static void check_frame(uint32_t width, uint32_t height, bool good)
{
    VideoEncoderRateControlCbs cbs = {};
    TestBitmap bitmap(MAX(width, 1), MAX(height, 1));
    const SpiceRect area = { 0, 0, int32_t(width), int32_t(height) };
    VideoBuffer *frame = nullptr;

    cbs.get_source_fps = [](void *) { return 25U; };
    cbs.get_roundtrip_ms = [](void *) { return 0U; };
    cbs.update_client_playback_delay = [](void *, uint32_t) {};
    VideoEncoder *encoder = mjpeg_encoder_new(SPICE_VIDEO_CODEC_TYPE_MJPEG, 0, &cbs, nullptr,
                                              nullptr);
    g_assert_cmpint(encoder->encode_frame(encoder, 0, &bitmap, &area, true, nullptr, &frame), ==,
                    good ? VIDEO_ENCODER_FRAME_ENCODE_DONE : VIDEO_ENCODER_FRAME_UNSUPPORTED);
    if (frame) {
        frame->free(frame);
    }
    encoder->destroy(encoder);
}

static void check(void (*check_one)(uint32_t, uint32_t, bool))
{
    check_one(16, 16, true);
    check_one(MOST, 1, true);
    check_one(1, MOST, true);
    check_one(MOST + 1, 1, false);
    check_one(1, MOST + 1, false);
    check_one(0, 1, false);
    check_one(1, 0, false);
}

static void pictures() { check(check_picture); }
static void frames() { check(check_frame); }

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/jpeg-limits/pictures", pictures);
    g_test_add_func("/server/jpeg-limits/frames", frames);
    return g_test_run();
}
