/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <cerrno>
#include <unistd.h>

#include <openssl/err.h>

#include "red-stream-bio.h"
#include "red-stream-egress.h"
#include "sys-socket.h"

static RedStreamEgress *bio_egress(BIO *bio)
{
    return static_cast<RedStreamEgress *>(BIO_get_data(bio));
}

static bool is_retry(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

static int bio_write(BIO *bio, const char *data, int size)
{
    BIO_clear_retry_flags(bio);

    const int n = bio_egress(bio)->take_record(data, size);
    if (n < 0 && is_retry(errno)) {
        BIO_set_retry_write(bio);
    }
    return n;
}

static int bio_read(BIO *bio, char *data, int size)
{
    BIO_clear_retry_flags(bio);

    const int n = socket_read(bio_egress(bio)->get_socket(), data, size);
    if (n < 0 && is_retry(errno)) {
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
    switch (cmd) {
    case BIO_CTRL_FLUSH:
    case BIO_CTRL_DUP:
        return 1;
#ifdef BIO_FLAGS_IN_EOF
    case BIO_CTRL_EOF:
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
#endif
    default:
        return 0;
    }
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

bool red_stream_bio_set_ssl(SSL *ssl, RedStreamEgress *egress)
{
    static const BIO_METHOD *const method = bio_method_new();
    BIO *bio = method ? BIO_new(method) : nullptr;

    if (!bio) {
        return false;
    }
    BIO_set_data(bio, egress);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    /* a write that is repeated, see RedStreamEgress, passes a copy of the bytes, at another address */
    SSL_set_mode(ssl, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return true;
}

int red_stream_bio_encrypt(SSL *ssl, RedStreamEgress *egress, const void *data, size_t size)
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
    const int error = SSL_get_error(ssl, n);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}
