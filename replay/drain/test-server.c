/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A SPICE server for the tests of spice-drain: draws a picture that the test can compute, moves the
 * cursor. Says "listening" and serves one client, until it is killed. */

#include <signal.h>
#include <spice/enums.h>
#include <stdio.h>
#include <stdlib.h>

#include "../player/core-glib.h"
#include "../player/display.h"
#include "../player/marker.h"

#define WIDTH 320
#define HEIGHT 240
#define MAX_DISPLAYS 4
#define UNSEEN_SURFACE 1
#define UNSEEN_EVERY_MS 100

static struct {
    int port;
    int tls_port;
    char *cert;
    char *key;
    char *ca;
    char *unix_path;
    char *password;

    int displays;
    int fills;    /* on each display */
    gboolean probes;
    int pause_at; /* number of the fill with a pause marker after it, -1: none */
    gboolean no_end;
    int end_after_ms;
    int unseen; /* after END, one at a time, fills of a surface that is not shown */
    int moves; /* of the cursor, on each display */
    int moves_every_ms; /* 0: all at once */
} options = { .displays = 1, .fills = 20, .pause_at = -1 };

static Display *displays[MAX_DISPLAYS];

static const GOptionEntry entries[] = {
    { "port", 0, 0, G_OPTION_ARG_INT, &options.port, "Plain port", "N" },
    { "tls-port", 0, 0, G_OPTION_ARG_INT, &options.tls_port, "TLS port", "N" },
    { "tls-cert", 0, 0, G_OPTION_ARG_FILENAME, &options.cert, "Certificate", "FILE" },
    { "tls-key", 0, 0, G_OPTION_ARG_FILENAME, &options.key, "Its key", "FILE" },
    { "tls-ca", 0, 0, G_OPTION_ARG_FILENAME, &options.ca, "Its authority", "FILE" },
    { "unix", 0, 0, G_OPTION_ARG_FILENAME, &options.unix_path, "Unix socket", "PATH" },
    { "password", 0, 0, G_OPTION_ARG_STRING, &options.password, "Ask for a password", "TEXT" },
    { "displays", 0, 0, G_OPTION_ARG_INT, &options.displays, "Number of displays", "N" },
    { "fills", 0, 0, G_OPTION_ARG_INT, &options.fills, "Rectangles drawn on each", "N" },
    { "probes", 0, 0, G_OPTION_ARG_NONE, &options.probes, "Probe marker after each", NULL },
    { "pause-at", 0, 0, G_OPTION_ARG_INT, &options.pause_at, "Pause marker after this one", "N" },
    { "no-end", 0, 0, G_OPTION_ARG_NONE, &options.no_end, "No END marker", NULL },
    { "end-after", 0, 0, G_OPTION_ARG_INT, &options.end_after_ms, "END marker so late", "MS" },
    { "unseen", 0, 0, G_OPTION_ARG_INT, &options.unseen, "Fills after it, not shown", "N" },
    { "moves", 0, 0, G_OPTION_ARG_INT, &options.moves, "Cursor moves", "N" },
    { "moves-every", 0, 0, G_OPTION_ARG_INT, &options.moves_every_ms, "One at a time", "MS" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
};

/* Takes the command over; its release info is its first member. */
static void push(Display *display, uint32_t type, QXLReleaseInfo *info)
{
    QXLCommandExt command = { .cmd = { .type = type, .data = (uintptr_t)info } };

    info->id = marker_id(MARKER_NONE);
    display_push(display, &command, true);
}

static void push_fill(Display *display, uint32_t surface, QXLRect area, uint32_t colour, int rop)
{
    QXLDrawable *fill = g_new0(QXLDrawable, 1);

    fill->surface_id = surface;
    fill->type = QXL_DRAW_FILL;
    fill->effect = rop == SPICE_ROPD_OP_PUT ? QXL_EFFECT_OPAQUE : QXL_EFFECT_BLEND;
    fill->bbox = area;
    fill->clip.type = SPICE_CLIP_TYPE_NONE;
    for (int i = 0; i < 3; i++) {
        fill->surfaces_dest[i] = -1;
    }
    fill->u.fill.brush.type = SPICE_BRUSH_TYPE_SOLID;
    fill->u.fill.brush.u.color = colour;
    fill->u.fill.rop_descriptor = rop;
    push(display, QXL_CMD_DRAW, &fill->release_info);
}

static void push_marker(Display *display, MarkerKind kind, int number)
{
    QXLCommandExt command = marker_new(kind, number);

    display_push(display, &command, true);
}

/* Fills whose rectangle and colour depend on nothing but their number, and markers between. */
static void draw(int id)
{
    for (int i = 0; i < options.fills; i++) {
        int left = i * 37 % (WIDTH - 40), top = i * 23 % (HEIGHT - 30);
        QXLRect area = { .left = left, .top = top, .right = left + 40, .bottom = top + 30 };

        push_fill(displays[id], 0, area, 0x01020304u * (i + 1 + id), SPICE_ROPD_OP_PUT);
        if (options.probes) {
            push_marker(displays[id], MARKER_PROBE, i);
        }
        if (i == options.pause_at) {
            push_marker(displays[id], MARKER_PAUSE, i);
        }
    }
    display_release(displays[id]);
}

/* The first one makes the surface. Nothing of it is shown. */
static gboolean draw_unseen(gpointer opaque G_GNUC_UNUSED)
{
    static int drawn = 0;

    if (drawn == 0) {
        QXLSurfaceCmd *surface = g_new0(QXLSurfaceCmd, 1);

        surface->surface_id = UNSEEN_SURFACE;
        surface->type = QXL_SURFACE_CMD_CREATE;
        surface->u.surface_create.format = SPICE_SURFACE_FMT_32_xRGB;
        surface->u.surface_create.width = WIDTH;
        surface->u.surface_create.height = HEIGHT;
        surface->u.surface_create.stride = WIDTH * 4;
        surface->u.surface_create.data = (uintptr_t)g_malloc0(WIDTH * HEIGHT * 4);
        push(displays[0], QXL_CMD_SURFACE, &surface->release_info);
    }
    push_fill(displays[0], UNSEEN_SURFACE, (QXLRect) { .right = WIDTH, .bottom = HEIGHT }, 0xff,
              SPICE_ROPD_OP_XOR);
    display_release(displays[0]);
    return ++drawn < options.unseen;
}

static void set_cursor(Display *display)
{
    static struct {
        QXLCursor cursor;
        uint8_t pixels[32 * 32 * 4];
    } shape = {
        .cursor = { .header = { .type = SPICE_CURSOR_TYPE_ALPHA, .width = 32, .height = 32 },
                    .data_size = 32 * 32 * 4,
                    .chunk = { .data_size = 32 * 32 * 4 } },
    };
    QXLCursorCmd *command = g_new0(QXLCursorCmd, 1);

    command->type = QXL_CURSOR_SET;
    command->u.set.visible = TRUE;
    command->u.set.shape = (uintptr_t)&shape;
    push(display, QXL_CMD_CURSOR, &command->release_info);
}

static gboolean move_cursor(gpointer opaque)
{
    static int moved[MAX_DISPLAYS];
    const int id = GPOINTER_TO_INT(opaque);
    QXLCursorCmd *command = g_new0(QXLCursorCmd, 1);

    command->type = QXL_CURSOR_MOVE;
    command->u.position = (QXLPoint16) { .x = ++moved[id], .y = 7 };
    push(displays[id], QXL_CMD_CURSOR, &command->release_info);
    return moved[id] < options.moves;
}

/* A move that nobody sees yet would be lost. */
static void start_cursor(int id)
{
    if (options.moves == 0) {
        return;
    }
    set_cursor(displays[id]);
    if (options.moves_every_ms > 0) {
        g_timeout_add(options.moves_every_ms, move_cursor, GINT_TO_POINTER(id));
        return;
    }
    while (move_cursor(GINT_TO_POINTER(id))) {
    }
}

/* As soon as all moves are taken (without --moves-every). */
static gboolean show_end(gpointer opaque G_GNUC_UNUSED)
{
    if (options.moves_every_ms == 0 && !display_is_empty(displays[0])) {
        return G_SOURCE_CONTINUE;
    }
    push_marker(displays[0], MARKER_END, 0);
    display_release(displays[0]);
    if (options.unseen > 0) {
        g_timeout_add(UNSEEN_EVERY_MS, draw_unseen, NULL);
    }
    return G_SOURCE_REMOVE;
}

/* Bits, 1 << type, of the channels without which there is no end. A client opens its channels one
 * after the other: on a busy machine the last can be up long after the first. */
static unsigned awaited_channels(void)
{
    unsigned channels = 1u << SPICE_CHANNEL_DISPLAY;

    channels |= options.moves > 0 ? 1u << SPICE_CHANNEL_CURSOR : 0;
    return channels;
}

/* Everything begins when the client's channel for it is up. */
static void on_channel_up(int type, int id)
{
    static unsigned awaited = 0;

    if (type == SPICE_CHANNEL_MAIN) {
        awaited = awaited_channels();
        return;
    }
    if (type == SPICE_CHANNEL_DISPLAY) {
        draw(id);
    } else if (type == SPICE_CHANNEL_CURSOR) {
        start_cursor(id);
    }
    if (id == 0 && (awaited & 1u << type) != 0) {
        awaited &= ~(1u << type);
        if (awaited == 0 && !options.no_end) {
            g_timeout_add(options.end_after_ms, show_end, NULL);
        }
    }
}

static gboolean call_channel_up(gpointer opaque)
{
    SpiceChannelEventInfo *info = opaque;

    on_channel_up(info->type, info->id);
    g_free(info);
    return G_SOURCE_REMOVE;
}

/* Display and cursor channels report from the worker's thread. */
static void channel_event(int event, SpiceChannelEventInfo *info)
{
    if (event == SPICE_CHANNEL_EVENT_INITIALIZED) {
        g_idle_add(call_channel_up, g_memdup2(info, sizeof(*info)));
    }
}

static SpiceServer *new_server(void)
{
    SpiceServer *server = spice_server_new();

    if (options.password != NULL) {
        spice_server_set_ticket(server, options.password, 0, FALSE, FALSE);
    } else {
        spice_server_set_noauth(server);
    }
    if (options.unix_path != NULL) {
        spice_server_set_addr(server, options.unix_path, SPICE_ADDR_FLAG_UNIX_ONLY);
    } else {
        spice_server_set_addr(server, "127.0.0.1", SPICE_ADDR_FLAG_IPV4_ONLY);
    }
    if (options.port != 0) {
        spice_server_set_port(server, options.port);
    }
    if (options.tls_port != 0) {
        spice_server_set_tls(server, options.tls_port, options.ca, options.cert, options.key, NULL, NULL, NULL);
    }
    if (spice_server_init(server, core_glib_interface(channel_event)) != 0) {
        exit(1);
    }
    return server;
}

static void add_display(SpiceServer *server, int id)
{
    QXLDevSurfaceCreate surface = {
        .width = WIDTH,
        .height = HEIGHT,
        .stride = WIDTH * 4,
        .format = SPICE_SURFACE_FMT_32_xRGB,
        .mem = (uintptr_t)g_malloc0(WIDTH * HEIGHT * 4),
    };

    displays[id] = display_new(server, id, false);
    spice_qxl_create_primary_surface(display_instance(displays[id]), 0, &surface);
}

int main(int argc, char **argv)
{
    GOptionContext *context = g_option_context_new(NULL);
    GError *error = NULL;

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        g_printerr("%s\n", error->message);
        return 1;
    }
    g_option_context_free(context);
    /* A client may go while OpenSSL writes to it. */
    signal(SIGPIPE, SIG_IGN);

    SpiceServer *server = new_server();

    for (int id = 0; id < CLAMP(options.displays, 1, MAX_DISPLAYS); id++) {
        add_display(server, id);
    }
    puts("listening");
    fflush(stdout);
    g_main_loop_run(g_main_loop_new(NULL, FALSE));
    return 0;
}
