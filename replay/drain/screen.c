/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "screen.h"

#include <errno.h>

#include "../common/clock.h"
#include "../screen/tiles.h"

/* The eye sees no faster changes, and logging takes time. */
#define LOOK_MS 10

struct Screen {
    Tiles *tiles;
    bool at_probes;
    const Picture *picture;
    guint timer;
};

Screen *screen_new(const char *path, bool at_probes, GError **error)
{
    Tiles *tiles = tiles_new(path);
    Screen *screen;

    if (tiles == NULL) {
        g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
                    "cannot write --screen %s: %s", path, g_strerror(errno));
        return NULL;
    }
    screen = g_new0(Screen, 1);
    screen->tiles = tiles;
    screen->at_probes = at_probes;
    return screen;
}

bool screen_free(Screen *screen)
{
    bool written;

    if (screen == NULL) {
        return true;
    }
    g_clear_handle_id(&screen->timer, g_source_remove);
    written = tiles_free(screen->tiles);
    g_free(screen);
    return written;
}

/* A surface that is gone, or has no 32 bits per pixel, is not logged. */
static void look(Screen *screen, const Picture *picture, int64_t now_ns)
{
    if (picture == NULL || picture->pixels == NULL ||
        (picture->format != SPICE_SURFACE_FMT_32_xRGB &&
         picture->format != SPICE_SURFACE_FMT_32_ARGB)) {
        return;
    }
    tiles_look(screen->tiles,
               &(TilePixels) { picture->pixels, picture->width, picture->height, picture->stride },
               now_ns);
}

static gboolean on_timer(gpointer opaque)
{
    Screen *screen = opaque;

    screen->timer = 0;
    look(screen, screen->picture, clock_ns());
    return G_SOURCE_REMOVE;
}

void screen_touch(Screen *screen, const Picture *picture, int left, int top, int width, int height)
{
    tiles_touch(screen->tiles, left, top, width, height);
    screen->picture = picture;
    if (!screen->at_probes && screen->timer == 0) {
        screen->timer = g_timeout_add(LOOK_MS, on_timer, screen);
    }
}

void screen_leave(Screen *screen)
{
    if (screen->timer != 0) {
        g_clear_handle_id(&screen->timer, g_source_remove);
        look(screen, screen->picture, clock_ns());
    }
}

void screen_look_at_marker(Screen *screen, const Picture *picture, int64_t now_ns)
{
    if (screen->at_probes) {
        look(screen, picture, now_ns);
    }
}
