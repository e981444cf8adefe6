/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A SPICE server for the tests of spice-drain: draws a picture that the test can compute, moves the
 * cursor. Says "listening" and serves one client, until it is killed. */

#include <signal.h>
#include <spice/enums.h>
#include <stdio.h>
#include <stdlib.h>

#include "../player/core-glib.h"
#include "test-server.h"

static TestOptions options = { .displays = 1, .fills = 20, .pause_at = -1 };

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
        test_display_start(id);
    } else if (type == SPICE_CHANNEL_CURSOR) {
        test_cursor_start(id);
    }
    if (id == 0 && (awaited & 1u << type) != 0) {
        awaited &= ~(1u << type);
        if (awaited == 0 && !options.no_end) {
            test_end_start();
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

    test_displays_add(server, &options);
    spice_server_vm_start(server);
    puts("listening");
    fflush(stdout);
    g_main_loop_run(g_main_loop_new(NULL, FALSE));
    return 0;
}
