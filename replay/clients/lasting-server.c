/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plays a recording as spice-player does, with its options, but whoever comes and goes: it goes
 * on drawing when the client has gone, stops after a number of commands until there is another,
 * and takes everything down in order at the end, whether a client is there or not.
 *
 * On standard output it says {"event":"listening"} and, when all is drawn, {"event":"finished"}.
 * SIGTERM ends it, with status 0.
 */
#include <glib-unix.h>
#include <signal.h>
#include <spice.h>
#include <stdio.h>

#include "../common/json.h"
#include "../player/core-glib.h"
#include "../player/display.h"
#include "../player/feeder.h"
#include "../player/player-options.h"
#include "../player/player-server.h"

#define COMMANDS_A_PIECE 400
#define MAX_PIECES 1000
#define STOP_SECONDS 30

static struct {
    GMainLoop *loop;
    Feeder *feeder;
    int displays;               /* number of connected display channels */
    bool waiting;               /* the feeder waits for a channel */
} server;

static void resume_for_client(void)
{
    if (server.waiting && server.displays > 0) {
        server.waiting = false;
        feeder_resume(server.feeder);
    }
}

static void channel_event(int event, SpiceChannelEventInfo *info)
{
    if (info->type != SPICE_CHANNEL_DISPLAY) {
        return;
    }
    server.displays += event == SPICE_CHANNEL_EVENT_INITIALIZED;
    server.displays -= event == SPICE_CHANNEL_EVENT_DISCONNECTED;
    resume_for_client();
}

static gboolean paused_idle(gpointer data G_GNUC_UNUSED)
{
    server.waiting = true;
    resume_for_client();
    return G_SOURCE_REMOVE;
}

static void begun(void)
{
}

static void paused(unsigned int number G_GNUC_UNUSED, uint64_t command G_GNUC_UNUSED)
{
    g_idle_add(paused_idle, NULL);
}

static gboolean finished_idle(gpointer data G_GNUC_UNUSED)
{
    printf("{\"event\":\"finished\"}\n");
    fflush(stdout);
    return G_SOURCE_REMOVE;
}

static void finished(void)
{
    g_idle_add(finished_idle, NULL);
}

static gboolean terminated(gpointer data G_GNUC_UNUSED)
{
    g_main_loop_quit(server.loop);
    return G_SOURCE_CONTINUE;
}

/* Draws until SIGTERM. False if the worker does not let the feeder end. */
static bool serve(const PlayerOptions *options, SpiceServer *spice, Display *display,
                  ReplayStream *stream)
{
    static const FeederEvents events = { .begun = begun, .paused = paused, .finished = finished };
    uint64_t pauses[MAX_PIECES];
    FeederOptions feeder_options = { .stream = stream, .pace = options->pace, .pauses = pauses,
                                     .n_pauses = MAX_PIECES };

    for (int i = 0; i < MAX_PIECES; i++) {
        pauses[i] = 1 + i * COMMANDS_A_PIECE;
    }
    server.feeder = feeder_start(display, &feeder_options, &events);
    json_event("listening");
    g_main_loop_run(server.loop);

    display_close(display);
    feeder_stop(server.feeder);
    if (!feeder_join(server.feeder, STOP_SECONDS)) {
        return false;
    }
    spice_server_destroy(spice);
    display_free(display);
    feeder_free(server.feeder);
    replay_stream_free(stream);
    return true;
}

int main(int argc, char **argv)
{
    PlayerOptions options = { 0 };
    char *error = NULL;
    ReplayStream *stream;
    SpiceServer *spice;
    Display *display;

    g_log_writer_default_set_use_stderr(true);
    signal(SIGPIPE, SIG_IGN);
    server.loop = g_main_loop_new(NULL, false);
    g_unix_signal_add(SIGTERM, terminated, NULL);
    if (!player_options_parse(&options, argc, argv, &error) ||
        !(spice = player_server_new(&options, core_glib_interface(channel_event), &error))) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    stream = replay_stream_open(options.files[0]);
    if (!stream) {
        perror(options.files[0]);
        return 1;
    }
    display = display_new(spice, 0, false);
    if (!display) {
        fprintf(stderr, "the library takes no display\n");
        return 1;
    }
    if (!serve(&options, spice, display, stream)) {
        fprintf(stderr, "the worker is stuck\n");
        return 2;
    }
    player_options_clear(&options);
    g_main_loop_unref(server.loop);
    return 0;
}
