/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <cerrno>

#include "net-utils.h"
#include "red-stream-bio.h"
#include "red-stream-egress.h"
#include "red-stream-ktls.h"

#ifdef SSL_OP_ENABLE_KTLS
/* A KeyUpdate that asks for one in return becomes one that does not. The TLS library shows a
 * message where it is, before it looks at it; there is no setting for this. */
static void refuse_key_update(int is_write, int version, int content_type, const void *data,
                              size_t size, SSL *ssl, void *arg)
{
    enum { HEADER = 4, REQUEST = HEADER };
    auto message = static_cast<uint8_t *>(const_cast<void *>(data));

    if (!is_write && content_type == SSL3_RT_HANDSHAKE && size == HEADER + 1 &&
        message[0] == SSL3_MT_KEY_UPDATE && message[REQUEST] == SSL_KEY_UPDATE_REQUESTED) {
        message[REQUEST] = SSL_KEY_UPDATE_NOT_REQUESTED;
    }
}
#endif

bool red_stream_ktls_set_ssl(SSL *ssl, RedStreamEgress *egress)
{
    if (!red_stream_bio_set_ssl(ssl, egress)) {
        return false;
    }
#ifdef SSL_OP_ENABLE_KTLS
    BIO *bio = BIO_new_socket(egress->get_socket(), BIO_NOCLOSE);

    if (!bio) {
        return false;
    }
    /* for writing: that for reading stays, and is not offloaded */
    SSL_set0_wbio(ssl, bio);
    SSL_set_options(ssl, SSL_OP_ENABLE_KTLS);
    SSL_set_msg_callback(ssl, refuse_key_update);
#endif
    return true;
}

int red_stream_ktls_begin(SSL *ssl, RedStreamEgress *egress, const void *data, size_t size)
{
#ifdef SSL_OP_ENABLE_KTLS
    if (BIO_get_ktls_send(SSL_get_wbio(ssl))) {
        egress->set_ops(&red_stream_ktls_socket);
        return red_stream_ktls_encrypt(ssl, egress, data, size);
    }
    SSL_set_msg_callback(ssl, nullptr);

    BIO *bio = SSL_get_rbio(ssl);
    BIO_up_ref(bio);
    SSL_set0_wbio(ssl, bio);
#endif
    egress->set_ops(&red_stream_kernel_socket);
    return red_stream_bio_encrypt(ssl, egress, data, size);
}

int red_stream_ktls_encrypt(SSL *ssl, RedStreamEgress *egress, const void *data, size_t size)
{
    const bool more = egress->is_more_encrypted();
    const bool corked = egress->is_held();

    if (more && !corked) {
        red_socket_set_cork(egress->get_socket(), true);
    }
    const int n = egress->send_record(data, size);
    /* nobody knows what comes after a record that the kernel did not take */
    if ((more || corked) && (!more || egress->is_blocked())) {
        const int saved_errno = errno;

        red_socket_set_cork(egress->get_socket(), false);
        errno = saved_errno;
    }
    return n;
}

ssize_t red_stream_ktls_send(int fd, const struct iovec *iov, int iovcnt, bool more)
{
    return red_stream_kernel_socket.send(fd, iov, iovcnt, false);
}
