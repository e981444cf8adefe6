/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORDING_SCAN_H_
#define RECORDING_SCAN_H_

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "recording-input.h"

/*
 * The tokens a recording is made of: words, numbers, and counted blocks of
 * bytes. Strict: one space between tokens, one newline after a line, numbers
 * as printf writes them, nothing else. (The library's scanf takes all of this
 * and more, so what passes here reads the same there.)
 *
 * The first fault stays: after it every function does nothing and returns 0 or
 * false, so that a grammar can be written as a plain list of calls. A caller
 * asks scan_failed() only before it loops or branches on what it has read.
 */
typedef struct RecordingScan RecordingScan;

/* The largest block of bytes a recording may hold. An 8K picture has 127 MiB. */
#define SCAN_BLOCK_MAX (512u * 1024 * 1024)

/* What is kept of a block's contents at most. */
#define SCAN_KEEP_MAX (16u * 1024 * 1024)

/* Does not take the input over. */
RecordingScan *scan_new(RecordingInput *input);
void scan_free(RecordingScan *scan);

bool scan_failed(const RecordingScan *scan);
const char *scan_error(const RecordingScan *scan, uint64_t *offset);

/* Where the next byte stands in the unpacked recording. */
uint64_t scan_offset(RecordingScan *scan);

/* Notes a fault at this offset. Returns false, to be returned in turn. */
bool scan_fail_at(RecordingScan *scan, uint64_t offset, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* True when the recording ends here. */
bool scan_at_end(RecordingScan *scan);

/* Exactly this text. */
bool scan_text(RecordingScan *scan, const char *text);

/* A decimal number within the range, both ends included. */
int64_t scan_number(RecordingScan *scan, const char *what, int64_t min, int64_t max);
uint64_t scan_unsigned(RecordingScan *scan, const char *what, uint64_t max);

/* A whole line: name, space, number. */
int64_t scan_field(RecordingScan *scan, const char *name, int64_t min, int64_t max);
uint64_t scan_unsigned_field(RecordingScan *scan, const char *name, uint64_t max);

/*
 * A counted block, "binary PACKED NAME SIZE:bytes" and a newline; packed ones
 * hold zlib data that must give SIZE bytes. The block's size must be within
 * the range. Bytes are appended to keep, as long as it holds less than
 * SCAN_KEEP_MAX, unless that is NULL.
 */
uint64_t scan_block(RecordingScan *scan, const char *name, uint64_t min, uint64_t max,
                    GByteArray *keep);

/* Bytes read from here on are also collected in copy, until called with NULL. */
void scan_copy_to(RecordingScan *scan, GByteArray *copy);

#endif /* RECORDING_SCAN_H_ */
