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
static char *read_all(Recording *recording, GVariantBuilder *found)
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
        json_put(found, "events", g_variant_new_uint64(events));
        json_put(found, "commands", g_variant_new_uint64(commands));
        json_put(found, "bytes", g_variant_new_uint64(bytes));
        json_put(found, "seconds", g_variant_new_double(recording_timeline_length(timeline) / (double) NSEC_PER_SEC));
    }
    recording_timeline_free(timeline);
    return reason ? g_strdup_printf("byte %" G_GUINT64_FORMAT ": %s", offset, reason) : NULL;
}

static int check(const char *file)
{
    GVariantBuilder found;
    Recording *recording = recording_open(file);
    char *error = recording ? NULL : g_strdup(g_strerror(errno));
    int status = EXIT_GOOD;

    g_variant_builder_init(&found, G_VARIANT_TYPE_VARDICT);
    json_put(&found, "file", json_text(file));
    error = recording ? read_all(recording, &found) : error;
    json_put(&found, "valid", g_variant_new_boolean(!error));
    if (error) {
        status = recording ? EXIT_DAMAGED : EXIT_UNREAD;
        json_put(&found, "error", json_text(error));
        fprintf(stderr, "spice-player: %s: %s\n", file, error);
    }
    json_print(g_variant_builder_end(&found));
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
