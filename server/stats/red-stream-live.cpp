/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>
#ifndef _WIN32
#include <sys/mman.h>
#endif

#include <glib.h>

#include <common/log.h>

#include "red-stream-counters.h"
#include "red-stream-live.h"

#ifdef _WIN32

const char *red_stream_live_folder()
{
    return nullptr;
}

void RedStreamLiveFile::open(int, int, const char *, bool, bool)
{
}

void RedStreamLiveFile::close()
{
}

#else

const char *red_stream_live_folder()
{
    static const char *const folder = []() -> const char * {
        const char *name = getenv("SPICE_STREAM_STATS");

        return name && g_file_test(name, G_FILE_TEST_IS_DIR) ? name : nullptr;
    }();

    return folder;
}

static char *file_name(int stream)
{
    return g_strdup_printf("%s/%d-%d", red_stream_live_folder(), static_cast<int>(getpid()),
                           stream);
}

/* Creates a file that did not exist before. Returns -1 with errno. */
static int create_file(const char *name)
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    const int fd = ::open(name, flags, 0644);

    if (fd >= 0 || errno != EEXIST || unlink(name) != 0) {
        return fd;
    }
    return ::open(name, flags, 0644);
}

/* Returns null with errno. */
static RedStreamLive *map_file(const char *name)
{
    const int fd = create_file(name);
    void *memory = MAP_FAILED;

    if (fd < 0) {
        return nullptr;
    }
    /* if the disk is full, a page without a block would raise SIGBUS later */
    const int error = posix_fallocate(fd, 0, sizeof(RedStreamLive));
    if (error == 0) {
        memory = mmap(nullptr, sizeof(RedStreamLive), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    } else {
        errno = error;
    }
    const int saved_errno = errno;
    ::close(fd);
    errno = saved_errno;
    return memory == MAP_FAILED ? nullptr : static_cast<RedStreamLive *>(memory);
}

void RedStreamLiveFile::open(int type, int id, const char *mode, bool tls, bool counts)
{
    static std::atomic<bool> warned(false);

    if (!red_stream_live_folder()) {
        return;
    }
    close();
    char *const name = file_name(stream);
    live = map_file(name);

    if (live) {
        g_strlcpy(live->mode, mode, sizeof(live->mode));
        live->tls = tls;
        live->channel_type = type;
        live->channel_id = id;
        if (!counts) {
            live->messages = live->records = live->writes = RED_STREAM_LIVE_UNKNOWN;
            live->written_bytes = live->pending = RED_STREAM_LIVE_UNKNOWN;
        }
        live->time = g_get_monotonic_time();
        g_strlcpy(live->magic, RED_STREAM_LIVE_MAGIC, sizeof(live->magic));
    } else if (!warned.exchange(true)) {
        spice_warning("SPICE_STREAM_STATS: can't write %s: %s", name, strerror(errno));
    }
    g_free(name);
}

void RedStreamLiveFile::close()
{
    if (live) {
        char *const name = file_name(stream);

        munmap(live, sizeof(RedStreamLive));
        live = nullptr;
        unlink(name);
        g_free(name);
    }
}

#endif

void RedStreamLiveFile::update(const RedStreamCounters *counters, size_t pending)
{
    if (live) {
        live->messages = counters->messages;
        live->records = counters->records;
        live->writes = counters->writes;
        live->written_bytes = counters->written_bytes;
        live->pending = pending;
        live->time = g_get_monotonic_time();
    }
}

void RedStreamLiveFile::flow(const int64_t numbers[4], const char *phase)
{
    if (live) {
        live->in_flight = numbers[0];
        live->limit = numbers[1];
        live->rate = numbers[2];
        live->delay = numbers[3];
        g_strlcpy(live->phase, phase, sizeof(live->phase));
        live->time = g_get_monotonic_time();
    }
}

void RedStreamLiveFile::motion(const int64_t numbers[4])
{
    if (live) {
        live->moves = numbers[0];
        live->moved = numbers[1];
        live->equal = numbers[2];
        live->drawn = numbers[3];
    }
}
