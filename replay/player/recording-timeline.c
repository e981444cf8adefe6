/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording-timeline.h"

struct RecordingTimeline {
    GArray *due;                /* of uint64_t; timestamps until it is finished */
};

static uint64_t *due_at(const RecordingTimeline *timeline, uint64_t number)
{
    return &g_array_index(timeline->due, uint64_t, number);
}

RecordingTimeline *recording_timeline_new(void)
{
    RecordingTimeline *timeline = g_new0(RecordingTimeline, 1);

    timeline->due = g_array_new(false, false, sizeof(uint64_t));
    return timeline;
}

void recording_timeline_free(RecordingTimeline *timeline)
{
    if (timeline) {
        g_array_unref(timeline->due);
        g_free(timeline);
    }
}

void recording_timeline_add(RecordingTimeline *timeline, const RecordingEvent *event)
{
    g_array_append_val(timeline->due, event->timestamp);
}

void recording_timeline_finish(RecordingTimeline *timeline)
{
    uint64_t earliest = UINT64_MAX;

    for (uint64_t i = timeline->due->len; i-- > 0;) {
        earliest = MIN(earliest, *due_at(timeline, i));
        *due_at(timeline, i) = earliest;
    }
    for (uint64_t i = 0; i < timeline->due->len; i++) {
        *due_at(timeline, i) -= earliest;
    }
}

uint64_t recording_timeline_due(const RecordingTimeline *timeline, uint64_t number)
{
    return *due_at(timeline, number);
}

uint64_t recording_timeline_length(const RecordingTimeline *timeline)
{
    return timeline->due->len > 0 ? *due_at(timeline, timeline->due->len - 1) : 0;
}
