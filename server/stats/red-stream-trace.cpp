/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <glib.h>

#include <common/log.h>

#include "red-stream-egress.h"
#include "red-stream-flow.h"
#include "red-stream-live.h"
#include "red-stream-trace.h"

/* Not inherited by child processes; where there is no exec() fopen() does not know the flag. */
#ifdef _WIN32
#define APPEND "a"
#else
#define APPEND "ae"
#endif

static FILE *open_named_by(const char *variable)
{
    const char *name = getenv(variable);

    if (!name || !*name) {
        return nullptr;
    }
    FILE *file = fopen(name, APPEND);
    if (!file) {
        spice_warning("%s: can't write %s: %s", variable, name, strerror(errno));
    }
    return file;
}

static FILE *trace_file()
{
    static FILE *const file = open_named_by("SPICE_STREAM_TRACE");

    return file;
}

bool red_stream_trace_enabled()
{
    return trace_file() != nullptr;
}

/*
 * Writes its line when it is destroyed. There may be 100000 messages per second, and printf would
 * take a seventh of the thread's time.
 */
class TraceLine
{
public:
    TraceLine(int stream, const char *what)
    {
        number(g_get_monotonic_time());
        number(stream);
        word(what);
    }
    ~TraceLine()
    {
        text.back() = '\n'; /* instead of the last space */
        /* stdio locks the file, so a line is never torn by another thread's */
        fwrite(text.data(), 1, text.size(), trace_file());
    }

    void number(int64_t value)
    {
        text += std::to_string(value) + ' ';
    }

    void word(const char *what)
    {
        text += what;
        text += ' ';
    }

    /* with commas */
    void lengths(const struct iovec *iov, int iovcnt)
    {
        for (int i = 0; i < iovcnt; ++i) {
            text += std::to_string(iov[i].iov_len) + ',';
        }
        text.back() = ' '; /* instead of the last comma */
    }

private:
    std::string text;
};

int red_stream_trace_new()
{
    static std::atomic<int> last(0);
    const int stream = ++last;

    if (red_stream_trace_enabled()) {
        TraceLine(stream, "open");
    }
    return stream;
}

void red_stream_trace_channel(int stream, int type, int id)
{
    if (red_stream_trace_enabled()) {
        TraceLine line(stream, "channel");

        line.number(type);
        line.number(id);
    }
}

void red_stream_trace_write(int stream, const struct iovec *iov, int iovcnt, unsigned flags)
{
    static const char *const names[] = { "-", "m", "s", "sm" };

    if (red_stream_trace_enabled()) {
        TraceLine line(stream, "write");

        line.word(names[flags & (RED_STREAM_MORE | RED_STREAM_MESSAGE_START)]);
        line.lengths(iov, iovcnt);
    }
}

void red_stream_trace_send(int stream, size_t size, bool more, ssize_t taken)
{
    if (red_stream_trace_enabled()) {
        const int saved_errno = errno;
        {
            TraceLine line(stream, "send");

            line.number(size);
            line.number(more);
            line.number(taken < 0 ? -saved_errno : taken);
        }
        errno = saved_errno;
    }
}

void red_stream_trace_flow(int stream, const RedStreamFlow *flow)
{
    red_stream_live_flow(stream, flow);
    if (red_stream_trace_enabled()) {
        TraceLine line(stream, "flow");

        line.number(flow->bytes_in_flight());
        line.number(flow->limit());
        line.number(flow->get_rate());
        line.number(flow->get_path_delay());
        line.number(flow->get_probe_timeouts());
        line.word(flow->get_phase());
    }
}

void red_stream_trace_wait(int stream)
{
    if (red_stream_trace_enabled()) {
        TraceLine(stream, "wait");
    }
}

void red_stream_trace_refresh(int stream, size_t bytes, bool is_refined)
{
    if (red_stream_trace_enabled()) {
        TraceLine line(stream, "refresh");

        line.number(bytes);
        line.number(is_refined);
    }
}

static void write_statistics(int type, int id, const char *mode, bool tls, const char *socket,
                             const RedStreamCounters *counters)
{
    static FILE *const file = red_stream_live_folder() ? nullptr :
                              open_named_by("SPICE_STREAM_STATS");

    if (!file) {
        return;
    }
    /* one call each, as streams of several threads end at once */
    if (!counters) {
        fprintf(file, "{\"type\":%d,\"id\":%d,\"mode\":\"%s\",\"tls\":%s,\"socket\":\"%s\"}\n", type, id, mode,
                tls ? "true" : "false", socket);
        fflush(file);
        return;
    }
    fprintf(file,
            "{\"type\":%d,\"id\":%d,\"mode\":\"%s\",\"tls\":%s,\"socket\":\"%s\","
            "\"messages\":%" PRIu64 ",\"message_bytes\":%" PRIu64 ","
            "\"records\":%" PRIu64 ",\"record_bytes\":%" PRIu64 ",\"floor_records\":%" PRIu64 ","
            "\"writes\":%" PRIu64 ",\"written_bytes\":%" PRIu64 ",\"setsockopts\":%" PRIu64 ","
            "\"flushes\":%" PRIu64 ",\"eagains\":%" PRIu64 ",\"max_buffered\":%" PRIu64 ","
            "\"probe_timeouts\":%" PRIu64 ",\"refreshes\":%" PRIu64 ",\"refined_bytes\":%" PRIu64 "}\n",
            type, id, mode, tls ? "true" : "false", socket,
            counters->messages, counters->message_bytes,
            counters->records, counters->record_bytes, counters->floor_records,
            counters->writes, counters->written_bytes, counters->setsockopts,
            counters->flushes, counters->eagains, counters->max_buffered, counters->probe_timeouts,
            counters->refreshes, counters->refined_bytes);
    fflush(file);
}

void red_stream_trace_close(int stream, int type, int id, const char *mode, bool tls,
                            const char *socket, const RedStreamCounters *counters)
{
    if (red_stream_trace_enabled()) {
        TraceLine(stream, "close");
        fflush(trace_file());
    }
    write_statistics(type, id, mode, tls, socket, counters);
}
