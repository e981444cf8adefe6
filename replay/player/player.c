/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plays a recording to a SPICE client through libspice-server's public
 * interface and says, in JSON, how it went.
 */
#include <errno.h>
#include <glib-unix.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/json.h"
#include "check.h"
#include "core-glib.h"
#include "devices.h"
#include "display.h"
#include "feeder.h"
#include "player-options.h"
#include "player-server.h"
#include "progress.h"
#include "replay-stream.h"
#include "report.h"

#define TICK_MS 100
#define PROGRESS_TICKS 5
#define REMIND_NS (300 * NSEC_PER_MSEC)
#define REMIND_USER_MS 10
#define REMIND_USER_NS (30 * NSEC_PER_MSEC)
#define REMIND_USER_PART 8
#define CURSOR_WAIT_NS NSEC_PER_SEC
#define STOP_SECONDS 2

enum {
    EXIT_PLAYED = 0,
    EXIT_USAGE = 1,
    EXIT_DAMAGED = 2,
    EXIT_CLIENT_GONE = 3,
    EXIT_STALLED = 4,
};

typedef struct Player {
    PlayerOptions options;
    GMainLoop *loop;
    SpiceServer *server;
    Display *display;
    Devices *devices;               /* NULL when there are none */
    ReplayStream *stream;
    const ReplayTotals *totals;     /* of a file that was checked as a whole, else NULL */

    bool display_up, cursor_up;
    int64_t display_up_ns;
    bool stdin_ended;
    bool show_progress;
    unsigned int ticks;
    int64_t marked_ns, remind_ns;   /* since when it waits at a pause or the end, when to remind */

    Feeder *feeder;             /* NULL until playing */
    bool is_fed;
    int64_t started_ns, ended_ns;
    struct rusage started_usage, ended_usage;

    Progress progress;
    gint bandwidth;             /* a Bandwidth; atomic, set by the thread that logs */

    int status;
    char *error;
} Player;

static Player player;           /* the library's callbacks have no user data */

static void finish(int status, char *error)
{
    if (player.ended_ns) {
        g_free(error);
        return;
    }
    player.ended_ns = clock_ns();
    getrusage(RUSAGE_SELF, &player.ended_usage);
    player.status = status;
    player.error = error;
    g_main_loop_quit(player.loop);
}

/* In the feeder's thread. A failure to write shows in tick(). */
static void feeder_begun(void)
{
    json_event("begun");
}

static void feeder_paused(unsigned int number, uint64_t command)
{
    json_print(g_variant_new_parsed("{'event': <'pause'>, 'n': <%u>, 'command': <%t>}", number,
                                    command));
}

static gboolean fed_idle(gpointer data G_GNUC_UNUSED)
{
    const FeederResult *result;

    if (!feeder_join(player.feeder, STOP_SECONDS)) {
        return G_SOURCE_CONTINUE;
    }
    player.is_fed = true;
    result = feeder_result(player.feeder);
    if (result->status == FEEDER_DAMAGED) {
        finish(EXIT_DAMAGED, g_strdup_printf("%s: %s", player.options.files[0], result->error));
    }
    return G_SOURCE_REMOVE;
}

static void feeder_finished(void)
{
    g_idle_add(fed_idle, NULL);
}

static bool feeder_is(FeederState state)
{
    return player.feeder && feeder_state(player.feeder) == state;
}

static gboolean stdin_ready(GIOChannel *channel, GIOCondition condition G_GNUC_UNUSED,
                            gpointer data G_GNUC_UNUSED)
{
    char *line = NULL;

    if (g_io_channel_read_line(channel, &line, NULL, NULL, NULL) != G_IO_STATUS_NORMAL) {
        player.stdin_ended = true;
        return G_SOURCE_REMOVE;
    }
    if (strcmp(g_strchomp(line), "go") == 0) {
        feeder_resume(player.feeder);
    }
    g_free(line);
    return G_SOURCE_CONTINUE;
}

