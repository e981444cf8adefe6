/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORDING_PRIVATE_H_
#define RECORDING_PRIVATE_H_

#include "recording.h"
#include "recording-scan.h"
#include "recording-surfaces.h"

#define DRAW_USES_MAX 3         /* other surfaces that a draw command may name */

/* What the parts of a draw command have to know of the whole. */
typedef struct RecordingDraw {
    const RecordingSurface *target;
    uint32_t type;                      /* QXL_DRAW_* */
    int64_t uses[DRAW_USES_MAX];        /* numbers of surfaces, -1 for none */
    bool has_self_bitmap;               /* the target's own pixels stand for a missing picture */
    uint32_t self_width, self_height;
} RecordingDraw;

/* Shared by the files that know the grammar; everybody else has recording.h. */
struct Recording {
    RecordingInput *input;
    RecordingScan *scan;
    RecordingSurfaces surfaces;
    bool started;               /* the first line is read */
    uint64_t events;
    RecordingEvent *event;      /* the one being read */
    RecordingDraw draw;         /* if the event is one */
    GByteArray *bytes;          /* of the event, if wanted */
    GByteArray *block;          /* contents that have to be looked into */
};

#endif /* RECORDING_PRIVATE_H_ */
