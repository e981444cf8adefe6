/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The BIO between the TLS library and the egress: reads from the socket, and gives
 * what is to be sent to RedStreamEgress::take_record.
 *
 * OpenSSL offloads TLS to the kernel only over a socket BIO of its own. A stream that
 * wants that takes such a BIO instead of this one; the egress then has sendmsg on the
 * bare socket, as without TLS, and the kernel makes the records.
 */
#ifndef RED_STREAM_BIO_H_
#define RED_STREAM_BIO_H_

#include <openssl/bio.h>

#include "push-visibility.h"

class RedStreamEgress;

/* @egress stays the caller's and outlives the BIO.
 * Returns null if there is no memory for it. */
BIO *red_stream_bio_new(RedStreamEgress *egress);

#include "pop-visibility.h"

#endif /* RED_STREAM_BIO_H_ */
