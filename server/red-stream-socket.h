/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the egress of a stream needs of its socket, as a table, so that a test can
 * put a scripted socket in the place of the kernel's.
 */
#ifndef RED_STREAM_SOCKET_H_
#define RED_STREAM_SOCKET_H_

#include <sys/types.h>

#include "sys-socket.h"
#include "red-stream-policy.h"

#include "push-visibility.h"

struct RedStreamSocket {
    /* Send the bytes of @iov, at most IOV_MAX entries, as far as the kernel takes
     * them now. @more: other bytes follow at once, a last segment that is not full
     * may wait for them.
     * Returns the bytes taken, or -1 with errno: EAGAIN, EINTR or an error that ends
     * the connection. */
    ssize_t (*send)(int fd, const struct iovec *iov, int iovcnt, bool more);
    /* Set TCP_CORK. Clearing it sends a segment that waits for more bytes, whatever
     * made it wait. Returns false if the socket has no such thing. */
    bool (*set_cork)(int fd, bool enabled);
    /* Fill @link. Returns false where it can't be known (not TCP, not Linux). */
    bool (*get_link)(int fd, RedStreamLink *link);
    /* Microseconds for which what get_link has said is good enough. */
    uint64_t (*get_link_period)();
    /* Have the socket count as writable only while less than @bytes of what it took are
     * not sent. May be null. Returns false where there is no such thing. */
    bool (*set_unsent_limit)(int fd, uint32_t bytes);
};

extern const RedStreamSocket red_stream_kernel_socket;

#include "pop-visibility.h"

#endif /* RED_STREAM_SOCKET_H_ */
