/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When the other end has acknowledged what a flush sent (Linux, TCP): the kernel tells once the
 * last byte of a send is acked, see red-stream-errqueue.h. It is asked at each flush as well.
 *
 * The other end is TCP's: of a relay on the way it is the relay, and a client need not have read
 * what its kernel acked. The channel's pongs say when it has.
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

    /* @unacked: as of set_timestamps; @stream: its number in the trace; @counters: its own, to
     * which it adds. */
    RedStreamTimestamps(uint32_t unacked, int stream, RedStreamCounters *counters);

    /* All that was written has been given to the kernel, by now.
     * Returns whether there was anything. */
    bool flushed();

    bool expects_notices() const override { return true; }
    void notice(const RedStreamNotice &notice) override;
    /* a near client may have acked a flush before it was over */
    void no_more_notices() override { settle(); }

private:
    void settle();

    struct Flush {
        /* counters->written_bytes then */
        uint64_t end;
        int64_t time;
    };

    const int stream;
    RedStreamCounters *const counters;
    /* counters->written_bytes at byte 0 */
    const uint64_t begin;
    /* not acked, as far as is known */
    std::deque<Flush> flushes;
    /* the end of the last one */
    uint64_t last;
    /* what the kernel has told, time 0: nothing */
    uint32_t latest_byte = 0;
    int64_t latest_time = 0;
};

/* For RedStreamSocket, see there. */
bool red_stream_timestamps_set(int fd, uint32_t *unacked);

#include "pop-visibility.h"

#endif /* RED_STREAM_TIMESTAMPS_H_ */
