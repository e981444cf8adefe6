/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sets TCP_NOTSENT_LOWAT and SO_MAX_PACING_RATE of a socket, and computes the send budget: how much
 * the kernel may be given. This file decides when; the values are decided in red-stream-path.h.
 * The output buffer owns one.
 *
 * Not thread safe; used from the thread of the channel.
 */
#ifndef RED_STREAM_PACING_H_
#define RED_STREAM_PACING_H_

#include "red-stream-tcp-info.h"

#include "push-visibility.h"

class RedStreamPacing
{
public:
    /* @tcp_info is that of @socket, and outlives this object. */
    RedStreamPacing(int socket, const RedStreamTcpInfo *tcp_info);

    /* Have the kernel send at about @rate bytes per second, see red_stream_path_pace; 0: no
     * limit. @ops: the table of the socket, here and below. */
    void set_pace(const RedStreamSocket *ops, uint64_t rate);

    /* TCP_INFO or the pongs have given a new @link. */
    void update(const RedStreamSocket *ops, const RedStreamLink *link);

    /* The send budget: how many bytes may be given to the kernel now, SIZE_MAX: no limit. To be
     * called before each send. The rest can be sent when the socket is writable, which the next
     * acks of TCP cause. */
    size_t get_budget(const RedStreamSocket *ops);

private:
    void update_pace(const RedStreamSocket *ops, const RedStreamLink *link);

    const int socket;
    const RedStreamTcpInfo *const tcp_info;

    /* TCP_NOTSENT_LOWAT as set, bytes, UINT32_MAX: no limit */
    uint32_t unsent_limit = UINT32_MAX;
    /* bytes per second: as given to set_pace, and SO_MAX_PACING_RATE as set, 0: no limit */
    uint64_t pace = 0;
    uint64_t kernel_pace = 0;
};

#include "pop-visibility.h"

#endif /* RED_STREAM_PACING_H_ */
