/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <unistd.h>
#ifndef _WIN32
#include <sys/mman.h>
#endif

#include <glib.h>

#include <common/log.h>

#include "red-stream-counters.h"
#include "red-stream-flow.h"
#include "red-stream-live.h"

#ifdef _WIN32

const char *red_stream_live_folder()
{
    return nullptr;
}

void red_stream_live_open(int, int, int, const char *, bool, bool)
{
}

void red_stream_live_update(int, const RedStreamCounters *, size_t)
{
}

void red_stream_live_flow(int, const RedStreamFlow *)
{
}

void red_stream_live_motion(int, uint64_t, uint64_t, uint64_t, uint64_t)
{
}

void red_stream_live_close(int)
{
}

#else

/* Streams begin and end in several threads; a mapping belongs to its stream's thread. */
static std::mutex streams_mutex;
static std::map<int, RedStreamLive *> streams;

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
    const int fd = open(name, flags, 0644);

    if (fd >= 0 || errno != EEXIST || unlink(name) != 0) {
        return fd;
    }
    return open(name, flags, 0644);
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
    close(fd);
    errno = saved_errno;
    return memory == MAP_FAILED ? nullptr : static_cast<RedStreamLive *>(memory);
}

static RedStreamLive *find(int stream)
{
    if (!red_stream_live_folder()) {
        return nullptr;
    }
    std::lock_guard<std::mutex> lock(streams_mutex);
    const auto found = streams.find(stream);

    return found == streams.end() ? nullptr : found->second;
}

void red_stream_live_open(int stream, int type, int id, const char *mode, bool tls, bool counts)
{
    static bool warned = false;

    if (!red_stream_live_folder()) {
        return;
    }
    red_stream_live_close(stream);
    char *const name = file_name(stream);
    RedStreamLive *const live = map_file(name);
    const int error = errno;
    std::lock_guard<std::mutex> lock(streams_mutex);

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
        streams[stream] = live;
    } else if (!warned) {
        warned = true;
        spice_warning("SPICE_STREAM_STATS: can't write %s: %s", name, strerror(error));
    }
    g_free(name);
}

void red_stream_live_update(int stream, const RedStreamCounters *counters, size_t pending)
{
    RedStreamLive *const live = find(stream);

    if (live) {
        live->messages = counters->messages;
        live->records = counters->records;
        live->writes = counters->writes;
        live->written_bytes = counters->written_bytes;
        live->pending = pending;
        live->time = g_get_monotonic_time();
    }
}

void red_stream_live_flow(int stream, const RedStreamFlow *flow)
{
    RedStreamLive *const live = find(stream);

    if (live) {
        live->in_flight = flow->bytes_in_flight();
        live->limit = flow->limit();
        live->rate = flow->get_rate();
        live->delay = flow->get_path_delay();
        g_strlcpy(live->phase, flow->get_phase(), sizeof(live->phase));
        live->time = g_get_monotonic_time();
    }
}

void red_stream_live_motion(int stream, uint64_t moves, uint64_t moved, uint64_t equal,
                            uint64_t drawn)
{
    RedStreamLive *const live = find(stream);

    if (live) {
        live->moves = moves;
        live->moved = moved;
        live->equal = equal;
        live->drawn = drawn;
    }
}

void red_stream_live_close(int stream)
{
    RedStreamLive *const live = find(stream);

    if (live) {
        char *const name = file_name(stream);
        std::lock_guard<std::mutex> lock(streams_mutex);

        streams.erase(stream);
        munmap(live, sizeof(RedStreamLive));
        unlink(name);
        g_free(name);
    }
}

#endif
