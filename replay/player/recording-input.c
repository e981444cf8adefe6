/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording-input.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <lzma.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define PACKED_SIZE (64 * 1024)
#define XZ_MEMORY_LIMIT (256 * 1024 * 1024)
#define GZIP_WINDOW (15 + 16)

typedef enum {
    PACKING_UNKNOWN,
    PACKING_NONE,
    PACKING_XZ,
    PACKING_GZIP,
} Packing;

struct RecordingInput {
    int fd;

    Packing packing;
    bool file_ended;
    bool stream_ended;          /* a packed stream is complete at this byte */
    uint8_t packed[PACKED_SIZE];
    size_t pos, len;            /* packed[pos..len) is not used yet */
    lzma_stream xz;
    z_stream gzip;
    const char *error;
};

static ssize_t read_fd(RecordingInput *input, void *buf, size_t size)
{
    ssize_t n;

    do {
        n = read(input->fd, buf, size);
    } while (n < 0 && errno == EINTR);
    return n;
}

RecordingInput *recording_input_open(const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    RecordingInput *input;

    if (fd < 0) {
        return NULL;
    }
    input = g_new0(RecordingInput, 1);
    input->fd = fd;
    return input;
}

static ssize_t fail(RecordingInput *input, const char *reason)
{
    input->error = reason;
    return -1;
}

/* Adds to the packed bytes what one read gives. False on a read error. */
static bool fill(RecordingInput *input)
{
    ssize_t n;

    if (input->pos > 0) {
        memmove(input->packed, input->packed + input->pos, input->len - input->pos);
        input->len -= input->pos;
        input->pos = 0;
    }
    if (input->file_ended || input->len == PACKED_SIZE) {
        return true;
    }
    n = read_fd(input, input->packed + input->len, PACKED_SIZE - input->len);
    if (n < 0) {
        fail(input, g_strerror(errno));
        return false;
    }
    input->file_ended = n == 0;
    input->len += n;
    return true;
}

static void use(RecordingInput *input, size_t n)
{
    input->pos += n;
}

static bool start_xz(RecordingInput *input)
{
    if (lzma_stream_decoder(&input->xz, XZ_MEMORY_LIMIT, LZMA_CONCATENATED) != LZMA_OK) {
        fail(input, "cannot start the xz decoder");
        return false;
    }
    return true;
}

static bool start_gzip(RecordingInput *input)
{
    if (inflateInit2(&input->gzip, GZIP_WINDOW) != Z_OK) {
        fail(input, "cannot start the gzip decoder");
        return false;
    }
    return true;
}

static bool recognise(RecordingInput *input)
{
    static const uint8_t xz_magic[] = { 0xfd, '7', 'z', 'X', 'Z', 0 };
    static const uint8_t gzip_magic[] = { 0x1f, 0x8b };

    while (!input->file_ended && input->len < sizeof(xz_magic)) {
        if (!fill(input)) {
            return false;
        }
    }
    if (input->len >= sizeof(xz_magic) &&
        memcmp(input->packed, xz_magic, sizeof(xz_magic)) == 0) {
        input->packing = PACKING_XZ;
        return start_xz(input);
    }
    if (input->len >= sizeof(gzip_magic) &&
        memcmp(input->packed, gzip_magic, sizeof(gzip_magic)) == 0) {
        input->packing = PACKING_GZIP;
        return start_gzip(input);
    }
    input->packing = PACKING_NONE;
    return true;
}

static ssize_t read_plain(RecordingInput *input, void *buf, size_t size)
{
    size_t n;

    if (input->pos == input->len && !fill(input)) {
        return -1;
    }
    n = MIN(size, input->len - input->pos);
    memcpy(buf, input->packed + input->pos, n);
    use(input, n);
    return n;
}

static ssize_t read_xz(RecordingInput *input, void *buf, size_t size)
{
    input->xz.next_out = buf;
    input->xz.avail_out = size;
    while (!input->stream_ended && input->xz.avail_out == size) {
        lzma_ret ret;

        if (input->pos == input->len && !fill(input)) {
            return -1;
        }
        input->xz.next_in = input->packed + input->pos;
        input->xz.avail_in = input->len - input->pos;
        ret = lzma_code(&input->xz, input->file_ended ? LZMA_FINISH : LZMA_RUN);
        use(input, input->len - input->pos - input->xz.avail_in);
        switch (ret) {
        case LZMA_OK:
            break;
        case LZMA_STREAM_END:
            input->stream_ended = true;
            break;
        case LZMA_BUF_ERROR:
            return fail(input, "the xz file is cut short");
        case LZMA_MEMLIMIT_ERROR:
            return fail(input, "the xz file wants too much memory");
        default:
            return fail(input, "the xz file is damaged");
        }
    }
    return size - input->xz.avail_out;
}

/* A gzip file may be several streams one after the other; they count as one. */
static bool next_gzip_stream(RecordingInput *input)
{
    if (input->pos == input->len && !fill(input)) {
        return false;
    }
    input->stream_ended = input->pos == input->len;
    return input->stream_ended || inflateReset(&input->gzip) == Z_OK;
}

static ssize_t read_gzip(RecordingInput *input, void *buf, size_t size)
{
    input->gzip.next_out = buf;
    input->gzip.avail_out = size;
    while (!input->stream_ended && input->gzip.avail_out == size) {
        int ret;

        if (input->pos == input->len && !fill(input)) {
            return -1;
        }
        input->gzip.next_in = input->packed + input->pos;
        input->gzip.avail_in = input->len - input->pos;
        ret = inflate(&input->gzip, Z_NO_FLUSH);
        use(input, input->len - input->pos - input->gzip.avail_in);
        if (ret == Z_STREAM_END) {
            if (!next_gzip_stream(input)) {
                return -1;
            }
        } else if (ret == Z_BUF_ERROR) {
            return fail(input, "the gzip file is cut short");
        } else if (ret != Z_OK) {
            return fail(input, "the gzip file is damaged");
        }
    }
    return size - input->gzip.avail_out;
}

ssize_t recording_input_read(RecordingInput *input, void *buf, size_t size)
{
    if (input->error) {
        return -1;
    }
    if (input->packing == PACKING_UNKNOWN && !recognise(input)) {
        return -1;
    }
    switch (input->packing) {
    case PACKING_XZ:
        return read_xz(input, buf, size);
    case PACKING_GZIP:
        return read_gzip(input, buf, size);
    default:
        return read_plain(input, buf, size);
    }
}

const char *recording_input_error(const RecordingInput *input)
{
    return input->error;
}

bool recording_input_is_regular(const RecordingInput *input)
{
    struct stat st;

    return input->fd > STDIN_FILENO && fstat(input->fd, &st) == 0 && S_ISREG(st.st_mode);
}

void recording_input_free(RecordingInput *input)
{
    if (!input) {
        return;
    }
    if (input->packing == PACKING_XZ) {
        lzma_end(&input->xz);
    } else if (input->packing == PACKING_GZIP) {
        inflateEnd(&input->gzip);
    }
    if (input->fd > STDIN_FILENO) {
        close(input->fd);
    }
    g_free(input);
}
