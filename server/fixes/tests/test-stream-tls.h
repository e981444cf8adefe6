/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Both ends of TLS connections for the tests of the stream layer. */
#ifndef TEST_STREAM_TLS_H_
#define TEST_STREAM_TLS_H_

#include <glib.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

/* A self-signed certificate and its key, made in memory. Ed25519 because its signatures
 * are all of one length: handshakes differ in nothing that could be counted. */
static inline void test_tls_make_certificate(SSL_CTX *ctx)
{
    EVP_PKEY *key = nullptr;
    EVP_PKEY_CTX *key_ctx = EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nullptr);

    g_assert_nonnull(key_ctx);
    g_assert_cmpint(EVP_PKEY_keygen_init(key_ctx), ==, 1);
    g_assert_cmpint(EVP_PKEY_keygen(key_ctx, &key), ==, 1);
    EVP_PKEY_CTX_free(key_ctx);

    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);

    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), 0);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char *>("test"), -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509_set_pubkey(cert, key);
    g_assert_cmpint(X509_sign(cert, key, nullptr), >, 0);

    g_assert_cmpint(SSL_CTX_use_certificate(ctx, cert), ==, 1);
    g_assert_cmpint(SSL_CTX_use_PrivateKey(ctx, key), ==, 1);
    X509_free(cert);
    EVP_PKEY_free(key);
}

/* The server's context has the options that reds.cpp gives to its own. */
static inline SSL_CTX *test_tls_ctx(bool server)
{
    static SSL_CTX *ctxs[2];
    SSL_CTX *&ctx = ctxs[server];

    if (!ctx) {
        ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
        g_assert_nonnull(ctx);
        if (server) {
            SSL_CTX_set_options(ctx, SSL_OP_NO_SSLv3 | SSL_OP_NO_TLSv1 | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_NO_RENEGOTIATION);
            test_tls_make_certificate(ctx);
        }
    }
    return ctx;
}

/* Free what was made once. */
static inline void test_tls_cleanup()
{
    SSL_CTX_free(test_tls_ctx(true));
    SSL_CTX_free(test_tls_ctx(false));
}

/* @version: TLS1_2_VERSION or TLS1_3_VERSION, and no other is spoken */
static inline SSL *test_tls_new(bool server, int version)
{
    SSL *ssl = SSL_new(test_tls_ctx(server));

    g_assert_nonnull(ssl);
    SSL_set_min_proto_version(ssl, version);
    SSL_set_max_proto_version(ssl, version);
    /* so that a record's overhead is known */
    SSL_set_cipher_list(ssl, "ECDHE-ECDSA-AES128-GCM-SHA256");
    return ssl;
}

/* Bytes that a record is longer than its plaintext, its header of 5 bytes included. */
static inline size_t test_tls_overhead(int version)
{
    return version == TLS1_3_VERSION ? 22 : 29;
}

/* Whether the handshake of @ssl is done, after a step of it. */
static inline bool test_tls_step(SSL *ssl)
{
    const int ret = SSL_do_handshake(ssl);

    if (ret == 1) {
        return true;
    }
    const int error = SSL_get_error(ssl, ret);
    g_assert_true(error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE);
    return false;
}

#endif /* TEST_STREAM_TLS_H_ */
