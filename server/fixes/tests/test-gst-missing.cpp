/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where GStreamer lacks the elements of an encoder there is none, and what was taken for it is
 * given back.
 */
#include <config.h>

#include <malloc.h>

#include "test-glib-compat.h"
#include "video-encoder.h"

#include "push-visibility.h"

#if defined(HAVE_GSTREAMER_1_0) && defined(__GLIBC__) && \
    (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
enum { WARM_UP = 10, ATTEMPTS = 1000, MAX_GROWTH = 16384 };

static void attempt(unsigned int count)
{
    VideoEncoderRateControlCbs cbs = {};

    while (count--) {
        g_assert_null(gstreamer_encoder_new(SPICE_VIDEO_CODEC_TYPE_VP8, 0, &cbs,
                                            [](gpointer) {}, [](gpointer) {}));
    }
}

/* Under AddressSanitizer malloc does not tell, and the leak is found at the end. */
static void leaves_nothing()
{
    attempt(WARM_UP);
    const auto before = mallinfo2();
    attempt(ATTEMPTS);
    const auto after = mallinfo2();

    g_assert_cmpuint(after.uordblks, <, before.uordblks + MAX_GROWTH);
}
#else
static void leaves_nothing()
{
    g_test_skip("without GStreamer, or with a C library that does not tell what is allocated");
}
#endif

int main(int argc, char *argv[])
{
    /* GStreamer then knows no plugin, whatever is installed */
    g_setenv("GST_REGISTRY_DISABLE", "yes", TRUE);
    g_test_init(&argc, &argv, nullptr);
    /* the server warns at each attempt */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_log_set_default_handler([](const gchar *, GLogLevelFlags, const gchar *, gpointer) {},
                              nullptr);
    g_test_add_func("/server/gst-missing/leaves-nothing", leaves_nothing);
    return g_test_run();
}
