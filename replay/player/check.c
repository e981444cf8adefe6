/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check.h"

#include <errno.h>
#include <stdio.h>

#include "../common/clock.h"
#include "../common/json.h"
#include "recording.h"
#include "recording-timeline.h"

enum {
    EXIT_GOOD = 0,
    EXIT_UNREAD = 1,
    EXIT_DAMAGED = 2,
};

/* NULL, or what is wrong. */
static char *read_all(Recording *recording, JsonBuilder *json)
{
    RecordingTimeline *timeline = recording_timeline_new();
    RecordingEvent event;
    uint64_t events = 0, commands = 0, bytes = 0, offset;
    const char *reason;

    while (recording_next(recording, &event)) {
        recording_timeline_add(timeline, &event);
        events++;
        commands += event.kind == RECORDED_COMMAND;
        bytes = event.end;
        recorded_command_free(event.command);
    }
    recording_timeline_finish(timeline);
    reason = recording_error(recording, &offset);
    if (!reason) {
        json_put_int(json, "events", events);
        json_put_int(json, "commands", commands);
        json_put_int(json, "bytes", bytes);
        json_put_real(json, "seconds", recording_timeline_length(timeline) / (double) NSEC_PER_SEC);
    }
    recording_timeline_free(timeline);
    return reason ? g_strdup_printf("byte %" G_GUINT64_FORMAT ": %s", offset, reason) : NULL;
}

static int check(const char *file)
{
    JsonBuilder *json = json_builder_new();
    Recording *recording = recording_open(file);
    char *error;
    int status = EXIT_GOOD;

    json_builder_begin_object(json);
    json_put_string(json, "file", file);
    error = recording ? read_all(recording, json) : g_strdup(g_strerror(errno));
    json_builder_set_member_name(json, "valid");
    json_builder_add_boolean_value(json, !error);
    if (error) {
        status = recording ? EXIT_DAMAGED : EXIT_UNREAD;
        json_put_string(json, "error", error);
        fprintf(stderr, "spice-player: %s: %s\n", file, error);
    }
    json_builder_end_object(json);
    json_print(json);
    recording_free(recording);
    g_free(error);
    return status;
}

int check_recordings(char **files)
{
    int status = EXIT_GOOD;

    for (char **file = files; *file; file++) {
        int one = check(*file);

        status = MAX(status, one);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "spice-player: standard output: %s\n", g_strerror(errno));
        return EXIT_UNREAD;
    }
    return status;
}
