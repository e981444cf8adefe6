/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel features of an output buffer: timestamps=on, with the error queue that it needs. Owned by
 * the output buffer; not thread safe.
 */
#ifndef RED_STREAM_OFFLOAD_H_
#define RED_STREAM_OFFLOAD_H_

#include <string>

#include "red-stream-counters.h"
#include "red-stream-errqueue.h"
#include "red-stream-socket.h"
#include "red-stream-timestamps.h"

#include "push-visibility.h"

class RedStreamOffload
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* Returns null if @policy asks for none of the features or the socket has none. @stream: its
     * number in the trace. @fd, @ops and @counters stay the caller's. */
    static RedStreamOffload *create(const RedStreamPolicy *policy, int fd,
                                    const RedStreamSocket *ops, int stream,
                                    RedStreamCounters *counters);
    ~RedStreamOffload();

    /* A flush is complete: the kernel has taken all bytes. */
    void flushed();
    /* Read the error queue. To be called whenever the socket's watch is called. */
    void read() { errqueue.read(); }

    /* For the statistics: entries of a JSON object, each after a comma. */
    std::string describe() const;

private:
    RedStreamOffload(int fd, const RedStreamSocket *ops, RedStreamCounters *counters);

    RedStreamCounters *const counters;
    RedStreamErrqueue errqueue;
    /* null if it is off */
    RedStreamTimestamps *timestamps = nullptr;
};

#include "pop-visibility.h"

#endif /* RED_STREAM_OFFLOAD_H_ */
