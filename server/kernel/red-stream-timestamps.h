/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures when the peer has acked each flush (SO_TIMESTAMPING; Linux, TCP). The kernel reports
 * in the error queue (red-stream-errqueue.h) when the last byte of a send is acked; the queue is
 * also read at each flush.
 *
 * The peer is that of the TCP connection: with a relay on the path, the relay. And a client need not have read
 * what its kernel has acked; the channel's pongs show that.
 */
#ifndef RED_STREAM_TIMESTAMPS_H_
#define RED_STREAM_TIMESTAMPS_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "red-common.h"
#include "red-stream-counters.h"
#include "red-stream-errqueue.h"

#include "push-visibility.h"

class RedStreamTimestamps final: public RedStreamErrqueueConsumer
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @unacked: from set_timestamps; @stream: its number in the trace; @counters: of the stream,
     * which this adds to. */
    RedStreamTimestamps(uint32_t unacked, int stream, RedStreamCounters *counters);

    /* A flush is complete: the kernel has taken all bytes.
     * Returns whether there were any since the last flush. */
    bool flushed();

    bool expects_notices() const override { return true; }
    void notice(const RedStreamNotice &notice) override;
    /* a near client may have acked a flush before flushed() was called */
    void no_more_notices() override { settle(); }

private:
    void settle();

    struct Flush {
        /* counters->written_bytes at the flush */
        uint64_t end;
        int64_t time;
    };

    const int stream;
    RedStreamCounters *const counters;
    /* counters->written_bytes at the kernel's byte 0 */
    const uint64_t begin;
    /* flushes not known to be acked */
    std::deque<Flush> flushes;
    /* the end of the last one */
    uint64_t last;
    /* the latest report of the kernel, time 0: none */
    uint32_t latest_byte = 0;
    int64_t latest_time = 0;
};

/* For RedStreamSocket, see there. */
bool red_stream_timestamps_set(int fd, uint32_t *unacked);

#include "pop-visibility.h"

#endif /* RED_STREAM_TIMESTAMPS_H_ */
