/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an output buffer has the kernel do beyond sending: timestamps=on and zerocopy=N, and the
 * error queue for both.
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

    /* For a channel's stream @stream; null if @policy wants none of it, or its socket has none. */
    static RedStreamOffload *create(const RedStreamPolicy *policy, int fd,
                                    const RedStreamSocket *ops, bool tls, int stream,
                                    RedStreamCounters *counters);
    ~RedStreamOffload();

    /* As RedStreamSocket::send; the first @own bytes, an entry of @iov, are the output buffer's,
     * the rest is the caller's. */
    ssize_t send(const struct iovec *iov, int iovcnt, size_t own, bool more);
    /* All that was written has been given to the kernel, by now. */
    void flushed();
    /* Take what the kernel has told. To be called whenever the socket's watch calls. */
    void read() { errqueue.read(); }
    /* The stream ends: have the kernel hold no memory any more. */
    void end();

    /* null without */
    RedStreamZerocopy *get_zerocopy() { return zerocopy; }
    /* For the statistics: entries of a JSON object, each after a comma. */
    std::string describe() const;

private:
    RedStreamOffload(int fd, const RedStreamSocket *ops, RedStreamCounters *counters);

    const int fd;
    const RedStreamSocket *const ops;
    RedStreamCounters *const counters;
    RedStreamErrqueue errqueue;
    /* each null without */
    RedStreamTimestamps *timestamps = nullptr;
    RedStreamZerocopy *zerocopy = nullptr;
};

#include "pop-visibility.h"

#endif /* RED_STREAM_OFFLOAD_H_ */
