/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording-scan.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define WINDOW_SIZE (64 * 1024)

#define fail_at(scan, offset, ...) ((scan)->start = (offset), scan_fail(scan, __VA_ARGS__))

struct RecordingScan {
    int fd;
    uint8_t window[WINDOW_SIZE];
    size_t pos, len;                /* window[pos..len) is not used yet */
    uint64_t window_offset;         /* of window[0] in the recording */
    uint64_t start;                 /* of what was read last */
    char *error;
    uint64_t error_offset;
};

RecordingScan *scan_new(int fd)
{
    RecordingScan *scan = g_new0(RecordingScan, 1);

    scan->fd = fd;
    return scan;
}

void scan_rewind(RecordingScan *scan)
{
    lseek(scan->fd, 0, SEEK_SET);
    scan->pos = scan->len = 0;
    scan->window_offset = 0;
}

void scan_free(RecordingScan *scan)
{
    close(scan->fd);
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

uint64_t scan_offset(const RecordingScan *scan)
{
    return scan->window_offset + scan->pos;
}

bool scan_fail(RecordingScan *scan, const char *format, ...)
{
    va_list args;

    if (!scan->error) {
        va_start(args, format);
        scan->error = g_strdup_vprintf(format, args);
        va_end(args);
        scan->error_offset = scan->start;
    }
    return false;
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
    do {
        n = read(scan->fd, scan->window, WINDOW_SIZE);
    } while (n < 0 && errno == EINTR);
    scan->window_offset += scan->len;
    scan->pos = scan->len = 0;
    if (n < 0) {
        return fail_at(scan, scan->window_offset, "%s", g_strerror(errno));
    }
    scan->len = n;
    return n > 0;
}

int scan_peek(RecordingScan *scan)
{
    return have_byte(scan) ? scan->window[scan->pos] : -1;
}

bool scan_at_end(RecordingScan *scan)
{
    return !have_byte(scan);
}

static bool fail_truncated(RecordingScan *scan)
{
    return fail_at(scan, scan_offset(scan), "the recording is cut short here");
}

/* Expects @byte, which is part of the text that begins at @word. If it is another one, the error
 * message quotes @word, or says that the line's end is missing. */
static bool expect(RecordingScan *scan, char byte, uint64_t start, const char *word)
{
    if (!have_byte(scan)) {
        return fail_truncated(scan);
    }
    if (scan->window[scan->pos] != (uint8_t) byte) {
        return byte == '\n' ? fail_at(scan, scan_offset(scan), "expected the line's end")
                            : fail_at(scan, start, "expected \"%.*s\"", (int) strcspn(word, "%\n"), word);
    }
    scan->pos++;
    return true;
}

/* Digits as printf writes them. */
static bool digits(RecordingScan *scan, uint64_t start, const char *name, int name_length, uint64_t max, uint64_t *value)
{
    unsigned int count = 0;

    *value = 0;
    while (have_byte(scan) && g_ascii_isdigit(scan->window[scan->pos])) {
        unsigned int digit = scan->window[scan->pos] - '0';

        if (*value > (max - MIN(digit, max)) / 10) {
            return fail_at(scan, start, "%.*s: the number is too large", name_length, name);
        }
        if (++count > 1 && *value == 0) {
            return fail_at(scan, start, "%.*s: the number starts with 0", name_length, name);
        }
        *value = *value * 10 + digit;
        scan->pos++;
    }
    if (count == 0) {
        return scan->error || scan->pos < scan->len
            ? fail_at(scan, start, "%.*s: expected a number", name_length, name)
            : fail_truncated(scan);
    }
    return true;
}

/* A number of so many bytes, stored where it may be unaligned; to is NULL if it is not wanted. */
static bool number(RecordingScan *scan, const char *name, int name_length, bool is_signed, unsigned int size, void *to)
{
    uint64_t start = scan_offset(scan);
    uint64_t max = UINT64_MAX >> (64 - 8 * size + is_signed);
    bool negative = is_signed && have_byte(scan) && scan->window[scan->pos] == '-';
    uint64_t value;

    if (negative) {
        scan->pos++;
    }
    if (!digits(scan, start, name, name_length, max + negative, &value)) {
        return false;
    }
    if (negative && value == 0) {
        return fail_at(scan, start, "%.*s: minus zero", name_length, name);
    }
    if (to) {
        value = negative ? -value : value;
        memcpy(to, (uint8_t *) &value + (G_BYTE_ORDER == G_BIG_ENDIAN ? sizeof(value) - size : 0), size);
    }
    return true;
}

bool scan_lines(RecordingScan *scan, const char *format, ...)
{
    uint64_t start = scan->start = scan_offset(scan);
    const char *word = format, *p = format;
    bool good = !scan->error;
    va_list args;

    va_start(args, format);
    while (good && *p) {
        unsigned int size = sizeof(int);
        bool is_wanted = true;

        if (*p != '%') {
            good = expect(scan, *p, start, word);
            if (*p++ == '\n') {
                word = p;
                start = scan_offset(scan);
            }
            continue;
        }
        for (p++; *p != 'd' && *p != 'u'; p++) {
            is_wanted &= *p != '*';
            size = *p == 'h' ? size / 2 : *p == 'l' ? sizeof(uint64_t) : size;
        }
        good = number(scan, word, strcspn(word, " %"), *p == 'd', size, is_wanted ? va_arg(args, void *) : NULL);
        p++;
    }
    va_end(args);
    return good;
}

uint64_t scan_block_head(RecordingScan *scan, const char *name, uint64_t max, bool *is_packed)
{
    uint64_t start = scan_offset(scan);
    uint8_t packed = 0;
    uint64_t size = 0;

    scan_lines(scan, "binary %hhu ", &packed);
    for (const char *p = name; *p && expect(scan, *p, scan_offset(scan), name); p++) {
    }
    if (!scan_lines(scan, " %" G_GUINT64_FORMAT ":", &size)) {
        return 0;
    }
    scan->start = start;
    if (packed > 1) {
        scan_fail(scan, "%s: packed in a way that is not known", name);
    } else if (size > max) {
        scan_fail(scan, "%s: %" G_GUINT64_FORMAT " bytes are over %" G_GUINT64_FORMAT, name, size, max);
    }
    *is_packed = packed;
    return scan->error ? 0 : size;
}

static void read_plain(RecordingScan *scan, uint8_t *bytes, uint64_t size)
{
    while (size > 0) {
        size_t n;

        if (!have_byte(scan)) {
            fail_truncated(scan);
            return;
        }
        n = MIN(size, scan->len - scan->pos);
        memcpy(bytes, scan->window + scan->pos, n);
        bytes += n;
        scan->pos += n;
        size -= n;
    }
}

static void read_zlib(RecordingScan *scan, uint8_t *bytes, uint64_t size)
{
    z_stream zlib = { .next_out = bytes, .avail_out = size };
    uint64_t start, packed = 0;
    int ret = Z_OK;

    scan_lines(scan, "%" G_GUINT64_FORMAT ":", &packed);
    start = scan_offset(scan);
    if (scan->error) {
        return;
    }
    if (inflateInit(&zlib) != Z_OK) {
        fail_at(scan, start, "cannot start the zlib decoder");
        return;
    }
    while (ret == Z_OK && packed > 0 && have_byte(scan)) {
        size_t n = MIN(packed, scan->len - scan->pos);

        zlib.next_in = scan->window + scan->pos;
        zlib.avail_in = n;
        ret = inflate(&zlib, Z_NO_FLUSH);
        n -= zlib.avail_in;
        scan->pos += n;
        packed -= n;
    }
    if (ret == Z_OK && packed > 0) {
        fail_truncated(scan);
    } else if (ret != Z_STREAM_END || packed > 0 || zlib.avail_out > 0) {
        fail_at(scan, start, "the packed block does not give the %" G_GUINT64_FORMAT " bytes it promises", size);
    }
    inflateEnd(&zlib);
}

void scan_block_bytes(RecordingScan *scan, uint8_t *bytes, uint64_t size, bool is_packed)
{
    uint64_t start = scan->start; /* of its head */

    if (is_packed) {
        read_zlib(scan, bytes, size);
    } else {
        read_plain(scan, bytes, size);
    }
    scan_lines(scan, "\n");
    scan->start = start;
}
