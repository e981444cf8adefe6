/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The BIO between the TLS library and the output buffer: reads from the socket, and passes the
 * bytes to send to a RedStreamRecordTaker. Also the functions of RedStreamSocket for transports
 * in which the TLS library makes the records. Used from the thread of the channel.
 *
 *   RedStreamEgress -> RedStreamSocket::encrypt -> SSL_write -> this BIO -> take_record of the
 *   RedStreamEgress
 */
#ifndef RED_STREAM_BIO_H_
#define RED_STREAM_BIO_H_

#include <sys/types.h>

#include <openssl/ssl.h>

#include "push-visibility.h"

/* Takes the bytes that the TLS library sends; the output buffer is one. */
class RedStreamRecordTaker
{
public:
    /* Returns the number of bytes accepted, or -1 with errno. */
    virtual ssize_t take_record(const void *data, size_t size) = 0;
    /* The file descriptor to read from. */
    virtual int get_socket() const = 0;

protected:
    ~RedStreamRecordTaker() = default;
};

/* RedStreamSocket::set_ssl and RedStreamSocket::encrypt, see there. @taker outlives @ssl. */
bool red_stream_bio_set_ssl(SSL *ssl, RedStreamRecordTaker *taker);
int red_stream_bio_encrypt(SSL *ssl, RedStreamRecordTaker *taker, const void *data, size_t size);

#include "pop-visibility.h"

#endif /* RED_STREAM_BIO_H_ */
