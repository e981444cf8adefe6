/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording-output.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <lzma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define BUFFER_SIZE (256 * 1024)
#define XZ_PRESET 6
#define GZIP_WINDOW (15 + 16)
#define GZIP_MEMORY 8

typedef enum {
    PACKING_NONE,
    PACKING_XZ,
    PACKING_GZIP,
} Packing;

struct RecordingOutput {
    char *path;
    char *part;                 /* its name until it is complete, NULL for what is no file: it keeps its own */
    int fd;
    int error;                  /* errno of the first fault */
    Packing packing;
    lzma_stream xz;
    z_stream gzip;
    uint8_t packed[BUFFER_SIZE];
};

/* For the signal handler: what to remove, NULL when there is nothing. */
static char *volatile part_to_remove;

static void remove_part(int signal_number)
{
    if (part_to_remove) {
        unlink(part_to_remove);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void guard_part(char *part)
{
    part_to_remove = part;
    signal(SIGINT, part ? remove_part : SIG_DFL);
    signal(SIGTERM, part ? remove_part : SIG_DFL);
    signal(SIGHUP, part ? remove_part : SIG_DFL);
}

/* Returns its descriptor, or -1 with errno. No signal comes between the file and its guard. */
static int create_part(char *part)
{
    sigset_t guarded, before;
    int fd, error;

    sigemptyset(&guarded);
    sigaddset(&guarded, SIGINT);
    sigaddset(&guarded, SIGTERM);
    sigaddset(&guarded, SIGHUP);
    sigprocmask(SIG_BLOCK, &guarded, &before);
    fd = mkostemp(part, O_CLOEXEC);
    error = errno;
    if (fd >= 0) {
        guard_part(part);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return fd;
}

static void fail(RecordingOutput *output, int error)
{
    if (!output->error) {
        output->error = error ? error : EIO;
    }
}

static bool start_packing(RecordingOutput *output)
{
    if (g_str_has_suffix(output->path, ".xz")) {
        output->packing = PACKING_XZ;
        return lzma_easy_encoder(&output->xz, XZ_PRESET, LZMA_CHECK_CRC64) == LZMA_OK;
    }
    if (g_str_has_suffix(output->path, ".gz")) {
        output->packing = PACKING_GZIP;
        return deflateInit2(&output->gzip, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
                            GZIP_MEMORY, Z_DEFAULT_STRATEGY) == Z_OK;
    }
    return true;
}

/* A rename would put a file in the place of a device or a pipe. */
static bool is_no_file(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode);
}

RecordingOutput *recording_output_open(const char *path)
{
    RecordingOutput *output = g_new0(RecordingOutput, 1);
    mode_t mask = umask(0);

    umask(mask);
    output->path = g_strdup(path);
    if (is_no_file(path)) {
        output->fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        output->part = g_strdup_printf("%s.XXXXXX", path);
        output->fd = create_part(output->part);
    }
    if (output->fd < 0) {
        int error = errno;

        g_free(output->path);
        g_free(output->part);
        g_free(output);
        errno = error;
        return NULL;
    }
    if (output->part) {
        fchmod(output->fd, 0666 & ~mask);
    }
    if (!start_packing(output)) {
        fail(output, ENOMEM);
    }
    return output;
}

static void write_fd(RecordingOutput *output, const uint8_t *data, size_t size)
{
    while (size > 0 && !output->error) {
        ssize_t n = write(output->fd, data, size);

        if (n >= 0) {
            data += n;
            size -= n;
        } else if (errno != EINTR) {
            fail(output, errno);
        }
    }
}

static void write_xz(RecordingOutput *output, const uint8_t *data, size_t size, lzma_action action)
{
    lzma_ret ret;

    output->xz.next_in = data;
    output->xz.avail_in = size;
    do {
        output->xz.next_out = output->packed;
        output->xz.avail_out = BUFFER_SIZE;
        ret = lzma_code(&output->xz, action);
        write_fd(output, output->packed, BUFFER_SIZE - output->xz.avail_out);
        if (ret != LZMA_OK && ret != LZMA_STREAM_END) {
            fail(output, ret == LZMA_MEM_ERROR ? ENOMEM : EIO);
        }
    } while (!output->error && ret == LZMA_OK &&
             (action == LZMA_FINISH || output->xz.avail_in > 0));
}

static void write_gzip(RecordingOutput *output, const uint8_t *data, size_t size, int flush)
{
    int ret;

    output->gzip.next_in = (uint8_t *) data;
    output->gzip.avail_in = size;
    do {
        output->gzip.next_out = output->packed;
        output->gzip.avail_out = BUFFER_SIZE;
        ret = deflate(&output->gzip, flush);
        write_fd(output, output->packed, BUFFER_SIZE - output->gzip.avail_out);
        if (ret == Z_STREAM_ERROR) {
            fail(output, EIO);
        }
    } while (!output->error && (flush == Z_FINISH ? ret != Z_STREAM_END
                                                  : output->gzip.avail_in > 0));
}

static void pack(RecordingOutput *output, const uint8_t *data, size_t size, bool finish)
{
    if (output->error) {
        return;
    }
    switch (output->packing) {
    case PACKING_XZ:
        write_xz(output, data, size, finish ? LZMA_FINISH : LZMA_RUN);
        break;
    case PACKING_GZIP:
        write_gzip(output, data, size, finish ? Z_FINISH : Z_NO_FLUSH);
        break;
    case PACKING_NONE:
        write_fd(output, data, size);
        break;
    }
}

void recording_output_write(RecordingOutput *output, const void *data, size_t size)
{
    pack(output, data, size, false);
}

bool recording_output_failed(const RecordingOutput *output)
{
    return output->error != 0;
}

static void output_free(RecordingOutput *output)
{
    guard_part(NULL);
    if (output->packing == PACKING_XZ) {
        lzma_end(&output->xz);
    } else if (output->packing == PACKING_GZIP) {
        deflateEnd(&output->gzip);
    }
    g_free(output->path);
    g_free(output->part);
    g_free(output);
}

bool recording_output_commit(RecordingOutput *output)
{
    int error;

    pack(output, NULL, 0, true);
    if (close(output->fd) != 0) {
        fail(output, errno);
    }
    if (output->part && !output->error && rename(output->part, output->path) != 0) {
        fail(output, errno);
    }
    if (output->part && output->error) {
        unlink(output->part);
    }
    error = output->error;
    output_free(output);
    errno = error;
    return error == 0;
}

void recording_output_abandon(RecordingOutput *output)
{
    close(output->fd);
    if (output->part) {
        unlink(output->part);
    }
    output_free(output);
}
