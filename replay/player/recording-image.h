/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORDING_IMAGE_H_
#define RECORDING_IMAGE_H_

#include "recording-private.h"

/* What a command has to know of a picture it uses. */
typedef struct RecordingImage {
    bool present;
    uint32_t type;              /* SPICE_IMAGE_TYPE_* */
    uint32_t width;
    uint32_t height;
} RecordingImage;

typedef struct RecordingRect {
    int32_t top, left, bottom, right;
} RecordingRect;

void recording_point(Recording *recording, int32_t *x, int32_t *y);
void recording_point16(Recording *recording, const char *name);

RecordingRect recording_rect(Recording *recording, const char *name);

/* Notes a fault unless the rectangle lies within width x height. */
void recording_rect_within(Recording *recording, uint64_t offset, const char *name,
                           const RecordingRect *rect, int64_t width, int64_t height);

/*
 * "data_chunks" and its blocks. Their sum must be what the line says and lie
 * in the range. Appended to keep unless that is NULL.
 */
void recording_chunks(Recording *recording, const char *name, uint64_t min, uint64_t max,
                      GByteArray *keep);

/* A picture that must be there. */
RecordingImage recording_image(Recording *recording);

/* A mask: flags, place, and a picture that may be absent. */
void recording_mask(Recording *recording);

void recording_brush(Recording *recording);

#endif /* RECORDING_IMAGE_H_ */
