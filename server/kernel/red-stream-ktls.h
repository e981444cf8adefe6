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
 * The keys stay in the kernel. A peer that asks for new ones (KeyUpdate of TLS 1.3) gets them
 * where the TLS library and the kernel can replace them (OpenSSL 3.5, Linux 6.14). Elsewhere the
 * library ends the connection with an alert. No SPICE client is known to ask.
 */
#ifndef RED_STREAM_KTLS_H_
#define RED_STREAM_KTLS_H_

#include "red-stream-socket.h"

#include "push-visibility.h"

/* The transport that a stream with ktls=on begins with. */
const RedStreamSocket *red_stream_ktls_get_socket();

#include "pop-visibility.h"

#endif /* RED_STREAM_KTLS_H_ */
