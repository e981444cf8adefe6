/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The error queue of a socket (Linux, TCP), in which the kernel reports later what became
 * of data: when it was acked (red-stream-timestamps.h), and that the memory it was sent from is
 * free again (red-stream-zerocopy.h).
 *
 * While the queue holds anything every poll of the socket returns at once with POLLERR. So it is
 * read whenever the socket's watch calls back, and there is one reader for all.
 */
#ifndef RED_STREAM_NOTICES_H_
#define RED_STREAM_NOTICES_H_

#include <cstddef>
#include <cstdint>

#include "red-common.h"
#include "red-stream-socket.h"

#include "push-visibility.h"

struct RedStreamCounters;
class RedStreamTimestamps;
class RedStreamZerocopy;

struct RedStreamNotice {
    enum { OTHER, ACKED, COMPLETED } what;
    /* ACKED: the last byte that was acked, of those after set_timestamps, from 0 on.
     * COMPLETED: the last of the sends, see first. */
    uint32_t last;
    /* ACKED: when, microseconds, CLOCK_REALTIME */
    int64_t time;
    /* COMPLETED: the first of the sends by send_kept, which count from 0 on; and the kernel has
     * copied what it was to send from where it was */
    uint32_t first;
    bool copied;
};

class RedStreamNotices
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* For a channel's stream @stream; null if @policy wants none of it, or its socket has none. */
    static RedStreamNotices *create(const RedStreamPolicy *policy, int fd,
                                    const RedStreamSocket *ops, bool tls, int stream,
                                    RedStreamCounters *counters);
    ~RedStreamNotices();

    /* As RedStreamSocket::send; the first @own bytes, an entry of @iov, are the egress's, the
     * rest is the caller's. */
    ssize_t send(const struct iovec *iov, int iovcnt, size_t own, bool more);
    /* All that was written has been given to the kernel, by now. */
    void flushed();
    /* Take what the kernel has told. */
    void read();

    /* The stream ends: have the kernel hold no memory any more.
     * Returns what became of zerocopy=N, null without. */
    const RedStreamZerocopy *end();

    /* null without */
    RedStreamZerocopy *get_zerocopy() { return zerocopy; }

private:
    RedStreamNotices(int init_fd, const RedStreamSocket *init_ops,
                     RedStreamCounters *init_counters):
        fd(init_fd), ops(init_ops), counters(init_counters) { }

    const int fd;
    const RedStreamSocket *const ops;
    RedStreamCounters *const counters;
    /* each null without */
    RedStreamTimestamps *timestamps = nullptr;
    RedStreamZerocopy *zerocopy = nullptr;
};

/* For RedStreamSocket, see there. */
int red_stream_notices_read(int fd, RedStreamNotice *notices, int room);

#include "pop-visibility.h"

#endif /* RED_STREAM_NOTICES_H_ */
