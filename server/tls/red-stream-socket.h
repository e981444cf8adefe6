/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Transports of an output buffer. A transport is a table of functions for the socket. The output
 * buffer does not know which transport it has; a test can replace the kernel by a script. To be
 * called from the thread of the channel.
 */
#ifndef RED_STREAM_SOCKET_H_
#define RED_STREAM_SOCKET_H_

#include <sys/types.h>

#include "sys-socket.h"

#include "push-visibility.h"

struct RedStreamSocket {
    /* Send the bytes of @iov, at most IOV_MAX entries, as far as the kernel takes
     * them now. @more: other bytes follow at once, so the kernel may hold the last,
     * incomplete segment (MSG_MORE).
     * Returns the bytes taken, or -1 with errno: EAGAIN, EINTR or an error that ends
     * the connection. */
    ssize_t (*send)(int fd, const struct iovec *iov, int iovcnt, bool more);
    /* Set TCP_CORK. Clearing it sends an incomplete segment, also one held by MSG_MORE.
     * Returns false if not supported. */
    bool (*set_cork)(int fd, bool enabled);
};

/* sendmsg */
extern const RedStreamSocket red_stream_kernel_socket;

#include "pop-visibility.h"

#endif /* RED_STREAM_SOCKET_H_ */
