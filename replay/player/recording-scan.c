/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording-scan.h"

#include <string.h>
#include <zlib.h>

#define WINDOW_SIZE (64 * 1024)
#define NUMBER_DIGITS_MAX 20        /* of 2^64 - 1 */

struct RecordingScan {
    RecordingInput *input;
    uint8_t window[WINDOW_SIZE];
    size_t pos, len;                /* window[pos..len) is not used yet */
    uint64_t window_offset;         /* of window[0] in the recording */
    GByteArray *copy;
    size_t copied;                  /* window[..copied) is in the copy already */
    char *error;
    uint64_t error_offset;
};

RecordingScan *scan_new(RecordingInput *input)
{
    RecordingScan *scan = g_new0(RecordingScan, 1);

    scan->input = input;
    return scan;
}

void scan_free(RecordingScan *scan)
{
    g_free(scan->error);
    g_free(scan);
}

bool scan_failed(const RecordingScan *scan)
{
    return scan->error != NULL;
}

const char *scan_error(const RecordingScan *scan, uint64_t *offset)
{
    *offset = scan->error_offset;
    return scan->error;
}

uint64_t scan_offset(RecordingScan *scan)
{
    return scan->window_offset + scan->pos;
}

bool scan_fail_at(RecordingScan *scan, uint64_t offset, const char *format, ...)
{
    va_list args;

    if (scan->error) {
        return false;
    }
    va_start(args, format);
    scan->error = g_strdup_vprintf(format, args);
    va_end(args);
    scan->error_offset = offset;
    return false;
}

static void copy_used(RecordingScan *scan)
{
    if (scan->copy) {
        g_byte_array_append(scan->copy, scan->window + scan->copied, scan->pos - scan->copied);
    }
    scan->copied = scan->pos;
}

void scan_copy_to(RecordingScan *scan, GByteArray *copy)
{
    copy_used(scan);
    scan->copy = copy;
}

/* Makes at least one byte available. False at the end and after a fault. */
static bool have_byte(RecordingScan *scan)
{
    ssize_t n;

    if (scan->error) {
        return false;
    }
    if (scan->pos < scan->len) {
        return true;
    }
    copy_used(scan);
    n = recording_input_read(scan->input, scan->window, WINDOW_SIZE);
    scan->window_offset += scan->len;
    scan->pos = scan->len = scan->copied = 0;
    if (n < 0) {
        return scan_fail_at(scan, scan->window_offset, "%s",
                            recording_input_error(scan->input));
    }
    scan->len = n;
    return n > 0;
}

bool scan_at_end(RecordingScan *scan)
{
    return !have_byte(scan);
}

static bool fail_truncated(RecordingScan *scan)
{
    return scan_fail_at(scan, scan_offset(scan), "the recording is cut short here");
}

static bool fail_expected(RecordingScan *scan, uint64_t offset, const char *what)
{
    return scan_fail_at(scan, offset, "expected \"%.*s\"",
                        (int) strcspn(what, "\n"), what);
}

bool scan_text(RecordingScan *scan, const char *text)
{
    uint64_t start = scan_offset(scan);

    for (const char *p = text; *p; p++) {
        if (!have_byte(scan)) {
            return fail_truncated(scan);
        }
        if (scan->window[scan->pos] != (uint8_t) *p) {
            return *p == '\n' ? scan_fail_at(scan, scan_offset(scan), "expected the line's end")
                              : fail_expected(scan, start, text);
        }
        scan->pos++;
    }
    return true;
}

/* Digits as printf writes them. False when there are none, too many, or a zero too much. */
static bool scan_digits(RecordingScan *scan, uint64_t start, const char *what, uint64_t *value)
{
    unsigned int count = 0;
    bool first_is_zero = false;

    *value = 0;
    while (have_byte(scan) && g_ascii_isdigit(scan->window[scan->pos])) {
        unsigned int digit = scan->window[scan->pos] - '0';

        if (++count > NUMBER_DIGITS_MAX || *value > (UINT64_MAX - digit) / 10) {
            return scan_fail_at(scan, start, "%s: the number is too large", what);
        }
        first_is_zero |= count == 1 && digit == 0;
        *value = *value * 10 + digit;
        scan->pos++;
    }
    if (count == 0) {
        return scan->error || scan->pos < scan->len
            ? scan_fail_at(scan, start, "%s: expected a number", what)
            : fail_truncated(scan);
    }
    if (first_is_zero && count > 1) {
        return scan_fail_at(scan, start, "%s: the number starts with 0", what);
    }
    return true;
}

uint64_t scan_unsigned(RecordingScan *scan, const char *what, uint64_t max)
{
    uint64_t start = scan_offset(scan);
    uint64_t value;

    if (!scan_digits(scan, start, what, &value)) {
        return 0;
    }
    if (value > max) {
        scan_fail_at(scan, start, "%s: %" G_GUINT64_FORMAT " is over %" G_GUINT64_FORMAT,
                     what, value, max);
        return 0;
    }
    return value;
}

