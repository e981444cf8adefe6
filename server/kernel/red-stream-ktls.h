/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions of RedStreamSocket with which the kernel makes the TLS records (Linux, the
 * module tls, and an OpenSSL and a cipher that know of it). The TLS library shakes hands,
 * reads, and sends alerts; what the egress sends goes past it.
 *
 * Nobody can be asked beforehand: a stream begins with a socket BIO, over which OpenSSL hands
 * its keys to the kernel at the end of the handshake. If it did not, the first record puts the
 * BIO of red-stream-bio.h in its place, and all is as without.
 *
 * A call without MSG_MORE ends a record, so there is a call for each one, and records share a
 * segment by TCP_CORK. One call for all of them, with MSG_MORE, would let the last messages of
 * a drain share its last record (see red_stream_policy_next_record).
 *
 * A peer that asks for new keys in both directions (KeyUpdate of TLS 1.3) gets none from here:
 * most kernels (Linux before 6.14) and libraries (OpenSSL before 3.5) can't replace the keys
 * that they were given, and an answer would end the connection. Its own new keys are taken as
 * ever.
 */
#ifndef RED_STREAM_KTLS_H_
#define RED_STREAM_KTLS_H_

#include <sys/types.h>

#include <openssl/ssl.h>

#include "sys-socket.h"

#include "push-visibility.h"

class RedStreamEgress;

bool red_stream_ktls_set_ssl(SSL *ssl, RedStreamEgress *egress);
/* Find out what the handshake has made of it, for the first record. */
int red_stream_ktls_begin(SSL *ssl, RedStreamEgress *egress, const void *data, size_t size);
int red_stream_ktls_encrypt(SSL *ssl, RedStreamEgress *egress, const void *data, size_t size);
ssize_t red_stream_ktls_send(int fd, const struct iovec *iov, int iovcnt, bool more);

#include "pop-visibility.h"

#endif /* RED_STREAM_KTLS_H_ */
