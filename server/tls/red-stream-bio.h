/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The BIO between the TLS library and the egress: reads from the socket, and gives
 * what is to be sent to RedStreamEgress::take_record; and the functions of RedStreamSocket
 * with which the TLS library makes the records.
 */
#ifndef RED_STREAM_BIO_H_
#define RED_STREAM_BIO_H_

#include <openssl/ssl.h>

#include "push-visibility.h"

class RedStreamEgress;

/* @egress stays the caller's and outlives the BIO.
 * Returns null if there is no memory for it. */
BIO *red_stream_bio_new(RedStreamEgress *egress);

bool red_stream_bio_set_ssl(SSL *ssl, RedStreamEgress *egress);
int red_stream_bio_encrypt(SSL *ssl, RedStreamEgress *egress, const void *data, size_t size);

#include "pop-visibility.h"

#endif /* RED_STREAM_BIO_H_ */
