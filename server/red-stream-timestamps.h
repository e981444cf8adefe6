/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When the other end has acknowledged what a flush sent (Linux, TCP): the kernel puts a
 * timestamp into the socket's error queue once the last byte of a send is acked.
 *
 * While the queue holds one, every poll of the socket returns at once with POLLERR. So it is
 * read at each flush and whenever the socket's watch calls back.
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

#include "push-visibility.h"

struct RedStreamCounters;
struct RedStreamSocket;

struct RedStreamTimestamp {
    /* number of the last byte that was acked, of those after set_timestamps, from 0 on */
    uint32_t byte;
    /* microseconds, CLOCK_REALTIME; 0: the kernel told something else */
    int64_t time;
};

class RedStreamTimestamps
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @unacked: as of set_timestamps; @stream: its number in the trace; @counters: its own, to
     * which it adds. */
    RedStreamTimestamps(int fd, const RedStreamSocket *ops, uint32_t unacked, int stream,
                        RedStreamCounters *counters);

    /* All that was written has been given to the kernel, by now. */
    void flushed();
    /* Take what the kernel has told. */
    void read();

private:
    void settle();

    struct Flush {
        /* counters->written_bytes then */
        uint64_t end;
        int64_t time;
    };

    const int fd;
    const RedStreamSocket *const ops;
    const int stream;
    RedStreamCounters *const counters;
    /* counters->written_bytes at byte 0 */
    const uint64_t begin;
    /* not acked, as far as is known */
    std::deque<Flush> flushes;
    /* the end of the last one */
    uint64_t last;
    /* what the kernel has told */
    RedStreamTimestamp latest = { };
};

/* For RedStreamSocket, see there. */
bool red_stream_timestamps_set(int fd, uint32_t *unacked);
int red_stream_timestamps_read(int fd, RedStreamTimestamp *timestamps, int room);

#include "pop-visibility.h"

#endif /* RED_STREAM_TIMESTAMPS_H_ */
