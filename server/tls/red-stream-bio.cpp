/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <cerrno>
#include <unistd.h>

#include <openssl/err.h>

#include "red-stream-bio.h"
#include "sys-socket.h"

static RedStreamRecordTaker *bio_taker(BIO *bio)
{
    return static_cast<RedStreamRecordTaker *>(BIO_get_data(bio));
}

static int bio_write(BIO *bio, const char *data, int size)
{
    BIO_clear_retry_flags(bio);

    const int n = bio_taker(bio)->take_record(data, size);
    if (n < 0 && errno == EAGAIN) {
        BIO_set_retry_write(bio);
    }
    return n;
}

static int bio_read(BIO *bio, char *data, int size)
{
    BIO_clear_retry_flags(bio);

    const int n = socket_read(bio_taker(bio)->get_socket(), data, size);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
        BIO_set_retry_read(bio);
    }
#ifdef BIO_FLAGS_IN_EOF
    if (n == 0) {
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    }
#endif
    return n;
}

static long bio_ctrl(BIO *bio, int cmd, long num, void *ptr)
{
#ifdef BIO_FLAGS_IN_EOF
    /* OpenSSL 3 asks, to report a connection that ends without a close_notify as such */
    if (cmd == BIO_CTRL_EOF) {
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    }
#endif
    /* a flush has nothing to do, and succeeds */
    return cmd == BIO_CTRL_FLUSH;
}

static BIO_METHOD *bio_method_new()
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK,
                                      "spice stream");

    if (method) {
        BIO_meth_set_write(method, bio_write);
        BIO_meth_set_read(method, bio_read);
        BIO_meth_set_ctrl(method, bio_ctrl);
    }
    return method;
}

bool red_stream_bio_set_ssl(SSL *ssl, RedStreamRecordTaker *taker)
{
    static const BIO_METHOD *const method = bio_method_new();
    BIO *bio = method ? BIO_new(method) : nullptr;

    if (!bio) {
        return false;
    }
    BIO_set_data(bio, taker);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    /* a write that is repeated passes a copy of the bytes, at another address */
    SSL_set_mode(ssl, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return true;
}

int red_stream_bio_encrypt(SSL *ssl, RedStreamRecordTaker *taker, const void *data, size_t size)
{
    /* SSL_get_error reads the thread's error queue, so it must be empty. To look is cheaper than to
     * clear an empty queue. */
    if (ERR_peek_error()) {
        ERR_clear_error();
    }
    const int n = SSL_write(ssl, data, size);

    if (n > 0) {
        return n;
    }
    /* Not SSL_ERROR_WANT_READ, for which nobody waits: the peer has sent a part of a handshake
     * message. Renegotiation is off. */
    return SSL_get_error(ssl, n) == SSL_ERROR_WANT_WRITE ? 0 : -1;
}
