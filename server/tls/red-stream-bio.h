/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The BIO between the TLS library and the output buffer: reads from the socket, and passes bytes to
 * send to RedStreamEgress::take_record. Also the functions of RedStreamSocket for transports in
 * which the TLS library makes the records. Used from the thread of the channel.
 */
#ifndef RED_STREAM_BIO_H_
#define RED_STREAM_BIO_H_

#include <openssl/ssl.h>

#include "push-visibility.h"

class RedStreamEgress;

/* RedStreamSocket::set_ssl and RedStreamSocket::encrypt, see there. @egress outlives @ssl. */
bool red_stream_bio_set_ssl(SSL *ssl, RedStreamEgress *egress);
int red_stream_bio_encrypt(SSL *ssl, RedStreamEgress *egress, const void *data, size_t size);

#include "pop-visibility.h"

#endif /* RED_STREAM_BIO_H_ */