static void start_playing(void)
{
    const FeederEvents events = {
        .begun = feeder_begun,
        .paused = feeder_paused,
        .finished = feeder_finished,
    };
    const FeederOptions options = {
        .stream = player.stream,
        .pace = player.options.pace,
        .probe_ms = player.options.probe_ms,
        .keep_probes = player.options.keep_probes,
        .pauses = player.options.pauses,
        .n_pauses = player.options.n_pauses,
        .think_max_ns = player.options.think_max_ms * NSEC_PER_MSEC,
        .show_surfaces = player.options.show_surfaces,
        .writes_ahead = player.options.ahead,
        .hold_end = player.devices != NULL,
    };

    getrusage(RUSAGE_SELF, &player.started_usage);
    player.started_ns = clock_ns();
    if (player.devices) {
        devices_start(player.devices);
    }
    player.feeder = feeder_start(player.display, &options, &events);
    if (player.options.n_pauses || player.options.think_max_ms) {
        GIOChannel *channel = g_io_channel_unix_new(STDIN_FILENO);

        g_io_add_watch(channel, G_IO_IN | G_IO_HUP, stdin_ready, NULL);
        g_io_channel_unref(channel);
    }
}

/*
 * A client opens its channels one after the other. Waiting a moment for the
 * cursor's makes runs alike; one that never opens it is played to all the same.
 */
static void start_when_ready(int64_t now)
{
    if (player.feeder || !player.display_up) {
        return;
    }
    if (player.cursor_up || now - player.display_up_ns > CURSOR_WAIT_NS) {
        start_playing();
    }
}

/* In an idle call: the event comes just before the library connects the channel. */
static gboolean channel_up_idle(gpointer data G_GNUC_UNUSED)
{
    start_when_ready(clock_ns());
    return G_SOURCE_REMOVE;
}

static void client_gone(void)
{
    if (player.feeder && display_end_taken(player.display)) {
        finish(EXIT_PLAYED, NULL);
    } else {
        finish(EXIT_CLIENT_GONE, g_strdup_printf(
            "the client is gone after %" G_GUINT64_FORMAT " commands, before the end",
            player.feeder ? feeder_commands(player.feeder) : 0));
    }
}

static void channel_event(int event, SpiceChannelEventInfo *info)
{
    if (event == SPICE_CHANNEL_EVENT_INITIALIZED) {
        if (info->type == SPICE_CHANNEL_DISPLAY && !player.display_up) {
            player.display_up = true;
            player.display_up_ns = clock_ns();
        }
        player.cursor_up |= info->type == SPICE_CHANNEL_CURSOR;
        g_idle_add(channel_up_idle, NULL);
    } else if (event == SPICE_CHANNEL_EVENT_DISCONNECTED && player.display_up &&
               info->type == SPICE_CHANNEL_DISPLAY) {
        client_gone();
    }
}

