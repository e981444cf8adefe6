/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "display.h"

#include "../common/clock.h"
#include "diag.h"
#include "screen.h"

struct Display {
    SpiceChannel *channel;
    DisplayMarkerFunc on_marker;
    void *opaque;

    Picture primary; /* the library owns the pixels; NULL while there is no primary surface */
    Picture *last;   /* copy of the last primary surface that was destroyed, or NULL */
    int64_t updates;
    int64_t markers;
    Screen *screen; /* NULL: the screen is not logged */
};

static void on_primary_create(SpiceChannel *channel G_GNUC_UNUSED, gint format, gint width,
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
    if (display->screen != NULL) {
        screen_touch(display->screen, &display->primary, 0, 0, width, height);
    }
}

/* The library frees the pixels after this signal. It also comes at the end of a session: last then has the final
 * picture. */
static void on_primary_destroy(SpiceChannel *channel G_GNUC_UNUSED, Display *display)
{
    if (display->primary.pixels == NULL) {
        return;
    }
    if (display->screen != NULL) {
        screen_leave(display->screen);
    }
    picture_free(display->last);
    display->last = picture_copy(&display->primary);
    display->primary.pixels = NULL;
}

static void on_invalidate(SpiceChannel *channel G_GNUC_UNUSED, gint left, gint top, gint width,
                          gint height, Display *display)
{
    int64_t now_ns = clock_ns();

    if (display->on_marker != NULL) {
        Marker marker = marker_read(left, top, width, height);

        if (marker.kind != MARKER_NONE) {
            display->markers++;
            if (display->screen != NULL &&
                (marker.kind == MARKER_PROBE || marker.kind == MARKER_END)) {
                screen_look_at_marker(display->screen, display_picture(display), now_ns);
            }
            display->on_marker(marker, now_ns, display->opaque);
            return;
        }
    }
    if (display->screen != NULL) {
        screen_touch(display->screen, &display->primary, left, top, width, height);
    }
    display->updates++;
}

Display *display_new(SpiceChannel *channel, DisplayMarkerFunc on_marker, void *opaque)
{
    Display *display = g_new0(Display, 1);

    display->channel = g_object_ref(channel);
    display->on_marker = on_marker;
    display->opaque = opaque;
    g_signal_connect(channel, "display-primary-create", G_CALLBACK(on_primary_create), display);
    g_signal_connect(channel, "display-primary-destroy", G_CALLBACK(on_primary_destroy), display);
    g_signal_connect(channel, "display-invalidate", G_CALLBACK(on_invalidate), display);
    return display;
}

void display_free(Display *display)
{
    g_signal_handlers_disconnect_by_data(display->channel, display);
    g_object_unref(display->channel);
    picture_free(display->last);
    if (!screen_free(display->screen)) {
        diag_error("cannot write all of --screen");
    }
    g_free(display);
}

void display_log_screen(Display *display, const char *path, bool at_probes)
{
    GError *error = NULL;

    display->screen = screen_new(path, at_probes, &error);
    if (display->screen == NULL) {
        diag_error("%s", error->message);
        g_error_free(error);
    }
}

int64_t display_updates(const Display *display)
{
    return display->updates;
}

int64_t display_events(const Display *display)
{
    return display->updates + display->markers;
}

const Picture *display_picture(const Display *display)
{
    return display->primary.pixels != NULL ? &display->primary : display->last;
}
