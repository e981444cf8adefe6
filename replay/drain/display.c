/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "display.h"

#include <errno.h>

#include "../common/clock.h"
#include "../screen/tiles.h"
#include "diag.h"

/* The eye sees no faster changes, and logging takes time. */
#define LOOK_MS 10

typedef struct Display {
    Channel channel; /* its events: updates and markers */
    DisplayMarkerFunc on_marker;
    void *opaque;

    Picture primary; /* the library owns the pixels; NULL while there is no primary surface */
    Picture *last;   /* copy of the last primary surface that was destroyed, or NULL */
    int64_t updates;

    /* Log of the pixels that the library has drawn, whichever messages brought them; NULL: none.
     * Written at each probe and at the end, or a moment after something has changed. */
    Tiles *screen;
    bool at_probes;
    guint timer;
} Display;

/* A surface that is gone, or has no 32 bits per pixel, is not logged. */
static void look(Display *display, int64_t now_ns)
{
    const Picture *picture = display_picture(&display->channel);

    if (picture != NULL && (picture->format == SPICE_SURFACE_FMT_32_xRGB ||
                            picture->format == SPICE_SURFACE_FMT_32_ARGB)) {
        tiles_look(display->screen,
                   &(TilePixels) { picture->pixels, picture->width, picture->height,
                                   picture->stride }, now_ns);
    }
}

static gboolean on_timer(gpointer opaque)
{
    Display *display = opaque;

    display->timer = 0;
    look(display, clock_ns());
    return G_SOURCE_REMOVE;
}

/* This may have changed. */
static void touch(Display *display, int left, int top, int width, int height)
{
    if (display->screen == NULL) {
        return;
    }
    tiles_touch(display->screen, left, top, width, height);
    if (!display->at_probes && display->timer == 0) {
        display->timer = g_timeout_add(LOOK_MS, on_timer, display);
    }
}

static void on_primary_create(SpiceChannel *spice G_GNUC_UNUSED, gint format, gint width,
                              gint height, gint stride, gint shmid G_GNUC_UNUSED,
                              gpointer pixels, Display *display)
{
    display->primary = (Picture) {
        .format = format,
        .width = width,
        .height = height,
        .stride = stride,
        .pixels = pixels,
    };
    touch(display, 0, 0, width, height);
}

/* The library frees the pixels after this signal. It also comes at the end of a session: last then has the final
 * picture. */
static void on_primary_destroy(SpiceChannel *spice G_GNUC_UNUSED, Display *display)
{
    if (display->primary.pixels == NULL) {
        return;
    }
    if (display->timer != 0) { /* what has changed and was not looked at yet */
        g_clear_handle_id(&display->timer, g_source_remove);
        look(display, clock_ns());
    }
    picture_free(display->last);
    display->last = picture_copy(&display->primary);
    display->primary.pixels = NULL;
}

static void on_invalidate(SpiceChannel *spice G_GNUC_UNUSED, gint left, gint top, gint width,
                          gint height, Display *display)
{
    int64_t now_ns = clock_ns();
    Marker marker = { MARKER_NONE, 0 };

    display->channel.events++;
    if (display->on_marker != NULL) {
        marker = marker_read((MarkerArea) { left, top, width, height });
    }
    touch(display, left, top, width, height); /* a guest's drawing may look like a marker */
    if (marker.kind == MARKER_NONE) {
        display->updates++;
        return;
    }
    if (display->at_probes && marker.kind != MARKER_PAUSE) {
        look(display, now_ns);
    }
    display->on_marker(marker, now_ns, display->opaque);
}

static void watch(Channel *channel, const Options *options)
{
    Display *display = (Display *)channel;

    if (channel->id == 0 && options->screen != NULL) {
        display->screen = tiles_new(options->screen);
        display->at_probes = display->screen != NULL && options->screen_at_probes;
        if (display->screen == NULL) {
            diag_error("cannot write --screen %s: %s", options->screen, g_strerror(errno));
        }
    }
    g_signal_connect(channel->spice, "display-primary-create", G_CALLBACK(on_primary_create),
                     channel);
    g_signal_connect(channel->spice, "display-primary-destroy", G_CALLBACK(on_primary_destroy),
                     channel);
    g_signal_connect(channel->spice, "display-invalidate", G_CALLBACK(on_invalidate), channel);
}

static void clear(Channel *channel)
{
    Display *display = (Display *)channel;

    picture_free(display->last);
    g_clear_handle_id(&display->timer, g_source_remove);
    if (display->screen != NULL && !tiles_free(display->screen)) {
        diag_error("cannot write all of --screen");
    }
}

const ChannelKind display_kind = { .size = sizeof(Display), .watch = watch, .clear = clear };

void display_set_marker_func(Channel *channel, DisplayMarkerFunc on_marker, void *opaque)
{
    ((Display *)channel)->on_marker = on_marker;
    ((Display *)channel)->opaque = opaque;
}

int64_t display_updates(const Channel *channel)
{
    return ((const Display *)channel)->updates;
}

const Picture *display_picture(const Channel *channel)
{
    const Display *display = (const Display *)channel;

    return display->primary.pixels != NULL ? &display->primary : display->last;
}
