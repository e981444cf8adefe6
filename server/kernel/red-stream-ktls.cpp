/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <cerrno>

#include "red-stream-bio.h"
#include "red-stream-egress.h"
#include "red-stream-ktls.h"

static int ktls_encrypt(SSL *, RedStreamRecordTaker *taker, const void *data, size_t size)
{
    auto egress = static_cast<RedStreamEgress *>(taker);
    const bool more = egress->is_more_encrypted();
    const bool corked = egress->is_held();

    if (more && !corked) {
        red_stream_kernel_socket.set_cork(egress->get_socket(), true);
    }
    const int n = egress->send_record(data, size);
    /* the state after a record that the kernel rejected is unknown */
    if ((more || corked) && (!more || egress->is_blocked())) {
        const int saved_errno = errno;

        red_stream_kernel_socket.set_cork(egress->get_socket(), false);
        errno = saved_errno;
    }
    return n;
}

static ssize_t ktls_send(int fd, const struct iovec *iov, int iovcnt, bool more)
{
    return red_stream_kernel_socket.send(fd, iov, iovcnt, false);
}

static RedStreamSocket make_ktls()
{
    RedStreamSocket table = red_stream_kernel_socket;

    table.send = ktls_send;
    table.set_ssl = nullptr;
    table.encrypt = ktls_encrypt;
    return table;
}

static const RedStreamSocket *ktls_socket()
{
    static const RedStreamSocket table = make_ktls();

    return &table;
}

static bool ktls_set_ssl(SSL *ssl, RedStreamRecordTaker *taker)
{
    if (!red_stream_bio_set_ssl(ssl, taker)) {
        return false;
    }
#ifdef SSL_OP_ENABLE_KTLS
    BIO *bio = BIO_new_socket(taker->get_socket(), BIO_NOCLOSE);

    if (!bio) {
        return false;
    }
    /* for writing; reading is not offloaded */
    SSL_set0_wbio(ssl, bio);
    SSL_set_options(ssl, SSL_OP_ENABLE_KTLS);
#endif
    return true;
}

/* Find out whether the handshake has enabled it. */
static int ktls_begin(SSL *ssl, RedStreamRecordTaker *taker, const void *data, size_t size)
{
    auto egress = static_cast<RedStreamEgress *>(taker);

#ifdef SSL_OP_ENABLE_KTLS
    if (BIO_get_ktls_send(SSL_get_wbio(ssl))) {
        egress->set_ops(ktls_socket());
        return ktls_encrypt(ssl, egress, data, size);
    }

    BIO *bio = SSL_get_rbio(ssl);
    BIO_up_ref(bio);
    SSL_set0_wbio(ssl, bio);
#endif
    egress->set_ops(&red_stream_kernel_socket);
    return red_stream_bio_encrypt(ssl, egress, data, size);
}

/* until the first record, which tells which of the other two it is */
static RedStreamSocket make_undecided()
{
    RedStreamSocket table = red_stream_kernel_socket;

    table.set_ssl = ktls_set_ssl;
    table.encrypt = ktls_begin;
    return table;
}

const RedStreamSetting red_stream_setting_ktls("ktls");

bool red_stream_ktls_is_used(const RedStreamEgress *egress)
{
    return egress->get_ops() == ktls_socket();
}

const RedStreamSocket *red_stream_ktls_get_socket()
{
    static const RedStreamSocket table = make_undecided();

    return &table;
}
