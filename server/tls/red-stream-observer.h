/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is told what a stream does, for statistics and traces. A stream has at most one observer,
 * and by default none. Used from the thread of the channel.
 */
#ifndef RED_STREAM_OBSERVER_H_
#define RED_STREAM_OBSERVER_H_

#include <cstdint>
#include <initializer_list>

#include "red-common.h"
#include "red-stream-counters.h"
#include "sys-socket.h"

#include "push-visibility.h"

struct RedStreamObserver {
    SPICE_CXX_GLIB_ALLOCATOR

    virtual ~RedStreamObserver() {}

    /* The channel that the stream belongs to. */
    virtual void channel(int type, int id, bool tls) = 0;
    /* The stream is freed. @counters: null if there is no output buffer. */
    virtual void closed(const RedStreamCounters *counters) = 0;
    /* The output buffer was given these bytes; @flags as in RedStreamEgress::writev(). */
    virtual void wrote(const struct iovec *iov, int iovcnt, unsigned flags) = 0;
    /* A system call: @size bytes were offered, with MSG_MORE if @more, and @taken were taken, or -1
     * with errno, which stays. */
    virtual void sent(size_t size, bool more, ssize_t taken) = 0;
    /* A flush has ended; the kernel has not taken @pending bytes yet. */
    virtual void flushed(const RedStreamCounters *counters, size_t pending) = 0;
    /* Something that a layer above or below the output buffer reports: numbers, and a word if
     * there is one. red-stream-trace.h lists the events. */
    virtual void event(const char *what, std::initializer_list<int64_t> numbers = { },
                       const char *word = nullptr) = 0;
};

#include "pop-visibility.h"

#endif /* RED_STREAM_OBSERVER_H_ */
