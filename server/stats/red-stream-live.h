/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stats files: the state of the streams of a running process, for a reader outside.
 *
 * With SPICE_STREAM_STATS=FOLDER, an existing folder, each stream of a channel keeps a file
 * there, PID-STREAM, with a RedStreamLive in it, and removes it when the stream is freed. The
 * file is mapped by both sides, so an update is a few stores and a reader sees the current
 * state. Integers are in the machine's byte order. Each one is written atomically, the file is
 * not.
 *
 * If a file cannot be created, this warns once and does without. A file of that name, left by an
 * earlier process of the same pid, is replaced, not reused: another process that has it open could
 * truncate it, and a store beyond its end would raise SIGBUS. Used from the thread of the channel.
 */
#ifndef RED_STREAM_LIVE_H_
#define RED_STREAM_LIVE_H_

#include <cstddef>
#include <cstdint>

#include "red-stream-counters.h"

#include "push-visibility.h"

#define RED_STREAM_LIVE_MAGIC "spice-2"
#define RED_STREAM_LIVE_UNKNOWN UINT64_MAX

/* The content of the file. New members go to the end, with another magic. */
struct RedStreamLive {
    char magic[8];
    char mode[16];
    uint32_t tls;
    uint32_t channel_type;
    uint32_t channel_id;
    uint32_t unused;
    /* time of the latest change of the members up to phase: microseconds, CLOCK_MONOTONIC */
    uint64_t time;
    /* as in RedStreamCounters; RED_STREAM_LIVE_UNKNOWN in the modes without an output buffer, in
     * which nothing is counted */
    uint64_t messages;
    uint64_t records;
    uint64_t writes;
    uint64_t written_bytes;
    /* bytes that the kernel has not taken yet */
    uint64_t pending;
    /* from RedStreamFlow: bytes in flight, their limit, rate (bytes per second), delay
     * (microseconds) and phase. Zeros in other modes. */
    uint64_t in_flight;
    uint64_t limit;
    uint64_t rate;
    uint64_t delay;
    char phase[16];
    /* of the display stage (display-motion.h), totals since the display was created, as of its
     * latest comparison while this client was connected: number of copies, and pixels copied,
     * equal and drawn */
    uint64_t moves;
    uint64_t moved;
    uint64_t equal;
    uint64_t drawn;
};

/* The folder, null if the environment names none. */
const char *red_stream_live_folder();

/* The file of a stream. Without a folder it does nothing. */
class RedStreamLiveFile
{
public:
    /* @stream: its number */
    explicit RedStreamLiveFile(int init_stream): stream(init_stream) {}
    ~RedStreamLiveFile() { close(); }
    RedStreamLiveFile(const RedStreamLiveFile &) = delete;
    RedStreamLiveFile &operator=(const RedStreamLiveFile &) = delete;

    /* Creates it. @type, @id: of the channel; @counts: whether update() follows. The members below
     * without it do nothing. */
    void open(int type, int id, const char *mode, bool tls, bool counts);
    /* @pending: bytes that the kernel has not taken yet. */
    void update(const RedStreamCounters *counters, size_t pending);
    /* Bytes in flight, limit, rate and delay, and the phase, as in RedStreamLive. */
    void flow(const int64_t numbers[4], const char *phase);
    /* Moves, moved, equal and drawn, as in RedStreamLive. */
    void motion(const int64_t numbers[4]);

private:
    void close();

    const int stream;
    RedStreamLive *live = nullptr;
};

#include "pop-visibility.h"

#endif /* RED_STREAM_LIVE_H_ */
