/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORDING_FACTS_H_
#define RECORDING_FACTS_H_

#include <stdint.h>

#include "recording.h"
#include "recording-timeline.h"

/* What a recording holds, counted. */

#define FACTS_DRAW_TYPES 15
#define FACTS_CURSOR_TYPES 4
#define FACTS_IMAGE_TYPES 256
#define FACTS_BITMAP_FORMATS 11

typedef struct FactsPrimary {
    uint64_t event;
    uint64_t due;               /* nanoseconds since the first event */
    RecordingSurface surface;
} FactsPrimary;

typedef struct RecordingFacts {
    uint64_t events, commands, bytes, packed_bytes;
    uint64_t length;            /* nanoseconds */
    uint64_t draw[FACTS_DRAW_TYPES];
    uint64_t cursor[FACTS_CURSOR_TYPES];
    uint64_t surface_create, surface_destroy;
    uint64_t update, message_command;
    uint64_t message[RECORDING_MESSAGE_COUNT];
    uint64_t image[FACTS_IMAGE_TYPES];
    uint64_t bitmap[FACTS_BITMAP_FORMATS];
    uint64_t draws_on_primary;
    unsigned int surfaces_live_max;
    GArray *primaries;          /* of FactsPrimary */
} RecordingFacts;

typedef enum {
    FACTS_GOOD,
    FACTS_DAMAGED,
    FACTS_UNREADABLE,
} FactsStatus;

/* Reads all of a recording. What was read before a fault is counted; *error is one line. */
FactsStatus recording_facts_read(RecordingFacts *facts, const char *file, char **error);

void recording_facts_clear(RecordingFacts *facts);

/* Calls func with the name and the number of each kind there is. */
typedef void (*FactsFunc)(const char *name, uint64_t count, void *opaque);
void recording_facts_commands(const RecordingFacts *facts, FactsFunc func, void *opaque);
void recording_facts_messages(const RecordingFacts *facts, FactsFunc func, void *opaque);
void recording_facts_images(const RecordingFacts *facts, FactsFunc func, void *opaque);

#endif /* RECORDING_FACTS_H_ */
