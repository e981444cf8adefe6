/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* spice-x-show PORT: shows display 0 of a SPICE server on this machine in the top left of $DISPLAY's screen, from when it has
 * connected until the player's end marker comes or the server closes. So any way to see an X server from afar can be shown the pictures of a recording. */
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <spice-client.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "../client/marker.h"

typedef struct Show {
    Display *x;
    Window window;
    GC gc;
    GMainLoop *loop;
    XImage *image; /* the library's pixels; NULL without a surface that can be shown */
} Show;

static void on_primary_destroy(SpiceChannel *channel G_GNUC_UNUSED, Show *show)
{
    if (show->image) {
        show->image->data = NULL;
        XDestroyImage(show->image);
        show->image = NULL;
    }
}

static void on_invalidate(SpiceChannel *channel G_GNUC_UNUSED, gint left, gint top, gint width,
                          gint height, Show *show)
{
    if (show->image) {
        XPutImage(show->x, show->window, show->gc, show->image, left, top, left, top,
                  (unsigned) width, (unsigned) height);
        XFlush(show->x);
    }
    if (marker_read(left, top, width, height).kind == MARKER_END) {
        g_main_loop_quit(show->loop);
    }
}

/* What a smaller surface leaves is left: nothing is due there, see staleness.h. */
static void on_primary_create(SpiceChannel *channel, gint format, gint width, gint height,
                              gint stride, gint shmid G_GNUC_UNUSED, gpointer pixels, Show *show)
{
    int screen = DefaultScreen(show->x);

    on_primary_destroy(channel, show);
    if (format != SPICE_SURFACE_FMT_32_xRGB && format != SPICE_SURFACE_FMT_32_ARGB) {
        fputs("spice-x-show: only surfaces of 32 bits a pixel are shown\n", stderr);
        return;
    }
    show->image = XCreateImage(show->x, DefaultVisual(show->x, screen),
                               (unsigned) DefaultDepth(show->x, screen), ZPixmap, 0, pixels,
                               (unsigned) width, (unsigned) height, 32, stride);
    if (show->image) {
        show->image->byte_order = G_BYTE_ORDER == G_LITTLE_ENDIAN ? LSBFirst : MSBFirst;
        on_invalidate(channel, 0, 0, width, height, show);
    }
}

static void on_event(SpiceChannel *channel G_GNUC_UNUSED, SpiceChannelEvent event, Show *show)
{
    if (event == SPICE_CHANNEL_CLOSED || event >= SPICE_CHANNEL_ERROR_CONNECT) {
        g_main_loop_quit(show->loop);
    }
}

static void on_channel(SpiceSession *session G_GNUC_UNUSED, SpiceChannel *channel, Show *show)
{
    g_signal_connect(channel, "channel-event", G_CALLBACK(on_event), show);
    if (SPICE_IS_DISPLAY_CHANNEL(channel)) {
        g_signal_connect(channel, "display-primary-create", G_CALLBACK(on_primary_create), show);
        g_signal_connect(channel, "display-primary-destroy", G_CALLBACK(on_primary_destroy), show);
        g_signal_connect(channel, "display-invalidate", G_CALLBACK(on_invalidate), show);
    }
    if (!SPICE_IS_MAIN_CHANNEL(channel)) {
        spice_channel_connect(channel);
    }
}

static bool open_window(Show *show)
{
    XSetWindowAttributes attributes = { .override_redirect = True };

    show->x = XOpenDisplay(NULL);
    if (!show->x) {
        fputs("spice-x-show: $DISPLAY cannot be opened\n", stderr);
        return false;
    }
    int screen = DefaultScreen(show->x);
    if (DefaultDepth(show->x, screen) != 24 && DefaultDepth(show->x, screen) != 32) {
        fputs("spice-x-show: the X server must have 24 bits a pixel\n", stderr);
        return false;
    }
    show->window = XCreateWindow(show->x, DefaultRootWindow(show->x), 0, 0,
                                 (unsigned) DisplayWidth(show->x, screen),
                                 (unsigned) DisplayHeight(show->x, screen), 0, CopyFromParent,
                                 InputOutput, CopyFromParent, CWOverrideRedirect, &attributes);
    show->gc = XCreateGC(show->x, show->window, 0, NULL);
    XSetGraphicsExposures(show->x, show->gc, False);
    /* the last picture stays, for a viewer that is late */
    XSetCloseDownMode(show->x, RetainPermanent);
    XMapRaised(show->x, show->window);
    XSync(show->x, False);
    return true;
}

int main(int argc, char **argv)
{
    Show show = { .loop = g_main_loop_new(NULL, FALSE) };

    if (argc != 2) {
        fputs("usage: spice-x-show PORT\n", stderr);
        return EXIT_FAILURE;
    }
    if (!open_window(&show)) {
        return EXIT_FAILURE;
    }
    SpiceSession *session = spice_session_new();
    g_object_set(session, "host", "127.0.0.1", "port", argv[1], "gl-scanout", FALSE, NULL);
    g_signal_connect(session, "channel-new", G_CALLBACK(on_channel), &show);
    spice_session_connect(session);
    g_main_loop_run(show.loop);
    XSync(show.x, False);
    return EXIT_SUCCESS;
}
