/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stats file of a display has the counters of the display stage. */
#include <config.h>

#include "red-stream-live.h"
#include "test-display-guest.h"

#include "push-visibility.h"

/* The stats file of the display's stream, for ./run watch. */
static RedStreamLive read_stats()
{
    const char *const folder = g_getenv("SPICE_STREAM_STATS");
    GDir *const dir = g_dir_open(folder, 0, nullptr);
    RedStreamLive live = {};

    g_assert_nonnull(dir);
    while (const char *name = g_dir_read_name(dir)) {
        char *const path = g_build_filename(folder, name, nullptr);
        char *content;
        gsize size;

        g_assert_true(g_file_get_contents(path, &content, &size, nullptr));
        g_assert_cmpuint(size, ==, sizeof(RedStreamLive));
        const auto file = reinterpret_cast<const RedStreamLive *>(content);
        if (file->channel_type == SPICE_CHANNEL_DISPLAY) {
            live = *file;
        }
        g_free(content);
        g_free(path);
    }
    g_dir_close(dir);
    return live;
}

/* Each line that scrolls is a copy and what is new. */
static void scrolled()
{
    const int lines = 20;
    Guest guest;
    Client client(guest.device.server);

    begin(&guest, &client);
    for (int i = 0; i < lines; ++i) {
        guest.scroll();
        guest.sweep();
        guest.device.run();
        g_assert_true(client.comes_to_show(guest.shown));
    }

    const RedStreamLive live = read_stats();
    g_assert_cmpuint(live.moves, ==, client.received[SPICE_MSG_DISPLAY_COPY_BITS]);
    g_assert_cmpuint(live.moved, >, lines * WIDTH * HEIGHT / 2);
    g_assert_cmpuint(live.drawn, <, lines * WIDTH * HEIGHT / 2);
}

int main(int argc, char *argv[])
{
    char *const stats = g_dir_make_tmp("test-display-stats-XXXXXX", nullptr);

    g_test_init(&argc, &argv, nullptr);
    g_assert_nonnull(stats);
    g_setenv("SPICE_STREAM_STATS", stats, TRUE);
    g_setenv("SPICE_STREAM", "flow", TRUE);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));

    g_test_add_func("/server/display-stats/scrolled", scrolled);

    const int result = g_test_run();
    g_assert_cmpint(rmdir(stats), ==, 0);
    g_free(stats);
    return result;
}
