/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The encoders of GStreamer divide by none of: the time between frames that were not there, the
 * rate of a video whose frames come late, and what is left of the rate of a large one.
 */
#include <config.h>

#include <memory>

#include "test-bitmap.h"
#include "test-glib-compat.h"
#include "video-encoder.h"

#include "push-visibility.h"

#ifdef HAVE_GSTREAMER_1_0
struct Encoder
{
    VideoEncoder *encoder;
    uint32_t num_encoded = 0;

    explicit Encoder(uint32_t fps_):
        fps(fps_)
    {
        VideoEncoderRateControlCbs cbs = {};

        cbs.opaque = this;
        cbs.get_source_fps = [](void *self) { return static_cast<Encoder *>(self)->fps; };
        cbs.get_roundtrip_ms = [](void *) { return 0U; };
        cbs.update_client_playback_delay = [](void *, uint32_t) {};
        encoder = gstreamer_encoder_new(SPICE_VIDEO_CODEC_TYPE_VP8, 0, &cbs,
                                        [](gpointer) {}, [](gpointer) {});
        if (!encoder) {
            g_test_skip("GStreamer has no encoder of VP8 here");
        }
    }

    ~Encoder()
    {
        if (encoder) {
            encoder->destroy(encoder);
        }
    }

    void encode(uint32_t time, uint32_t width, uint32_t height)
    {
        const SpiceRect area = { 0, 0, int32_t(width), int32_t(height) };
        VideoBuffer *frame = nullptr;

        bitmap.reset(new TestBitmap(width, height));
        encoder->encode_frame(encoder, time, bitmap.get(), &area, true, bitmap.get(), &frame);
        if (frame) {
            ++num_encoded;
            frame->free(frame);
        }
    }

private:
    const uint32_t fps;
    /* which GStreamer may look at until the encoder goes */
    std::unique_ptr<TestBitmap> bitmap;
};

/* A client says what it likes of a video of which there was no frame. */
static void report_first()
{
    Encoder video(25);

    if (video.encoder) {
        video.encoder->client_stream_report(video.encoder, 5, 0, 0, 1, 0, 0);
    }
}

static void slow()
{
    Encoder video(0);

    if (video.encoder) {
        video.encode(1000, 128, 128);
        g_assert_cmpuint(video.num_encoded, ==, 1);
        video.encoder->client_stream_report(video.encoder, 1, 0, 1000, 1000, 0, 0);
    }
}

/* Of as many bits a second as 32 bits do not count. */
static void large()
{
    Encoder video(16);

    if (video.encoder) {
        video.encode(1000, 4096, 2048);
        g_assert_cmpuint(video.num_encoded, ==, 1);
    }
}
#else
static void skip()
{
    g_test_skip("built without GStreamer");
}
#define report_first skip
#define slow skip
#define large skip
#endif

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of a large video where its encoder is slow */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/gst-rates/report-first", report_first);
    g_test_add_func("/server/gst-rates/slow", slow);
    g_test_add_func("/server/gst-rates/large", large);
    return g_test_run();
}
