/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef EVENT_READER_H_
#define EVENT_READER_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording.h"

/*
 * A recording's events as the library's reader is to be given them: checked,
 * mended where it would lose count of surfaces, without those it passes over.
 *
 * Used by one thread at a time.
 */
typedef struct EventReader EventReader;

typedef struct ReadyEvent {
    RecordingEvent event;
    const uint8_t *bytes;       /* for the library; good until the next event_reader_next */
    size_t size;
    bool is_added;              /* a command that is not in the recording */
    unsigned int skipped;       /* commands before it that are not worth giving to the library */
} ReadyEvent;

typedef void (*EventReaderFunc)(void *opaque, const RecordingEvent *event);

/*
 * Does not take the input over. Each, unless it is NULL, is called with every
 * event when it is read, also with those that are not given.
 */
EventReader *event_reader_new(RecordingInput *input, EventReaderFunc each, void *opaque);
void event_reader_free(EventReader *reader);

/* False at the end and at a fault; then only ready->skipped is set. */
bool event_reader_next(EventReader *reader, ReadyEvent *ready);

/* As recording_error. */
const char *event_reader_error(const EventReader *reader, uint64_t *offset);

#endif /* EVENT_READER_H_ */
