/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "options.h"

#include <errno.h>
#include <unistd.h>

#define DEFAULT_HOST "127.0.0.1"
#define DEFAULT_IDLE_SECONDS 60
#define NOT_GIVEN G_MININT

static bool bad(GError **error, const char *message)
{
    g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, message);
    return false;
}

static bool check_target(const Options *options, GError **error)
{
    bool has_port = options->port != 0 || options->tls_port != 0;

    if ((options->unix_path != NULL) == has_port) {
        return bad(error, "say where to connect: either --unix, or --port or --tls-port with "
                          "--host");
    }
    if (options->host != NULL && !has_port) {
        return bad(error, "--host needs --port or --tls-port");
    }
    if (options->port < 0 || options->port > G_MAXUINT16 ||
        options->tls_port < 0 || options->tls_port > G_MAXUINT16) {
        return bad(error, "a port is a number from 1 to 65535");
    }
    if (options->ca_file != NULL && access(options->ca_file, R_OK) != 0) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "cannot read --ca %s: %s",
                    options->ca_file, g_strerror(errno));
        return false;
    }
    return true;
}

static bool check_values(const Options *options, GError **error)
{
    if (!(options->slow >= 1)) {
        return bad(error, "--slow is a factor of 1 or more");
    }
    if (!(options->idle_seconds > 0)) {
        return bad(error, "--idle is a number of seconds above 0");
    }
    if (options->settle_ms < 0 || options->settle_ms >= options->idle_seconds * 1000) {
        return bad(error, "--settle is a number of milliseconds, less than --idle");
    }
    if (options->settle_end_ms < 0 || options->settle_end_ms >= options->idle_seconds * 1000) {
        return bad(error, "--settle-end is a number of milliseconds, less than --idle");
    }
    return true;
}

bool options_parse(Options *options, int *argc, char ***argv, GError **error)
{
    int settle_end_ms = NOT_GIVEN;
    const GOptionEntry entries[] = {
        { "host", 0, 0, G_OPTION_ARG_STRING, &options->host,
          "Server's name or address (" DEFAULT_HOST ")", "HOST" },
        { "port", 0, 0, G_OPTION_ARG_INT, &options->port, "Port without TLS", "N" },
        { "tls-port", 0, 0, G_OPTION_ARG_INT, &options->tls_port, "Port with TLS", "N" },
        { "ca", 0, 0, G_OPTION_ARG_FILENAME, &options->ca_file,
          "Certificates of the authorities to trust (the system's)", "FILE" },
        { "unix", 0, 0, G_OPTION_ARG_FILENAME, &options->unix_path,
          "Server's Unix socket", "PATH" },
        { "png", 0, 0, G_OPTION_ARG_FILENAME, &options->png,
          "Save the final picture of display 0", "FILE" },
        { "screen", 0, 0, G_OPTION_ARG_FILENAME, &options->screen,
          "Log what is to be seen on display 0 (../screen/tiles.h)", "FILE" },
        { "screen-at-probes", 0, 0, G_OPTION_ARG_NONE, &options->screen_at_probes,
          "Look at it at each probe and the end, not when it changes", NULL },
        { "slow", 0, 0, G_OPTION_ARG_DOUBLE, &options->slow,
          "Decode at 1/FACTOR of this machine's speed", "FACTOR" },
        { "idle", 0, 0, G_OPTION_ARG_DOUBLE, &options->idle_seconds,
          "Give up after so long without anything from the server "
          "(" G_STRINGIFY(DEFAULT_IDLE_SECONDS) ")", "SECONDS" },
        { "expect", 0, 0, G_OPTION_ARG_FILENAME, &options->expect,
          "At pause marker K, wait until display 0 shows picture K of FILE, for 20 s at most",
          "FILE" },
        { "settle", 0, 0, G_OPTION_ARG_INT, &options->settle_ms,
          "At a pause or the end, wait until the display has been quiet for so long", "MS" },
        { "settle-end", 0, 0, G_OPTION_ARG_INT, &settle_end_ms,
          "At the end, wait until display and pointer have been quiet for so long (as --settle)",
          "MS" },
        { "no-end", 0, 0, G_OPTION_ARG_NONE, &options->no_end,
          "Run until disconnected, not until the END marker", NULL },
        { "channels", 0, 0, G_OPTION_ARG_NONE, &options->channels,
          "Use the other channels as well: send motions and keys, share the clipboard, "
          "answer ports, report every move of the pointer with its time", NULL },
        { "control", 0, 0, G_OPTION_ARG_NONE, &options->control,
          "Obey orders on standard input (key CODE 1|0, move X Y, button N 1|0, picture N FILE, reopen N)",
          NULL },
        { "verbose", 'v', 0, G_OPTION_ARG_NONE, &options->verbose,
          "Show the client library's own messages", NULL },
        { NULL, 0, 0, 0, NULL, NULL, NULL },
    };
    GOptionContext *context = g_option_context_new("- headless SPICE client that says what came");
    bool parsed;

    *options = (Options) { .slow = 1, .idle_seconds = DEFAULT_IDLE_SECONDS };
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_set_description(context, "Example: spice-drain --host=127.0.0.1 --port=5930 --png=last.png\n");
    parsed = g_option_context_parse(context, argc, argv, error);
    g_option_context_free(context);
    if (!parsed) {
        return false;
    }
    options->settle_end_ms = settle_end_ms == NOT_GIVEN ? options->settle_ms : settle_end_ms;
    if (*argc > 1) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION,
                    "unexpected argument %s", (*argv)[1]);
        return false;
    }
    if (!check_target(options, error) || !check_values(options, error)) {
        return false;
    }
    if (options->host == NULL) {
        options->host = g_strdup(DEFAULT_HOST);
    }
    return true;
}

void options_clear(Options *options)
{
    g_free(options->host);
    g_free(options->unix_path);
    g_free(options->ca_file);
    g_free(options->png);
    g_free(options->screen);
    g_free(options->expect);
}
