/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORDING_INPUT_H_
#define RECORDING_INPUT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The bytes of a recording, unpacked. What packed them (xz, gzip, nothing) is
 * told by the first bytes, never by a name. Reads forward only and holds a
 * fixed amount of memory, however long the recording is.
 */
typedef struct RecordingInput RecordingInput;

/* "-" is standard input. NULL with errno set when the file cannot be opened. */
RecordingInput *recording_input_open(const char *path);

/*
 * Fills up to size bytes. Returns how many, 0 at the end, -1 when the file
 * cannot be read or is not what its first bytes promised; then
 * recording_input_error says why.
 */
ssize_t recording_input_read(RecordingInput *input, void *buf, size_t size);

/* Why the last read failed, NULL if none did. */
const char *recording_input_error(const RecordingInput *input);

/* Whether the file can be opened and read a second time. */
bool recording_input_is_regular(const RecordingInput *input);

void recording_input_free(RecordingInput *input);

#endif /* RECORDING_INPUT_H_ */
