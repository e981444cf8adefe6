/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Transports of an output buffer. A transport is a table of functions: those for the socket, and
 * those that make TLS records. The output buffer does not know which transport it has; a test can
 * replace the kernel by a script. To be called from the thread of the channel.
 */
#ifndef RED_STREAM_SOCKET_H_
#define RED_STREAM_SOCKET_H_

#include <sys/types.h>

#include <openssl/ssl.h>

#include "sys-socket.h"
#include "red-stream-policy.h"

#include "push-visibility.h"

/* the output buffer, see red-stream-bio.h */
class RedStreamRecordTaker;

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
    /* Fill @link from TCP_INFO. Returns false if not available (not TCP, not Linux). */
    bool (*get_link)(int fd, RedStreamLink *link);
    /* Create the BIOs of @ssl, before its handshake. @taker outlives @ssl. Returns false if out of
     * memory. */
    bool (*set_ssl)(SSL *ssl, RedStreamRecordTaker *taker);
    /* Make one record of @data, at most RED_STREAM_RECORD_MAX bytes, and give it to
     * @taker.
     * Returns @size, 0 if the caller must retry later with the same bytes, or -1 if the
     * connection has ended. */
    int (*encrypt)(SSL *ssl, RedStreamRecordTaker *taker, const void *data, size_t size);
};

/* sendmsg, and records made by the TLS library through the BIO of red-stream-bio.h */
extern const RedStreamSocket red_stream_kernel_socket;

#include "pop-visibility.h"

#endif /* RED_STREAM_SOCKET_H_ */
