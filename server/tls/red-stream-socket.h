/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Transports of an output buffer, a table of functions each: what it needs of its socket, and
 * over TLS of whoever makes the records. The egress does not know which one it has; a test can
 * put a scripted one in the place of the kernel's.
 */
#ifndef RED_STREAM_SOCKET_H_
#define RED_STREAM_SOCKET_H_

#include <sys/types.h>

#include <openssl/ssl.h>

#include "sys-socket.h"
#include "red-stream-policy.h"

#include "push-visibility.h"

class RedStreamEgress;

struct RedStreamSocket {
    /* for the statistics */
    const char *name;
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
    /* Make the BIOs of @ssl, before its handshake. Returns false if there is no memory. */
    bool (*set_ssl)(SSL *ssl, RedStreamEgress *egress);
    /* Make one record of @data, at most RED_STREAM_RECORD_MAX bytes, and give it to
     * RedStreamEgress::take_record or send_record.
     * Returns @size, 0 if that can't be now and is to be repeated with the same bytes, or
     * -1 if the connection has ended. */
    int (*encrypt)(SSL *ssl, RedStreamEgress *egress, const void *data, size_t size);
};

/* sendmsg, and records made by the TLS library */
extern const RedStreamSocket red_stream_kernel_socket;

#include "pop-visibility.h"

#endif /* RED_STREAM_SOCKET_H_ */
