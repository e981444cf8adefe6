/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * spice-recording: tells what recordings hold, checks them, cuts them.
 */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "recording-edit.h"
#include "recording-facts.h"
#include "recording-print.h"

#define NSEC_PER_SEC 1e9
#define SECONDS_MAX 1e9

enum {
    EXIT_GOOD = 0,
    EXIT_USAGE = 1,
    EXIT_DAMAGED = 2,
};

static const char usage[] =
    "usage: spice-recording info|verify [--json] FILE...\n"
    "       spice-recording trim --from SECONDS --to SECONDS -o OUT FILE\n"
    "       spice-recording trim --commands A:B -o OUT FILE\n"
    "\n"
    "Files may be packed with xz or gzip; - is standard input. OUT is packed if its\n"
    "name ends in .xz or .gz. A recording that is damaged gives exit status 2, the\n"
    "byte (of the unpacked recording) and the reason.\n"
    "\n"
    "trim keeps a range of time, or of commands from the A-th (the first is 0) up to\n"
    "but not including the B-th, and plays at once what the range depends on. Either\n"
    "end may be left out.\n"
    "\n"
    "Example: spice-recording trim --from 20 --to 35 -o part.rec.xz whole.rec.xz\n";

typedef struct ToolOptions {
    bool json;
    char *from, *to, *commands, *out;
    char **files;
    unsigned int n_files;
} ToolOptions;

static int complain(int status, char *line)
{
    fprintf(stderr, "spice-recording: %s\n", line);
    g_free(line);
    return status;
}

/* --- info, verify --- */

static void print_verdict(const char *file, const RecordingFacts *facts, const ToolOptions *options)
{
    if (options->json) {
        printf("{\"file\":");
        json_print_string(file);
        printf(",\"valid\":true,\"events\":%" G_GUINT64_FORMAT ",\"commands\":%" G_GUINT64_FORMAT
               ",\"bytes\":%" G_GUINT64_FORMAT "}\n", facts->events, facts->commands,
               facts->bytes);
    } else {
        printf("%s: good, %" G_GUINT64_FORMAT " commands\n", file, facts->commands);
    }
}

static void print_fault(const char *file, const char *error, const ToolOptions *options)
{
    if (options->json) {
        printf("{\"file\":");
        json_print_string(file);
        printf(",\"valid\":false,\"error\":");
        json_print_string(error);
        printf("}\n");
    }
}

static int describe(const char *command, const char *file, const ToolOptions *options)
{
    RecordingFacts facts;
    char *error = NULL;
    FactsStatus status = recording_facts_read(&facts, file, &error);

    if (status != FACTS_GOOD) {
        print_fault(file, error, options);
    } else if (strcmp(command, "verify") == 0) {
        print_verdict(file, &facts, options);
    } else if (options->json) {
        recording_print_json(file, &facts);
    } else {
        recording_print_text(file, &facts);
    }
    recording_facts_clear(&facts);
    if (status == FACTS_GOOD) {
        return EXIT_GOOD;
    }
    return complain(status == FACTS_DAMAGED ? EXIT_DAMAGED : EXIT_USAGE, error);
}

/* All files are looked at; the gravest status is given. */
static int describe_all(const char *command, const ToolOptions *options)
{
    int status = EXIT_GOOD;

    if (options->n_files == 0) {
        return complain(EXIT_USAGE, g_strdup("give at least one recording"));
    }
    for (unsigned int i = 0; i < options->n_files; i++) {
        int this_status = describe(command, options->files[i], options);

        status = MAX(status, this_status);
    }
    return status;
}

/* --- trim --- */

static bool parse_seconds(const char *text, uint64_t *ns)
{
    char *end;
    double seconds;

    if (!text) {
        return true;
    }
    seconds = g_ascii_strtod(text, &end);
    if (end == text || *end || !(seconds >= 0) || seconds > SECONDS_MAX) {
        return false;
    }
    *ns = seconds * NSEC_PER_SEC;
    return true;
}

static bool parse_commands(const char *text, TrimRange *range)
{
    char **ends = g_strsplit(text, ":", 0);
    bool valid = g_strv_length(ends) == 2;

    if (valid && *ends[0]) {
        valid = g_ascii_string_to_unsigned(ends[0], 10, 0, G_MAXINT64, &range->from, NULL);
    }
    if (valid && *ends[1]) {
        valid = g_ascii_string_to_unsigned(ends[1], 10, 0, G_MAXINT64, &range->to, NULL);
    }
    g_strfreev(ends);
    range->by_command = true;
    return valid;
}

static int trim(const ToolOptions *options)
{
    TrimRange range = { .from = 0, .to = EDIT_NO_LIMIT };
    char *error = NULL;
    bool is_damaged;

    if (options->n_files != 1 || strcmp(options->files[0], "-") == 0 || !options->out) {
        return complain(EXIT_USAGE, g_strdup("trim takes -o OUT and one recording, by name"));
    }
    if (options->commands ? options->from || options->to ||
        !parse_commands(options->commands, &range)
        : !parse_seconds(options->from, &range.from) || !parse_seconds(options->to, &range.to)) {
        return complain(EXIT_USAGE, g_strdup("trim takes --from and --to in seconds, or "
                                             "--commands A:B"));
    }
    if (range.from > range.to) {
        return complain(EXIT_USAGE, g_strdup("the range ends before it begins"));
    }
    if (!recording_trim(options->files[0], &range, options->out, &error, &is_damaged)) {
        return complain(is_damaged ? EXIT_DAMAGED : EXIT_USAGE, error);
    }
    return EXIT_GOOD;
}

static bool parse_options(ToolOptions *options, int *argc, char ***argv, char **error)
{
    const GOptionEntry entries[] = {
        { "json", 0, 0, G_OPTION_ARG_NONE, &options->json, "one JSON object a recording", NULL },
        { "from", 0, 0, G_OPTION_ARG_STRING, &options->from, "trim: begin there", "SECONDS" },
        { "to", 0, 0, G_OPTION_ARG_STRING, &options->to, "trim: end there", "SECONDS" },
        { "commands", 0, 0, G_OPTION_ARG_STRING, &options->commands, "trim: these", "A:B" },
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options->out, "trim: write this", "OUT" },
        { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->files, NULL, NULL },
        { NULL, 0, 0, 0, NULL, NULL, NULL }
    };
    GOptionContext *context = g_option_context_new(NULL);
    GError *parse_error = NULL;

    g_option_context_set_help_enabled(context, false);
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, &parse_error)) {
        *error = g_strdup(parse_error->message);
        g_error_free(parse_error);
    }
    g_option_context_free(context);
    options->n_files = options->files ? g_strv_length(options->files) : 0;
    return *error == NULL;
}

int main(int argc, char **argv)
{
    static const char *const commands[] = { "info", "verify", "trim", NULL };
    ToolOptions options = { 0, };
    const char *command = argc > 1 ? argv[1] : "";
    char *error = NULL;
    int status;

    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) {
        fputs(usage, stdout);
        return EXIT_GOOD;
    }
    if (!g_strv_contains(commands, command)) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    argv[1] = argv[0];
    argc--;
    argv++;
    if (!parse_options(&options, &argc, &argv, &error)) {
        return complain(EXIT_USAGE, error);
    }
    status = strcmp(command, "trim") == 0 ? trim(&options) : describe_all(command, &options);
    g_free(options.from);
    g_free(options.to);
    g_free(options.commands);
    g_free(options.out);
    g_strfreev(options.files);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        return complain(EXIT_USAGE, g_strdup_printf("standard output: %s", g_strerror(errno)));
    }
    return status;
}