static void show_progress(void)
{
    uint64_t commands = player.feeder ? feeder_commands(player.feeder) : 0;

    if (player.totals && player.totals->commands > 0) {
        fprintf(stderr, "\r%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " commands, %d %%\033[K",
                commands, player.totals->commands,
                (int) (100 * commands / player.totals->commands));
    } else {
        fprintf(stderr, "\r%" G_GUINT64_FORMAT " commands\033[K", commands);
    }
    fflush(stderr);
}

static void clear_progress(void)
{
    if (player.show_progress) {
        fprintf(stderr, "\r\033[K");
    }
}

static void check_stalled(int64_t now)
{
    if (now - player.progress.last_ns < player.options.timeout * NSEC_PER_SEC) {
        return;
    }
    if (feeder_is(FEEDER_HELD)) {
        char *unfinished = devices_unfinished(player.devices);

        finish(EXIT_STALLED, g_strdup_printf(
            "no progress for %u seconds: the client does not answer on the channels of %s",
            player.options.timeout, unfinished));
        g_free(unfinished);
        return;
    }
    finish(EXIT_STALLED, g_strdup_printf(
        "no progress for %u seconds: %s", player.options.timeout,
        !player.display_up ? "no client has come" :
        player.feeder && display_end_taken(player.display)
            ? "all is played, but the client does not go" : "the client takes nothing"));
}

/* The end of the display's recording is the end of all: it waits for the devices. */
static void end_when_devices_are_finished(void)
{
    if (player.devices && feeder_is(FEEDER_HELD) &&
        devices_are_running(player.devices) && devices_are_finished(player.devices)) {
        devices_stop(player.devices);
        feeder_release_end(player.feeder);
    }
}

/*
 * Less and less often: a client that has seen the marker waits until all is quiet. At the user's
 * pace, how long the client takes is what is measured: a marker that was left out makes that longer
 * by 30 ms or an eighth at most, and the reminders are few.
 */
static gboolean remind(gpointer data G_GNUC_UNUSED)
{
    const bool is_paused = feeder_is(FEEDER_PAUSED);
    const bool is_users = is_paused && player.options.think_max_ms;
    const int64_t now = clock_ns(), least = is_users ? REMIND_USER_NS : REMIND_NS;

    if (!is_paused && !player.is_fed) {
        player.marked_ns = 0;
    } else if (player.marked_ns == 0) {
        player.marked_ns = now;
        player.remind_ns = now + least;
    } else if (now >= player.remind_ns) {
        feeder_remind(player.feeder);
        player.remind_ns = now + MAX(least, (now - player.marked_ns) /
                                            (is_users ? REMIND_USER_PART : 1));
    }
    return G_SOURCE_CONTINUE;
}

static gboolean tick(gpointer data G_GNUC_UNUSED)
{
    int64_t now = clock_ns();

    start_when_ready(now);
    end_when_devices_are_finished();
    progress_look(&player.progress, player.display, player.devices,
                  feeder_is(FEEDER_WAITING) || feeder_is(FEEDER_PAUSED), now);
    check_stalled(now);
    if (ferror(stdout)) {
        finish(EXIT_USAGE, g_strdup("cannot write to standard output"));
    }
    if (player.stdin_ended && feeder_is(FEEDER_PAUSED)) {
        finish(EXIT_USAGE, g_strdup("standard input ended, nothing can end the pause"));
    }
    player.ticks++;
    if (player.show_progress && player.ticks % PROGRESS_TICKS == 0) {
        show_progress();
    }
    return G_SOURCE_CONTINUE;
}

static gboolean interrupted(gpointer data)
{
    finish(EXIT_USAGE, g_strdup_printf("ended by %s", (const char *) data));
    return G_SOURCE_CONTINUE;
}

/* A file is read as a whole first; a pipe can be read but once, and may have no end. */
static bool open_recording(const char *file)
{
    const bool is_file = strcmp(file, "-") != 0 && g_file_test(file, G_FILE_TEST_IS_REGULAR);

    player.stream = replay_stream_open(file);
    if (!player.stream) {
        player.error = g_strdup_printf("%s: %s", file, g_strerror(errno));
        return false;
    }
    if (is_file && !replay_stream_check(player.stream, player.options.read_ahead)) {
        char *error = replay_stream_error(player.stream);

        player.status = EXIT_DAMAGED;
        player.error = g_strdup_printf("%s: %s", file, error);
        g_free(error);
        return false;
    }
    player.totals = replay_stream_totals(player.stream);
    return true;
}

static bool start_server(void)
{
    if (!report_prepare_stream_stats()) {
        player.error = g_strdup_printf("cannot make a file in memory: %s", g_strerror(errno));
        return false;
    }
    player.server = player_server_new(&player.options, core_glib_interface(channel_event),
                                      &player.error);
    if (!player.server) {
        return false;
    }
    player.display = display_new(player.server, 0, player.options.pace == PACE_MAX);
    if (!player.display) {
        player.error = g_strdup("the library takes no display");
        return false;
    }
    if (player.options.channels) {
        const Guest guest = { player.server, player.display };

        player.devices = devices_new(&guest, player.options.channels, &player.error);
        if (!player.devices) {
            return false;
        }
    }
    if (!json_event("listening")) {
        player.error = g_strdup("cannot write to standard output");
        return false;
    }
    return true;
}

static void run_loop(void)
{
    player.show_progress = isatty(STDERR_FILENO);
    player.progress.last_ns = clock_ns();
    g_timeout_add(TICK_MS, tick, NULL);
    g_timeout_add(player.options.think_max_ms ? REMIND_USER_MS : TICK_MS, remind, NULL);
    g_main_loop_run(player.loop);
    clear_progress();
}

/* All is played: take everything down in order and report. */
static void conclude(void)
{
    const FeederResult *fed = feeder_result(player.feeder);
    ReportDone done = {
        .expected_commands = player.totals ? player.totals->commands : fed->commands,
        .fed = fed,
        .started_ns = player.started_ns,
        .ended_ns = player.ended_ns,
        .cpu_user = clock_seconds(player.started_usage.ru_utime, player.ended_usage.ru_utime),
        .cpu_system = clock_seconds(player.started_usage.ru_stime, player.ended_usage.ru_stime),
        .channels = player.devices ? devices_report(player.devices) : NULL,
        .bandwidth = g_atomic_int_get(&player.bandwidth),
    };

    spice_server_destroy(player.server);
    if (!report_done(&done)) {
        player.status = EXIT_USAGE;
        player.error = g_strdup("cannot write to standard output");
    }
    if (player.devices) {
        devices_free(player.devices);
    }
    display_free(player.display);
    feeder_free(player.feeder);
    replay_stream_free(player.stream);
    g_main_loop_unref(player.loop);
}

static int leave(void)
{
    if (player.options.unix_path && player.server) {
        unlink(player.options.unix_path);
    }
    if (player.error) {
        fprintf(stderr, "spice-player: %s\n", player.error);
    }
    return player.status;
}

/*
 * A guest may not make the server crash, and so not every command is checked here. Where one
 * does, it is said which, and the signal's default action follows.
 */
static void tell_of_crash(const char *reason)
{
    char line[PATH_MAX + 128];
    int length = snprintf(line, sizeof(line), "spice-player: %s: the library crashed (%s) after command %" G_GUINT64_FORMAT
                          ": the recording is damaged, or the library has a fault\n", player.options.files[0], reason,
                          player.feeder ? feeder_commands(player.feeder) : 0);

    if (length < 0 || write(STDERR_FILENO, line, MIN((size_t) length, sizeof(line) - 1)) < 0) {
        _exit(EXIT_DAMAGED);
    }
}

static void crashed(int signal_number)
{
    tell_of_crash(signal_number == SIGABRT ? "abort" : "bad memory access");
    raise(signal_number);
}

/*
 * A library of any kind says in a message of level debug what its bandwidth test led to when the display channel was connected.
 * This setting is auto, so it is enabled on a slow path; jpeg, which is told in the same way, may be set otherwise.
 */
static void note_bandwidth(const GLogField *fields, gsize n_fields)
{
    for (gsize i = 0; i < n_fields; i++) {
        const char *found = strcmp(fields[i].key, "MESSAGE") == 0 ? strstr(fields[i].value, "zlib-over-glz ") : NULL;

        if (found) {
            g_atomic_int_set(&player.bandwidth, strstr(found, "enabled") ? BANDWIDTH_LOW : BANDWIDTH_HIGH);
        }
    }
}

/* An assertion ends in SIGTRAP, which the worker's thread blocks. */
static GLogWriterOutput logged(GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
    if (level & G_LOG_LEVEL_DEBUG) {
        note_bandwidth(fields, n_fields);
    }
    if (level & (G_LOG_LEVEL_ERROR | G_LOG_FLAG_FATAL)) {
        tell_of_crash("assertion");
    }
    return g_log_writer_default(level, fields, n_fields, data);
}

static void tell_of_crashes(void)
{
    const struct sigaction action = { .sa_handler = crashed, .sa_flags = SA_RESETHAND };

    g_log_set_writer_func(logged, NULL, NULL);
#if !defined(__SANITIZE_ADDRESS__)      /* AddressSanitizer has more details */
    sigaction(SIGABRT, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
#else
    (void) action;
#endif
}

int main(int argc, char **argv)
{
    g_log_writer_default_set_use_stderr(true);
    signal(SIGPIPE, SIG_IGN);
    player.loop = g_main_loop_new(NULL, false);
    player.status = EXIT_USAGE;
    if (!player_options_parse(&player.options, argc, argv, &player.error)) {
        return leave();
    }
    if (player.options.check) {
        return check_recordings(player.options.files);
    }
    g_unix_signal_add(SIGINT, interrupted, "SIGINT");
    g_unix_signal_add(SIGTERM, interrupted, "SIGTERM");
    if (!open_recording(player.options.files[0]) || !start_server()) {
        return leave();
    }
    tell_of_crashes();
    run_loop();
    if (player.status != EXIT_PLAYED || !feeder_join(player.feeder, STOP_SECONDS)) {
        /* the worker and the feeder may be anywhere: nothing can be taken down in order */
        _exit(leave());
    }
    conclude();
    leave();
    player_options_clear(&player.options);
    g_free(player.error);
    return player.status;
}
