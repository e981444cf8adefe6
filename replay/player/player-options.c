/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "player-options.h"

#include <glib.h>
#include <math.h>
#include <spice.h>
#include <stdlib.h>
#include <string.h>

#include "feeder.h"

#define TIMEOUT_DEFAULT 60
#define READ_AHEAD_DEFAULT 512
#define READ_AHEAD_MAX 65536
#define PORT_MAX 65535
/* Longer think times only make a run longer. */
#define THINK_MAX_MS 2000

typedef struct NamedValue {
    const char *name;
    int value;
} NamedValue;

static const NamedValue compressions[] = {
    { "auto-glz", SPICE_IMAGE_COMPRESSION_AUTO_GLZ },
    { "auto-lz", SPICE_IMAGE_COMPRESSION_AUTO_LZ },
    { "off", SPICE_IMAGE_COMPRESSION_OFF },
    { "quic", SPICE_IMAGE_COMPRESSION_QUIC },
    { "glz", SPICE_IMAGE_COMPRESSION_GLZ },
    { "lz", SPICE_IMAGE_COMPRESSION_LZ },
    { "lz4", SPICE_IMAGE_COMPRESSION_LZ4 },
    { NULL, 0 }
};

static const NamedValue streamings[] = {
    { "filter", SPICE_STREAM_VIDEO_FILTER },
    { "off", SPICE_STREAM_VIDEO_OFF },
    { "all", SPICE_STREAM_VIDEO_ALL },
    { NULL, 0 }
};

static const NamedValue jpegs[] = {
    { "auto", SPICE_WAN_COMPRESSION_AUTO },
    { "always", SPICE_WAN_COMPRESSION_ALWAYS },
    { "never", SPICE_WAN_COMPRESSION_NEVER },
    { NULL, 0 }
};

/* No name stands for the first one. */
static bool parse_name(const NamedValue *values, const char *option, const char *name, int *value,
                       char **error)
{
    GString *known;

    if (!name) {
        *value = values->value;
        return true;
    }
    known = g_string_new(NULL);
    for (; values->name; values++) {
        if (strcmp(values->name, name) == 0) {
            *value = values->value;
            g_string_free(known, true);
            return true;
        }
        g_string_append_printf(known, "%s%s", known->len ? ", " : "", values->name);
    }
    *error = g_strdup_printf("--%s %s: not one of %s", option, name, known->str);
    g_string_free(known, true);
    return false;
}

static bool parse_pace(const char *text, double *pace, char **error)
{
    char *end;

    if (!text || strcmp(text, "max") == 0) {
        *pace = PACE_MAX;
        return true;
    }
    if (strcmp(text, "recorded") == 0 || strcmp(text, "user") == 0) {
        *pace = 1.0;
        return true;
    }
    *pace = g_ascii_strtod(text, &end);
    if (end == text || *end || !isfinite(*pace) || *pace <= 0) {
        *error = g_strdup_printf("--pace %s: not max, recorded, user or a factor over 0", text);
        return false;
    }
    return true;
}

static bool parse_pauses(const char *text, PlayerOptions *options, char **error)
{
    char **words = g_strsplit(text ? text : "", ",", 0);
    GArray *pauses = g_array_new(false, false, sizeof(uint64_t));
    guint64 count = 0;
    bool valid = true;

    for (char **word = words; *word && valid; word++) {
        valid = g_ascii_string_to_unsigned(*word, 10, count + 1, G_MAXINT64, &count, NULL);
        g_array_append_val(pauses, count);
    }
    g_strfreev(words);
    if (!valid) {
        *error = g_strdup_printf("--pause-at %s: not a list of command counts, each above the one "
                                 "before", text);
        g_array_unref(pauses);
        return false;
    }
    options->n_pauses = pauses->len;
    options->pauses = (uint64_t *) g_array_free(pauses, false);
    return true;
}

static bool check(const PlayerOptions *options, char **error)
{
    if (options->port < 0 || options->port > PORT_MAX ||
        options->tls_port < 0 || options->tls_port > PORT_MAX) {
        *error = g_strdup("a port is a number from 1 to 65535");
    } else if (!options->port && !options->tls_port && !options->unix_path && !options->check) {
        *error = g_strdup("nowhere to listen: give --port, --tls-port or --unix");
    } else if (options->unix_path && (options->port || options->tls_port)) {
        *error = g_strdup("--unix and ports exclude each other");
    } else if (options->tls_port &&
               !(options->tls_cert && options->tls_key && options->tls_ca)) {
        *error = g_strdup("--tls-port needs --tls-cert, --tls-key and --tls-ca");
    } else if (options->n_pauses && strcmp(options->files[0], "-") == 0) {
        *error = g_strdup("--pause-at reads standard input, so FILE cannot be -");
    } else if (options->think_max_ms && strcmp(options->files[0], "-") == 0) {
        *error = g_strdup("--pace user reads standard input, so FILE cannot be -");
    } else if (options->think_max_ms && (options->n_pauses || options->probe_ms)) {
        *error = g_strdup("--pace user goes without --pause-at and --probe-every");
    }
    return *error == NULL;
}

