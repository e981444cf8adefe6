/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sets TCP_NOTSENT_LOWAT and SO_MAX_PACING_RATE of a socket, and keeps to the send budget: how much
 * the kernel may be given. This file decides when; the values are decided in red-stream-path.h. It
 * stands between the output buffer and the transport.
 *
 * Not thread safe; used from the thread of the channel.
 */
#ifndef RED_STREAM_PACING_H_
#define RED_STREAM_PACING_H_

#include "red-stream-egress.h"

#include "push-visibility.h"

/* Settings of a socket. A test can replace the kernel by a script. */
struct RedStreamPacingSocket {
    /* Set TCP_NOTSENT_LOWAT: the socket is writable only while it has less than @bytes
     * unsent. Returns false if not supported. */
    bool (*set_unsent_limit)(int fd, uint32_t bytes);
    /* Set SO_MAX_PACING_RATE: at most @rate bytes per second, 0: no limit (Linux 4.13, which
     * needs no queueing discipline for it). The kernel continues to pace a socket that ever had
     * a rate, then at TCP's own: its window in half a round trip or, after slow start, in five
     * sixths of one. That makes no measurable difference (20 Mbit/s, 100 ms, cubic: 14 KB in 106
     * ms both, 2 MB in 996 and 1000). Returns false if not supported. */
    bool (*set_pace)(int fd, uint64_t rate);
};

/* setsockopt */
extern const RedStreamPacingSocket red_stream_pacing_kernel;

class RedStreamPacing final: public RedStreamSender
{
public:
    /* For @egress, which outlives the last call; it is the caller who puts this into it. */
    explicit RedStreamPacing(RedStreamEgress *egress,
                             const RedStreamPacingSocket *ops = &red_stream_pacing_kernel);

    /* Have the kernel send at about @rate bytes per second, see red_stream_path_pace; 0: no
     * limit. */
    void set_pace(uint64_t rate);

    /* Sends what the budget allows. The rest can be sent when the socket is writable, which the
     * next acks of TCP cause. */
    ssize_t send(const struct iovec *iov, int iovcnt, size_t own, bool more) override;
    /* Sets the unsent limit for the path as it is now. */
    void update(const RedStreamLink *link) override;

private:
    void update_pace(const RedStreamLink *link);
    size_t get_budget();

    const RedStreamPacingSocket *const ops;

    /* TCP_NOTSENT_LOWAT as set, bytes, UINT32_MAX: no limit */
    uint32_t unsent_limit = UINT32_MAX;
    /* bytes per second: as given to set_pace, and SO_MAX_PACING_RATE as set, 0: no limit */
    uint64_t pace = 0;
    uint64_t kernel_pace = 0;
};

#include "pop-visibility.h"

#endif /* RED_STREAM_PACING_H_ */
