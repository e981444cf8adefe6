/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <glib.h>

#include <common/log.h>

#include "red-stream-egress.h"
#include "red-stream-flow.h"
#include "red-stream-trace.h"

/* A line is shorter, but for a write of very many iovecs, which is cut. */
#define LINE_MAX_SIZE 1024

static FILE *open_named_by(const char *variable)
{
    const char *name = getenv(variable);

    if (!name || !*name) {
        return nullptr;
    }
    FILE *file = fopen(name, "ae");
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

/* stdio locks the file, so a line is never torn by another thread's */
static void G_GNUC_PRINTF(2, 3) trace_line(int stream, const char *format, ...)
{
    char line[LINE_MAX_SIZE];
    va_list args;
    const int n = snprintf(line, sizeof(line), "%" PRIi64 " %d ", g_get_monotonic_time(), stream);

    va_start(args, format);
    vsnprintf(line + n, sizeof(line) - n, format, args);
    va_end(args);
    fputs(line, trace_file());
}

int red_stream_trace_new()
{
    static std::atomic<int> last(0);
    const int stream = ++last;

    if (red_stream_trace_enabled()) {
        trace_line(stream, "open\n");
    }
    return stream;
}

void red_stream_trace_channel(int stream, int type, int id)
{
    if (red_stream_trace_enabled()) {
        trace_line(stream, "channel %d %d\n", type, id);
    }
}

void red_stream_trace_write(int stream, const struct iovec *iov, int iovcnt, unsigned flags)
{
    static const char *const names[] = { "-", "m", "s", "sm" };
    char lengths[LINE_MAX_SIZE - 100];
    size_t pos = 0;

    if (!red_stream_trace_enabled()) {
        return;
    }
    lengths[0] = '\0';
    /* a length has at most 20 digits */
    for (int i = 0; i < iovcnt && pos < sizeof(lengths) - 22; ++i) {
        pos += snprintf(lengths + pos, sizeof(lengths) - pos, "%s%zu", i ? "," : "",
                        static_cast<size_t>(iov[i].iov_len));
    }
    trace_line(stream, "write %s %s\n",
               names[flags & (RED_STREAM_MORE | RED_STREAM_MESSAGE_START)], lengths);
}

void red_stream_trace_send(int stream, size_t size, bool more, ssize_t taken)
{
    if (red_stream_trace_enabled()) {
        const int saved_errno = errno;

        trace_line(stream, "send %zu %d %zd\n", size, more,
                   taken < 0 ? static_cast<ssize_t>(-saved_errno) : taken);
        errno = saved_errno;
    }
}

void red_stream_trace_flow(int stream, const RedStreamFlow *flow)
{
    if (red_stream_trace_enabled()) {
        trace_line(stream, "flow %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u %s\n",
                   flow->bytes_in_flight(), flow->limit(), flow->get_rate(), flow->get_delay(),
                   flow->get_interval(), flow->get_phase());
    }
}

void red_stream_trace_wait(int stream)
{
    if (red_stream_trace_enabled()) {
        trace_line(stream, "wait\n");
    }
}

void red_stream_trace_pace(int stream, uint64_t rate)
{
    if (red_stream_trace_enabled()) {
        trace_line(stream, "pace %" PRIu64 "\n", rate);
    }
}

static void write_statistics(int type, int id, const char *mode, bool tls,
                             const RedStreamCounters *counters)
{
    static FILE *const file = open_named_by("SPICE_STREAM_STATS");

    if (!file) {
        return;
    }
    fprintf(file,
            "{\"type\":%d,\"id\":%d,\"mode\":\"%s\",\"tls\":%s,"
            "\"messages\":%" PRIu64 ",\"message_bytes\":%" PRIu64 ","
            "\"records\":%" PRIu64 ",\"record_bytes\":%" PRIu64 ",\"floor_records\":%" PRIu64 ","
            "\"writes\":%" PRIu64 ",\"written_bytes\":%" PRIu64 ",\"setsockopts\":%" PRIu64 ","
            "\"flushes\":%" PRIu64 ",\"eagains\":%" PRIu64 ",\"max_buffered\":%" PRIu64 "}\n",
            type, id, mode, tls ? "true" : "false",
            counters->messages, counters->message_bytes,
            counters->records, counters->record_bytes, counters->floor_records,
            counters->writes, counters->written_bytes, counters->setsockopts,
            counters->flushes, counters->eagains, counters->max_buffered);
    fflush(file);
}

void red_stream_trace_close(int stream, int type, int id, const char *mode, bool tls,
                            const RedStreamCounters *counters)
{
    if (red_stream_trace_enabled()) {
        trace_line(stream, "close\n");
        fflush(trace_file());
    }
    write_statistics(type, id, mode, tls, counters);
}
