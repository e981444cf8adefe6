/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording-edit.h"

#include <errno.h>
#include <string.h>

#include "recording.h"
#include "recording-output.h"
#include "recording-timeline.h"

/* A recording being written, and the one being read for it. */
typedef struct Edit {
    RecordingOutput *output;
    const char *out;
    uint32_t counter;

    const char *in;
    RecordingInput *input;
    Recording *recording;

    char **error;
    bool *is_damaged;
} Edit;

static bool begin_output(Edit *edit, const char *out, char **error, bool *is_damaged)
{
    memset(edit, 0, sizeof(*edit));
    edit->out = out;
    edit->error = error;
    edit->is_damaged = is_damaged;
    *is_damaged = false;
    edit->output = recording_output_open(out);
    if (!edit->output) {
        *error = g_strdup_printf("%s: %s", out, g_strerror(errno));
        return false;
    }
    recording_output_write(edit->output, RECORDING_HEADER, strlen(RECORDING_HEADER));
    return true;
}

static bool begin_input(Edit *edit, const char *in)
{
    edit->in = in;
    edit->input = recording_input_open(in);
    if (!edit->input) {
        *edit->error = g_strdup_printf("%s: %s", in, g_strerror(errno));
        return false;
    }
    edit->recording = recording_new(edit->input);
    recording_keep_bytes(edit->recording);
    return true;
}

/* False when the input turned out to be damaged. */
static bool end_input(Edit *edit)
{
    uint64_t offset;
    const char *reason = recording_error(edit->recording, &offset);

    if (reason) {
        *edit->error = g_strdup_printf("%s: byte %" G_GUINT64_FORMAT ": %s", edit->in, offset,
                                       reason);
        *edit->is_damaged = true;
    }
    recording_free(edit->recording);
    recording_input_free(edit->input);
    return !reason;
}

static bool end_output(Edit *edit, bool is_good)
{
    if (!is_good) {
        recording_output_abandon(edit->output);
        return false;
    }
    if (!recording_output_commit(edit->output)) {
        *edit->error = g_strdup_printf("%s: %s", edit->out, g_strerror(errno));
        return false;
    }
    return true;
}

static uint64_t new_value(Edit *edit, const RecordingField *field, uint64_t timestamp)
{
    return field->kind == RECORDING_FIELD_COUNTER ? edit->counter : timestamp;
}

/* Copies the event just read, with its numbers made to fit. */
static void copy_event(Edit *edit, const RecordingEvent *event, uint64_t timestamp)
{
    size_t size, at = 0;
    const uint8_t *bytes = recording_bytes(edit->recording, &size);

    for (unsigned int i = 0; i < event->fields; i++) {
        const RecordingField *field = &event->field[i];
        char digits[24];
        int length = g_snprintf(digits, sizeof(digits), "%" G_GUINT64_FORMAT,
                                new_value(edit, field, timestamp));

        recording_output_write(edit->output, bytes + at, field->offset - at);
        recording_output_write(edit->output, digits, length);
        at = field->offset + field->length;
    }
    recording_output_write(edit->output, bytes + at, size - at);
    edit->counter++;
}

/*
 * The message that ends what commands in flight may still name a destroyed
 * surface has to stay, whatever it is.
 */
static bool ends_flight(const RecordingEvent *event, bool *in_flight)
{
    bool ends = *in_flight && !event->is_command;

    if (!event->is_command) {
        *in_flight = recording_event_leaves_something(event) && !recording_event_creates_primary(event);
    }
    return ends;
}

static RecordingTimeline *read_timeline(Edit *edit, const char *in)
{
    RecordingTimeline *timeline;
    RecordingEvent event;

    if (!begin_input(edit, in)) {
        return NULL;
    }
    timeline = recording_timeline_new();
    while (recording_next(edit->recording, &event)) {
        recording_timeline_add(timeline, &event);
    }
    recording_timeline_finish(timeline);
    if (!end_input(edit)) {
        recording_timeline_free(timeline);
        return NULL;
    }
    return timeline;
}

static void trim_events(Edit *edit, const TrimRange *range, const RecordingTimeline *timeline)
{
    RecordingEvent event;
    uint64_t commands = 0, first = 0, begin = 0;
    bool has_begun = false, in_flight = false;

    while (!recording_output_failed(edit->output) && recording_next(edit->recording, &event)) {
        uint64_t due = recording_timeline_due(timeline, event.number);
        uint64_t position = range->by_command ? commands : due;
        bool ends = ends_flight(&event, &in_flight);

        if (position >= range->to) {
            break;
        }
        if (event.number == 0) {
            first = event.timestamp;
        }
        if (!has_begun && position >= range->from) {
            has_begun = true;
            begin = range->by_command ? due : range->from;
        }
        if (has_begun || ends || recording_event_leaves_something(&event)) {
            copy_event(edit, &event, first + (has_begun ? due - begin : 0));
        }
        commands += event.is_command;
    }
}

static bool trim(Edit *edit, const char *in, const TrimRange *range)
{
    RecordingTimeline *timeline = read_timeline(edit, in);

    if (!timeline) {
        return false;
    }
    if (begin_input(edit, in)) {
        trim_events(edit, range, timeline);
        end_input(edit);
    }
    recording_timeline_free(timeline);
    return *edit->error == NULL;
}

bool recording_trim(const char *in, const TrimRange *range, const char *out, char **error,
                    bool *is_damaged)
{
    Edit edit;

    if (!begin_output(&edit, out, error, is_damaged)) {
        return false;
    }
    return end_output(&edit, trim(&edit, in, range));
}
