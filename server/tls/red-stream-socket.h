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
struct RedStreamNotice;

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
    /* Have the socket count as writable only while less than @bytes of what it took are
     * not sent. May be null. Returns false where there is no such thing. */
    bool (*set_unsent_limit)(int fd, uint32_t bytes);
    /* Have the socket send at most @rate bytes a second, 0: as fast as TCP likes (SO_MAX_PACING_RATE,
     * Linux 4.13, which needs no queueing discipline for it). The kernel goes on to pace a socket
     * that ever had a rate, then at TCP's own: its window in half a round trip or, without slow start,
     * in five sixths of one. That is not to be told from none (20 Mbit/s, 100 ms, cubic: 14 KB in
     * 106 ms both, 2 MB in 996 and 1000). May be null. Returns false where there is no such thing. */
    bool (*set_pace)(int fd, uint64_t rate);
    /* Make the BIOs of @ssl, before its handshake. Returns false if there is no memory. */
    bool (*set_ssl)(SSL *ssl, RedStreamEgress *egress);
    /* Make one record of @data, at most RED_STREAM_RECORD_MAX bytes, and give it to
     * RedStreamEgress::take_record or send_record.
     * Returns @size, 0 if that can't be now and is to be repeated with the same bytes, or
     * -1 if the connection has ended. */
    int (*encrypt)(SSL *ssl, RedStreamEgress *egress, const void *data, size_t size);
    /* Have the kernel tell when what is sent from now on is acked. @unacked: bytes sent before
     * that are not, the first byte that it counts is theirs. May be null. Returns false where
     * there is no such thing. */
    bool (*set_timestamps)(int fd, uint32_t *unacked);
    /* Have the kernel read what send_kept is given from where it is. May be null. Returns false
     * where there is no such thing. */
    bool (*set_zerocopy)(int fd);
    /* As send, of memory that stays as it is until the kernel tells that this is over; ENOBUFS
     * if there are too many of them. */
    ssize_t (*send_kept)(int fd, const struct iovec *iov, int iovcnt, bool more);
    /* End the connection, and send nothing that is waiting. */
    void (*abort)(int fd);
    /* Take at most @room of what the kernel has told. Returns how many, less than @room if no
     * more were there. Null if there is neither of the two. */
    int (*read_notices)(int fd, RedStreamNotice *notices, int room);
};

/* sendmsg, and records made by the TLS library */
extern const RedStreamSocket red_stream_kernel_socket;
/* sendmsg, and records made by the kernel, see red-stream-ktls.h */
extern const RedStreamSocket red_stream_ktls_socket;

/* The one that a mode begins with. */
const RedStreamSocket *red_stream_socket_get(const RedStreamPolicy *policy);

#include "pop-visibility.h"

#endif /* RED_STREAM_SOCKET_H_ */
