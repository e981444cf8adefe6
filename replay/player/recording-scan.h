/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The tokens a recording is made of: words, numbers, and counted blocks of
 * bytes. Strict: one space between tokens, one newline after a line, numbers as
 * printf writes them, nothing else.
 *
 * The first fault stays: after it every function does nothing and returns 0 or
 * false, so that a grammar can be written as a plain list of calls. A caller
 * asks scan_failed() only before it loops or branches on what it has read.
 */
typedef struct RecordingScan RecordingScan;

/* The largest block of bytes a recording may hold. An 8K picture has 127 MiB. */
#define SCAN_BLOCK_MAX (512u * 1024 * 1024)

/* Takes the file descriptor over, to be read from where it stands. */
RecordingScan *scan_new(int fd);
void scan_rewind(RecordingScan *scan);
void scan_free(RecordingScan *scan);

bool scan_failed(const RecordingScan *scan);
const char *scan_error(const RecordingScan *scan, uint64_t *offset);

/* Where the next byte stands in the recording. */
uint64_t scan_offset(const RecordingScan *scan);

/* Notes a fault where that begins which was read last: lines, or a block. Returns false, to be
 * returned in turn. */
bool scan_fail(RecordingScan *scan, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* The next byte, -1 at the end and after a fault. */
int scan_peek(RecordingScan *scan);

/* True when the recording ends here. */
bool scan_at_end(RecordingScan *scan);

/*
 * As scanf, but strict: text must be there to the byte, and a number must fit
 * its type. Conversions: d and u, also %*d, of the sizes hh, h, int and 64 bits;
 * fields may be unaligned. In a line "NAME NUMBER" a fault in the number is
 * reported under the name.
 */
bool scan_lines(RecordingScan *scan, const char *format, ...) G_GNUC_SCANF(2, 3);

/* The head of a counted block, "binary PACKED NAME SIZE:". Returns the size, at most max. */
uint64_t scan_block_head(RecordingScan *scan, const char *name, uint64_t max, bool *is_packed);

/* Its bytes, unpacked, and a newline. */
void scan_block_bytes(RecordingScan *scan, uint8_t *bytes, uint64_t size, bool is_packed);
