/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reader of a socket's error queue (Linux, TCP). The kernel reports there that data was acked
 * (red-stream-timestamps.h), and that memory given to MSG_ZEROCOPY is free again
 * (red-stream-zerocopy.h).
 *
 * While the queue is not empty, every poll of the socket returns at once with POLLERR. So it is
 * read whenever the socket's watch is called. There is one reader per socket, which passes
 * each entry on to all consumers. Not thread safe; used from the thread of the channel.
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
    /* ACKED: the last byte acked, counted from 0 at set_timestamps.
     * COMPLETED: the last of the sends, see first. */
    uint32_t last;
    /* ACKED: time of the ack, microseconds, CLOCK_REALTIME */
    int64_t time;
    /* COMPLETED: the first of the sends, counted from 0 over the calls of send_kept; and whether
     * the kernel copied the data after all */
    uint32_t first;
    bool copied;
};

/* A consumer of entries; owned by the caller of add(). */
class RedStreamErrqueueConsumer
{
public:
    virtual ~RedStreamErrqueueConsumer() { }
    /* Whether an entry for this consumer may come. */
    virtual bool expects_notices() const = 0;
    /* An entry, which may be for another consumer. */
    virtual void notice(const RedStreamNotice &notice) = 0;
    /* All entries in the queue were passed on. */
    virtual void no_more_notices() = 0;
};

class RedStreamErrqueue
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @read_notices: as in RedStreamOffloadSocket; @reads: is incremented by each call of it. */
    RedStreamErrqueue(int init_fd, int (*init_read_notices)(int, RedStreamNotice *, int),
                      uint64_t *init_reads):
        fd(init_fd), read_notices(init_read_notices), reads(init_reads) { }

    /* @consumer stays the caller's and outlives this. */
    void add(RedStreamErrqueueConsumer *consumer) { consumers.push_back(consumer); }
    /* Read the queue until it is empty, if a consumer expects an entry. */
    void read();

private:
    const int fd;
    int (*const read_notices)(int fd, RedStreamNotice *notices, int room);
    uint64_t *const reads;
    std::vector<RedStreamErrqueueConsumer *> consumers;
};

/* For RedStreamOffloadSocket, see there. */
int red_stream_errqueue_read(int fd, RedStreamNotice *notices, int room);

#include "pop-visibility.h"

#endif /* RED_STREAM_ERRQUEUE_H_ */
