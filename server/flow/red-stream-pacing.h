/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the kernel is told of the path of a connection, and given: TCP_NOTSENT_LOWAT, the pacing
 * rate, and no more than it should hold. When it is told, nothing else: how much is decided in
 * red-stream-path.h. The output buffer owns one.
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
    /* @tcp_info outlives this, of the same @socket. */
    RedStreamPacing(int socket, const RedStreamTcpInfo *tcp_info);

    /* Have the kernel send at about @rate bytes a second, see red_stream_path_pace; 0: as it
     * likes. @ops: the table of the socket, here and below. */
    void set_pace(const RedStreamSocket *ops, uint64_t rate);

    /* TCP has learnt something new of the link. */
    void update(const RedStreamSocket *ops, const RedStreamLink *link);

    /* The send budget: how many bytes the kernel is to be given now, SIZE_MAX: all. To be called
     * before each send. What is left the next acks make room for, and the socket is writable
     * then. */
    size_t get_budget(const RedStreamSocket *ops);

private:
    void update_pace(const RedStreamSocket *ops, const RedStreamLink *link);

    const int socket;
    const RedStreamTcpInfo *const tcp_info;

    /* what the kernel was told to hold unsent, bytes, 0: all that it takes */
    uint32_t unsent_limit = 0;
    /* bytes a second that set_pace wants, and that the kernel was told, 0: as it likes */
    uint64_t pace = 0;
    uint64_t kernel_pace = 0;
};

#include "pop-visibility.h"

#endif /* RED_STREAM_PACING_H_ */
