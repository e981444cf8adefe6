/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORDING_TIMELINE_H_
#define RECORDING_TIMELINE_H_

#include <stdint.h>

#include "recording.h"

/*
 * When each event of a recording is to be played, in nanoseconds since the
 * first. Usually what its timestamp says. But a recording in which events were
 * moved to an earlier place has timestamps that run ahead of their neighbours,
 * and waiting for those would delay all that follows: an event is due no later
 * than any event after it. Takes eight bytes an event.
 */
typedef struct RecordingTimeline RecordingTimeline;

RecordingTimeline *recording_timeline_new(void);
void recording_timeline_free(RecordingTimeline *timeline);

/* Adds an event, in order. */
void recording_timeline_add(RecordingTimeline *timeline, const RecordingEvent *event);

/* After the last. */
void recording_timeline_finish(RecordingTimeline *timeline);

/* Of the event of this number. */
uint64_t recording_timeline_due(const RecordingTimeline *timeline, uint64_t number);

/* Nanoseconds from the first event to the last. */
uint64_t recording_timeline_length(const RecordingTimeline *timeline);

#endif /* RECORDING_TIMELINE_H_ */
