/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * spice-recording: whether recordings are whole, by the checker that the player has, too. What is in them, and parts of them,
 * is told and made by ./run record info and trim.
 */
#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "../common/json.h"
#include "recording.h"
#include "recording-timeline.h"

#define NSEC_PER_SEC 1e9

enum {
    EXIT_GOOD = 0,
    EXIT_USAGE = 1,
    EXIT_DAMAGED = 2,
};

static const char usage[] =
    "usage: spice-recording FILE...\n"
    "\n"
    "Says of each, as a line of JSON, whether it is a whole recording, and how long. Files may be packed with xz or\n"
    "gzip; - is standard input. A recording that is damaged gives exit status 2, the byte (of the unpacked recording)\n"
    "and the reason.\n"
    "\n"
    "Example: spice-recording session.rec.xz\n";

static void print_quoted(const char *text)
{
    char *quoted = json_quoted(text);

    fputs(quoted, stdout);
    g_free(quoted);
}

/* Reads all of it; the fault, if there is one, is the reader's to tell. */
static void print_facts(Recording *recording)
{
    RecordingTimeline *timeline = recording_timeline_new();
    RecordingEvent event;
    uint64_t events = 0, commands = 0, bytes = 0, offset;

    while (recording_next(recording, &event)) {
        recording_timeline_add(timeline, &event);
        events++;
        commands += event.kind == RECORDED_COMMAND;
        bytes = event.end;
        recorded_command_free(event.command);
    }
    recording_timeline_finish(timeline);
    if (!recording_error(recording, &offset)) {
        printf(",\"valid\":true,\"events\":%" G_GUINT64_FORMAT ",\"commands\":%" G_GUINT64_FORMAT
               ",\"bytes\":%" G_GUINT64_FORMAT ",\"seconds\":%.3f}\n", events, commands, bytes,
               recording_timeline_length(timeline) / NSEC_PER_SEC);
    }
    recording_timeline_free(timeline);
}

static int complain(int status, char *line)
{
    printf(",\"valid\":false,\"error\":");
    print_quoted(line);
    printf("}\n");
    fprintf(stderr, "spice-recording: %s\n", line);
    g_free(line);
    return status;
}

static int check(const char *file)
{
    RecordingInput *input = recording_input_open(file);
    Recording *recording;
    const char *reason;
    uint64_t offset;
    int status = EXIT_GOOD;

    printf("{\"file\":");
    print_quoted(file);
    if (!input) {
        return complain(EXIT_USAGE, g_strdup_printf("%s: %s", file, g_strerror(errno)));
    }
    recording = recording_new(input);
    print_facts(recording);
    reason = recording_error(recording, &offset);
    if (reason) {
        status = complain(EXIT_DAMAGED, g_strdup_printf("%s: byte %" G_GUINT64_FORMAT ": %s", file, offset, reason));
    }
    recording_free(recording);
    recording_input_free(input);
    return status;
}

int main(int argc, char **argv)
{
    int status = EXIT_GOOD;

    if (argc < 2 || argv[1][0] == '-') {
        if (argc == 2 && strcmp(argv[1], "--help") == 0) {
            fputs(usage, stdout);
            return EXIT_GOOD;
        }
        if (argc != 2 || strcmp(argv[1], "-") != 0) {
            fputs(usage, stderr);
            return EXIT_USAGE;
        }
    }
    for (int i = 1; i < argc; i++) {
        int one = check(argv[i]);

        status = MAX(status, one);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "spice-recording: standard output: %s\n", g_strerror(errno));
        return EXIT_USAGE;
    }
    return status;
}
