/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORDING_OUTPUT_H_
#define RECORDING_OUTPUT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A new recording on disk, packed as its name says (.xz, .gz, else not). It
 * appears under its name only when it is complete: until then it is a file
 * beside it, which is removed on a fault and on SIGINT, SIGTERM and SIGHUP. One
 * at a time in a process.
 *
 * The first fault stays; writing goes on to do nothing, and committing fails.
 */
typedef struct RecordingOutput RecordingOutput;

RecordingOutput *recording_output_open(const char *path);

void recording_output_write(RecordingOutput *output, const void *data, size_t size);

/* False with errno set when not all of it could be written. Frees the output. */
bool recording_output_commit(RecordingOutput *output);

/* Removes what was written, frees the output. */
void recording_output_abandon(RecordingOutput *output);

/* Nothing more can be written. */
bool recording_output_failed(const RecordingOutput *output);

#endif /* RECORDING_OUTPUT_H_ */
