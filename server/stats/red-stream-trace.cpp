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

static FILE *stats_file()
{
    static FILE *const file = red_stream_live_folder() ? nullptr :
                              open_named_by("SPICE_STREAM_STATS");

    return file;
}

class RedStreamTrace final: public RedStreamObserver
{
public:
    RedStreamTrace(const char *mode, bool counts);
    ~RedStreamTrace();

    void channel(int type, int id, bool tls) override;
    void closed(const RedStreamCounters *counters) override;
    void wrote(const struct iovec *iov, int iovcnt, unsigned flags) override;
    void sent(size_t size, bool more, ssize_t taken) override;
    void flushed(const RedStreamCounters *counters, size_t pending) override;
    void event(const char *what, std::initializer_list<int64_t> numbers, const char *word) override;

private:
    void trace(const char *what, std::initializer_list<int64_t> numbers = { },
               const char *word = nullptr);
    bool count(const char *what, std::initializer_list<int64_t> numbers, const char *word);

    /* 1 for the first one of the process */
    const int stream;
    const char *const mode;
    const bool counts;
    RedStreamLiveFile live;
    int channel_type = 0;
    int channel_id = 0;
    bool has_tls = false;
    const char *socket;
    /* as of the last flush, and the least records in which the flushes could have been sent */
    uint64_t message_bytes = 0;
    uint64_t floor_records = 0;
    /* events: probe timeouts, images sent by refreshes, and bytes of those that refine a lossy
     * one */
    uint64_t probe_timeouts = 0;
    uint64_t refreshes = 0;
    uint64_t refined_bytes = 0;
    /* further entries of the statistics */
    std::string entries;
};

static int next_stream()
{
    static std::atomic<int> last(0);

    return ++last;
}

RedStreamTrace::RedStreamTrace(const char *init_mode, bool init_counts):
    stream(next_stream()), mode(init_mode), counts(init_counts), live(stream),
    socket(init_counts ? "sendmsg" : "upstream")
{
    trace("open");
}

RedStreamTrace::~RedStreamTrace()
{
    if (trace_file()) {
        trace("close");
        fflush(trace_file());
    }
}

void RedStreamTrace::trace(const char *what, std::initializer_list<int64_t> numbers,
                           const char *word)
{
    if (!trace_file()) {
        return;
    }
    TraceLine line(stream, what);

    for (const int64_t number : numbers) {
        line.number(number);
    }
    if (word) {
        line.word(word);
    }
}

void RedStreamTrace::channel(int type, int id, bool tls)
{
    channel_type = type;
    channel_id = id;
    has_tls = tls;
    trace("channel", { type, id });
    live.open(type, id, mode, tls, counts);
}

void RedStreamTrace::wrote(const struct iovec *iov, int iovcnt, unsigned flags)
{
    static const char *const names[] = { "-", "m", "s", "sm" };

    if (trace_file()) {
        TraceLine line(stream, "write");

        line.word(names[flags & (RED_STREAM_MORE | RED_STREAM_MESSAGE_START)]);
        line.lengths(iov, iovcnt);
    }
}

void RedStreamTrace::sent(size_t size, bool more, ssize_t taken)
{
    const int saved_errno = errno;

    trace("send", { int64_t(size), more, taken < 0 ? -saved_errno : taken });
    errno = saved_errno;
}

void RedStreamTrace::flushed(const RedStreamCounters *counters, size_t pending)
{
    const uint64_t bytes = counters->message_bytes - message_bytes;

    message_bytes = counters->message_bytes;
    floor_records += (bytes + RED_STREAM_RECORD_MAX - 1) / RED_STREAM_RECORD_MAX;
    live.update(counters, pending);
}

/* Events that are no line of the trace. Returns false if @what is none of them. */
bool RedStreamTrace::count(const char *what, std::initializer_list<int64_t> numbers,
                           const char *word)
{
    if (strcmp(what, "probe_timeout") == 0) {
        ++probe_timeouts;
    } else if (strcmp(what, "motion") == 0) {
        live.motion(numbers.begin());
    } else if (strcmp(what, "socket") == 0) {
        socket = word;
    } else if (strcmp(what, "statistics") == 0) {
        entries = word;
    } else {
        return false;
    }
    return true;
}

void RedStreamTrace::event(const char *what, std::initializer_list<int64_t> numbers,
                           const char *word)
{
    if (count(what, numbers, word)) {
        return;
    }
    if (strcmp(what, "flow") == 0) {
        live.flow(numbers.begin(), word);
    } else if (strcmp(what, "refresh") == 0) {
        ++refreshes;
        refined_bytes += numbers.begin()[1] ? numbers.begin()[0] : 0;
    }
    trace(what, numbers, word);
}

void RedStreamTrace::closed(const RedStreamCounters *counters)
{
    FILE *const file = stats_file();

    if (!file) {
        return;
    }
    /* one call each, as streams of several threads end at once */
    if (!counters) {
        fprintf(file, "{\"type\":%d,\"id\":%d,\"mode\":\"%s\",\"tls\":%s,\"socket\":\"%s\"}\n",
                channel_type, channel_id, mode, has_tls ? "true" : "false", socket);
        fflush(file);
        return;
    }
    fprintf(file,
            "{\"type\":%d,\"id\":%d,\"mode\":\"%s\",\"tls\":%s,\"socket\":\"%s\","
            "\"messages\":%" PRIu64 ",\"message_bytes\":%" PRIu64 ","
            "\"records\":%" PRIu64 ",\"record_bytes\":%" PRIu64 ",\"floor_records\":%" PRIu64 ","
            "\"writes\":%" PRIu64 ",\"written_bytes\":%" PRIu64 ",\"setsockopts\":%" PRIu64 ","
            "\"flushes\":%" PRIu64 ",\"eagains\":%" PRIu64 ",\"max_buffered\":%" PRIu64 ","
            "\"probe_timeouts\":%" PRIu64 ",\"refreshes\":%" PRIu64 ","
            "\"refined_bytes\":%" PRIu64 "%s}\n",
            channel_type, channel_id, mode, has_tls ? "true" : "false", socket,
            counters->messages, counters->message_bytes,
            counters->records, counters->record_bytes, floor_records,
            counters->writes, counters->written_bytes, counters->setsockopts,
            counters->flushes, counters->eagains, counters->max_buffered, probe_timeouts,
            refreshes, refined_bytes, entries.c_str());
    fflush(file);
}

RedStreamObserver *red_stream_trace_new(const char *mode, bool counts)
{
    if (!trace_file() && !stats_file() && !red_stream_live_folder()) {
        return nullptr;
    }
    return new RedStreamTrace(mode, counts);
}
