/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures when the peer has acked each flush (SO_TIMESTAMPING; Linux, TCP). The kernel reports
 * in the error queue (red-stream-errqueue.h) when the last byte of a send is acked; the queue is
 * also read at each flush.
 *
 * The peer is that of the TCP connection: with a relay on the path, the relay. And a client need
 * not have read what its kernel has acked; the channel's pongs show that.
 */
#ifndef RED_STREAM_TIMESTAMPS_H_
#define RED_STREAM_TIMESTAMPS_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "red-common.h"
#include "red-stream-egress.h"
#include "red-stream-errqueue.h"

#include "push-visibility.h"

struct RedStreamTimestampCounters {
    /* flushes acked, the sum of the microseconds from flush to ack, and reports of the kernel */
    uint64_t delivered;
    uint64_t delivery_time;
    uint64_t timestamps;
};

class RedStreamTimestamps final: public RedStreamErrqueueConsumer
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @unacked: from set_timestamps; @observer: is told of each flush that was acked, may be
     * null */
    RedStreamTimestamps(uint32_t unacked, const RedStreamEgress *egress,
                        RedStreamObserver *observer);

    /* A flush is complete: the kernel has taken all bytes.
     * Returns whether there were any since the last flush. */
    bool flushed();

    bool expects_notices() const override { return true; }
    void notice(const RedStreamNotice &notice) override;
    /* a near client may have acked a flush before flushed() was called */
    void no_more_notices() override { settle(); }

    const RedStreamTimestampCounters &get_counters() const { return counters; }

private:
    void settle();

    struct Flush {
        /* written() at the flush */
        uint64_t end;
        int64_t time;
    };

    uint64_t written() const { return egress->get_counters().written_bytes; }

    const RedStreamEgress *const egress;
    RedStreamObserver *const observer;
    RedStreamTimestampCounters counters = { };
    /* written() at the kernel's byte 0 */
    const uint64_t begin;
    /* flushes not known to be acked */
    std::deque<Flush> flushes;
    /* the end of the last one */
    uint64_t last;
    /* the latest report of the kernel, time 0: none */
    uint32_t latest_byte = 0;
    int64_t latest_time = 0;
};

/* For RedStreamOffloadSocket, see there. */
bool red_stream_timestamps_set(int fd, uint32_t *unacked);

#include "pop-visibility.h"

#endif /* RED_STREAM_TIMESTAMPS_H_ */