bool player_options_parse(PlayerOptions *options, int argc, char **argv, char **error)
{
    char *compression = NULL, *jpeg = NULL, *streaming = NULL, *pace = NULL, *pauses = NULL;
    int probe_ms = 0, timeout = TIMEOUT_DEFAULT, read_ahead = READ_AHEAD_DEFAULT;
    const GOptionEntry entries[] = {
        { "check", 0, 0, G_OPTION_ARG_NONE, &options->check,
          "play nothing: say of each FILE, as a line of JSON, whether it is whole; exit status 2 if one is damaged", NULL },
        { "address", 0, 0, G_OPTION_ARG_STRING, &options->address,
          "listen there (default 127.0.0.1)", "A" },
        { "port", 0, 0, G_OPTION_ARG_INT, &options->port, "plain TCP port", "N" },
        { "tls-port", 0, 0, G_OPTION_ARG_INT, &options->tls_port, "TLS port", "N" },
        { "tls-cert", 0, 0, G_OPTION_ARG_FILENAME, &options->tls_cert,
          "the server's certificate", "F" },
        { "tls-key", 0, 0, G_OPTION_ARG_FILENAME, &options->tls_key, "its key", "F" },
        { "tls-ca", 0, 0, G_OPTION_ARG_FILENAME, &options->tls_ca, "who signed it", "F" },
        { "unix", 0, 0, G_OPTION_ARG_FILENAME, &options->unix_path,
          "listen on a Unix socket", "PATH" },
        { "pace", 0, 0, G_OPTION_ARG_STRING, &pace,
          "max (default); recorded or a factor, whatever the client shows by then; user: after a "
          "gap of 200 ms only when \"go\" on standard input says that it has shown all", "PACE" },
        { "compression", 0, 0, G_OPTION_ARG_STRING, &compression,
          "auto-glz (default), auto-lz, off, quic, glz, lz, lz4", "NAME" },
        { "jpeg", 0, 0, G_OPTION_ARG_STRING, &jpeg,
          "for pictures: auto (default, over a slow link), always, never", "NAME" },
        { "streaming", 0, 0, G_OPTION_ARG_STRING, &streaming,
          "video streams: filter (default), off, all", "NAME" },
        { "probe-every", 0, 0, G_OPTION_ARG_INT, &probe_ms, "draw a probe that often", "MS" },
        { "keep-probes", 0, 0, G_OPTION_ARG_NONE, &options->keep_probes,
          "let the server leave out no probe, nor what was drawn last before one", NULL },
        { "pause-at", 0, 0, G_OPTION_ARG_STRING, &pauses,
          "after so many commands, wait for \"go\" on standard input", "N[,N...]" },
        { "show-surfaces", 0, 0, G_OPTION_ARG_NONE, &options->show_surfaces,
          "in pauses and at the end, draw every other surface onto the primary", NULL },
        { "ahead", 0, 0, G_OPTION_ARG_NONE, &options->ahead,
          "write each drawing's pixels into the primary's memory before the command is sent", NULL },
        { "channels", 0, 0, G_OPTION_ARG_STRING, &options->channels,
          "made-up traffic on the other channels: all, or of sound, sound-raw, inputs, pointer, "
          "port[:MIB]", "LIST" },
        { "timeout", 0, 0, G_OPTION_ARG_INT, &timeout,
          "give up after that long without progress (default 60)", "SECONDS" },
        { "read-ahead", 0, 0, G_OPTION_ARG_INT, &read_ahead,
          "make so much of FILE into commands before playing (default 512)", "MIB" },
        { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->files, NULL, "FILE" },
        { NULL, 0, 0, 0, NULL, NULL, NULL }
    };
    GOptionContext *context = g_option_context_new("- plays a recording to a SPICE client");
    GError *parse_error = NULL;
    bool valid;

    memset(options, 0, sizeof(*options));
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_set_description(context, "Example: spice-player --port=5930 --pace=recorded FILE, then spice-drain --port=5930\n");
    if (!g_option_context_parse(context, &argc, &argv, &parse_error)) {
        *error = g_strdup(parse_error->message);
        g_error_free(parse_error);
    } else if (!options->files || (options->files[1] && !options->check)) {
        *error = g_strdup(options->check ? "give recordings to check, or - for standard input"
                                         : "give one recording, or - for standard input");
    } else if (probe_ms < 0 || timeout <= 0) {
        *error = g_strdup("--probe-every and --timeout are positive numbers");
    } else if (read_ahead < 0 || read_ahead > READ_AHEAD_MAX) {
        *error = g_strdup_printf("--read-ahead is 0 to %d", READ_AHEAD_MAX);
    }
    g_option_context_free(context);
    if (!options->address) {
        options->address = g_strdup("127.0.0.1");
    }
    options->probe_ms = probe_ms;
    options->timeout = timeout;
    options->read_ahead = (size_t) read_ahead * 1024 * 1024;
    options->think_max_ms = g_strcmp0(pace, "user") == 0 ? THINK_MAX_MS : 0;
    valid = !*error &&
        parse_name(compressions, "compression", compression, &options->compression, error) &&
        parse_name(jpegs, "jpeg", jpeg, &options->jpeg, error) &&
        parse_name(streamings, "streaming", streaming, &options->streaming, error) &&
        parse_pace(pace, &options->pace, error) &&
        parse_pauses(pauses, options, error) &&
        check(options, error);
    g_free(compression);
    g_free(jpeg);
    g_free(streaming);
    g_free(pace);
    g_free(pauses);
    return valid;
}

void player_options_clear(PlayerOptions *options)
{
    g_strfreev(options->files);
    g_free(options->address);
    g_free(options->tls_cert);
    g_free(options->tls_key);
    g_free(options->tls_ca);
    g_free(options->unix_path);
    g_free(options->pauses);
    g_free(options->channels);
}
