/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel features of an output buffer: timestamps=on and zerocopy=N, with the error queue that
 * both need. Owned by the output buffer; not thread safe.
 */
#ifndef RED_STREAM_OFFLOAD_H_
#define RED_STREAM_OFFLOAD_H_

#include <string>

#include "red-stream-counters.h"
#include "red-stream-errqueue.h"
#include "red-stream-socket.h"
#include "red-stream-timestamps.h"
#include "red-stream-zerocopy.h"

#include "push-visibility.h"

class RedStreamOffload
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* Returns null if @policy asks for none of the features or the socket has none. @stream: its
     * number in the trace. @fd, @ops and @counters stay the caller's. */
    static RedStreamOffload *create(const RedStreamPolicy *policy, int fd,
                                    const RedStreamSocket *ops, bool tls, int stream,
                                    RedStreamCounters *counters);
    ~RedStreamOffload();

    /* As RedStreamSocket::send. The first @own bytes, one entry of @iov, are in the output buffer
     * itself and are copied; the rest is in a marshaller. */
    ssize_t send(const struct iovec *iov, int iovcnt, size_t own, bool more);
    /* A flush is complete: the kernel has taken all bytes. */
    void flushed();
    /* Read the error queue. To be called whenever the socket's watch is called. */
    void read() { errqueue.read(); }
    /* The stream ends: make the kernel release all memory. See RedStreamZerocopy::take_back. */
    void end();

    /* null if it is off */
    RedStreamZerocopy *get_zerocopy() { return zerocopy; }
    /* For the statistics: entries of a JSON object, each after a comma. */
    std::string describe() const;

private:
    RedStreamOffload(int fd, const RedStreamSocket *ops, RedStreamCounters *counters);

    const int fd;
    const RedStreamSocket *const ops;
    RedStreamCounters *const counters;
    RedStreamErrqueue errqueue;
    /* each null if it is off */
    RedStreamTimestamps *timestamps = nullptr;
    RedStreamZerocopy *zerocopy = nullptr;
};

#include "pop-visibility.h"

#endif /* RED_STREAM_OFFLOAD_H_ */