int64_t scan_number(RecordingScan *scan, const char *what, int64_t min, int64_t max)
{
    uint64_t start = scan_offset(scan);
    bool negative = have_byte(scan) && scan->window[scan->pos] == '-';
    uint64_t digits;
    int64_t value;

    if (negative) {
        scan->pos++;
    }
    if (!scan_digits(scan, start, what, &digits)) {
        return 0;
    }
    if (digits > INT64_MAX || (negative && digits == 0)) {
        scan_fail_at(scan, start, "%s: not a number this field can hold", what);
        return 0;
    }
    value = negative ? -(int64_t) digits : (int64_t) digits;
    if (value < min || value > max) {
        scan_fail_at(scan, start, "%s: %" G_GINT64_FORMAT " is not within %" G_GINT64_FORMAT
                     " to %" G_GINT64_FORMAT, what, value, min, max);
        return 0;
    }
    return value;
}

int64_t scan_field(RecordingScan *scan, const char *name, int64_t min, int64_t max)
{
    int64_t value;

    scan_text(scan, name);
    scan_text(scan, " ");
    value = scan_number(scan, name, min, max);
    scan_text(scan, "\n");
    return value;
}

uint64_t scan_unsigned_field(RecordingScan *scan, const char *name, uint64_t max)
{
    uint64_t value;

    scan_text(scan, name);
    scan_text(scan, " ");
    value = scan_unsigned(scan, name, max);
    scan_text(scan, "\n");
    return value;
}

static void keep_bytes(GByteArray *keep, const uint8_t *bytes, size_t size)
{
    if (keep && keep->len < SCAN_KEEP_MAX) {
        g_byte_array_append(keep, bytes, MIN(size, SCAN_KEEP_MAX - keep->len));
    }
}

static void read_plain(RecordingScan *scan, uint64_t size, GByteArray *keep)
{
    while (size > 0) {
        size_t n;

        if (!have_byte(scan)) {
            fail_truncated(scan);
            return;
        }
        n = MIN(size, scan->len - scan->pos);
        keep_bytes(keep, scan->window + scan->pos, n);
        scan->pos += n;
        size -= n;
    }
}

/* Unpacks what the window holds of the block. Returns what inflate says. */
static int inflate_window(RecordingScan *scan, z_stream *zlib, uint64_t *packed, uint64_t limit,
                          GByteArray *keep)
{
    uint8_t out[WINDOW_SIZE];
    size_t n = MIN(*packed, scan->len - scan->pos);
    int ret;

    zlib->next_in = scan->window + scan->pos;
    zlib->avail_in = n;
    do {
        zlib->next_out = out;
        zlib->avail_out = sizeof(out);
        ret = inflate(zlib, Z_NO_FLUSH);
        keep_bytes(keep, out, sizeof(out) - zlib->avail_out);
    } while (ret == Z_OK && zlib->avail_out == 0 && zlib->total_out <= limit);
    n -= zlib->avail_in;
    scan->pos += n;
    *packed -= n;
    return ret;
}

static void read_zlib(RecordingScan *scan, uint64_t size, GByteArray *keep)
{
    uint64_t packed = scan_unsigned(scan, "packed size", SCAN_BLOCK_MAX);
    uint64_t start;
    z_stream zlib = { 0, };
    int ret = Z_OK;

    scan_text(scan, ":");
    start = scan_offset(scan);
    if (scan_failed(scan)) {
        return;
    }
    if (inflateInit(&zlib) != Z_OK) {
        scan_fail_at(scan, start, "cannot start the zlib decoder");
        return;
    }
    while (ret == Z_OK && packed > 0 && zlib.total_out <= size) {
        if (!have_byte(scan)) {
            fail_truncated(scan);
            break;
        }
        ret = inflate_window(scan, &zlib, &packed, size, keep);
    }
    if (ret != Z_STREAM_END || packed > 0 || zlib.total_out != size) {
        scan_fail_at(scan, start, "the packed block does not give the %" G_GUINT64_FORMAT
                     " bytes it promises", size);
    }
    inflateEnd(&zlib);
}

uint64_t scan_block(RecordingScan *scan, const char *name, uint64_t min, uint64_t max,
                    GByteArray *keep)
{
    uint64_t start = scan_offset(scan);
    int64_t is_packed;
    uint64_t size;

    scan_text(scan, "binary ");
    is_packed = scan_number(scan, "packing", 0, 1);
    scan_text(scan, " ");
    scan_text(scan, name);
    scan_text(scan, " ");
    size = scan_unsigned(scan, name, SCAN_BLOCK_MAX);
    scan_text(scan, ":");
    if (scan_failed(scan)) {
        return 0;
    }
    if (size < min || size > max) {
        scan_fail_at(scan, start, "%s holds %" G_GUINT64_FORMAT " bytes, not %s%" G_GUINT64_FORMAT,
                     name, size, min == max ? "" : size < min ? "at least " : "at most ",
                     size < min ? min : max);
        return 0;
    }
    if (is_packed) {
        read_zlib(scan, size, keep);
    } else {
        read_plain(scan, size, keep);
    }
    scan_text(scan, "\n");
    return size;
}
