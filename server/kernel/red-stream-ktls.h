/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A transport in which the kernel makes the TLS records (Linux with the module tls, and an OpenSSL
 * and a cipher that support it). The TLS library does the handshake, reads, and sends alerts.
 * The output buffer sends without the library.
 *
 * Support cannot be queried beforehand. A stream begins with a socket BIO, over which OpenSSL
 * passes its keys to the kernel at the end of the handshake. If it did not, the first record
 * installs the BIO of red-stream-bio.h instead, and the stream works as without kTLS.
 *
 * A send without MSG_MORE ends a record. So each record is one system call, and TCP_CORK joins
 * records in a segment. One call for all records, with MSG_MORE, would let the last messages of
 * a send turn share its last record (see red_stream_policy_next_record).
 *
 * The kernel has the keys. A peer that asks for new ones (KeyUpdate of TLS 1.3) gets them
 * where the TLS library and the kernel can replace them (OpenSSL 3.5, Linux 6.14). Elsewhere the
 * connection ends: the TLS library fails, or the peer cannot decrypt what follows. No SPICE client
 * is known to ask.
 */
#ifndef RED_STREAM_KTLS_H_
#define RED_STREAM_KTLS_H_

#include "red-stream-socket.h"

#include "push-visibility.h"

class RedStreamEgress;

/* Whether the kernel is to make the TLS records if it can. */
extern const RedStreamSetting red_stream_setting_ktls;

/* Whether it does. */
bool red_stream_ktls_is_used(const RedStreamEgress *egress);

/* The transport that a stream with ktls=on begins with. */
const RedStreamSocket *red_stream_ktls_get_socket();

#include "pop-visibility.h"

#endif /* RED_STREAM_KTLS_H_ */
