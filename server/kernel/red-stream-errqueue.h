/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The error queue of a socket (Linux, TCP), in which the kernel reports later what became
 * of data: when it was acked (red-stream-timestamps.h), and that the memory it was sent from is
 * free again (red-stream-zerocopy.h).
 *
 * While the queue holds anything every poll of the socket returns at once with POLLERR. So it is
 * read whenever the socket's watch calls back, and there is one reader, which tells each consumer.
 */
#ifndef RED_STREAM_ERRQUEUE_H_
#define RED_STREAM_ERRQUEUE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "red-common.h"

#include "push-visibility.h"

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

/* Who wants to know. */
class RedStreamErrqueueConsumer
{
public:
    virtual ~RedStreamErrqueueConsumer() { }
    /* Whether the kernel may tell something that this wants to know. */
    virtual bool expects_notices() const = 0;
    virtual void notice(const RedStreamNotice &notice) = 0;
    /* All that the kernel has told by now was passed on. */
    virtual void no_more_notices() = 0;
};

class RedStreamErrqueue
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @read_notices: as in RedStreamSocket; @reads: counts the calls of it. */
    RedStreamErrqueue(int init_fd, int (*init_read_notices)(int, RedStreamNotice *, int),
                      uint64_t *init_reads):
        fd(init_fd), read_notices(init_read_notices), reads(init_reads) { }

    /* It stays the caller's. */
    void add(RedStreamErrqueueConsumer *consumer) { consumers.push_back(consumer); }
    /* Take what the kernel has told, if anybody expects something. */
    void read();

private:
    const int fd;
    int (*const read_notices)(int fd, RedStreamNotice *notices, int room);
    uint64_t *const reads;
    std::vector<RedStreamErrqueueConsumer *> consumers;
};

/* For RedStreamSocket, see there. */
int red_stream_errqueue_read(int fd, RedStreamNotice *notices, int room);

#include "pop-visibility.h"

#endif /* RED_STREAM_ERRQUEUE_H_ */
