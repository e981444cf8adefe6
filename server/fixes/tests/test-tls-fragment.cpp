/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A TLS 1.3 client sends a part of a KeyUpdate. Until the rest comes OpenSSL writes nothing, so the
 * connection ends: a thread that waited until the socket is writable would use all of a CPU.
 */
#include <config.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "test-channel-tls.h"

#include "push-visibility.h"

enum {
    RECORD_HEADER = 5,
    TYPE_SIZE = 1,
    TAG_SIZE = 16,
    NONCE_SIZE = 12,
    SECRET_SIZE = 48,
};

/* of the client, for what it sends after the handshake */
static uint8_t secret[SECRET_SIZE];

static void keep_secret(const SSL *ssl, const char *line)
{
    unsigned byte;
    const char *text = strrchr(line, ' ') + 1;

    if (!g_str_has_prefix(line, "CLIENT_TRAFFIC_SECRET_0 ")) {
        return;
    }
    g_assert_cmpuint(strlen(text), ==, 2 * sizeof(secret));
    for (uint8_t &value : secret) {
        g_assert_cmpint(sscanf(text, "%2x", &byte), ==, 1);
        value = byte;
        text += 2;
    }
}

/* HKDF-Expand-Label of RFC 8446, 7.1, without a context, of at most one block. */
static void derive(const char *label, uint8_t *key, uint8_t size)
{
    uint8_t info[32] = { 0, size }, block[EVP_MAX_MD_SIZE];
    const int length = sprintf(reinterpret_cast<char *>(info + 3), "tls13 %s", label);

    info[2] = length;
    /* the empty context, and the number of the block */
    info[3 + length] = 0;
    info[3 + length + 1] = 1;
    HMAC(EVP_sha384(), secret, sizeof(secret), info, 3 + length + 2, block, nullptr);
    memcpy(key, block, size);
}

/* The first record after the handshake, with @size bytes of a handshake message. */
static void send_handshake(int fd, const uint8_t *message, int size)
{
    uint8_t key[32], nonce[NONCE_SIZE];
    uint8_t record[64] = { SSL3_RT_APPLICATION_DATA, 3, 3 };
    uint8_t plain[16];
    int length;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

    derive("key", key, sizeof(key));
    derive("iv", nonce, sizeof(nonce));
    memcpy(plain, message, size);
    plain[size] = SSL3_RT_HANDSHAKE;
    size += TYPE_SIZE;
    record[4] = size + TAG_SIZE;
    g_assert_cmpint(EVP_EncryptInit_ex(ctx, EVP_aes_256_gcm(), nullptr, key, nonce), ==, 1);
    g_assert_cmpint(EVP_EncryptUpdate(ctx, nullptr, &length, record, RECORD_HEADER), ==, 1);
    g_assert_cmpint(EVP_EncryptUpdate(ctx, record + RECORD_HEADER, &length, plain, size), ==, 1);
    g_assert_cmpint(EVP_EncryptFinal_ex(ctx, nullptr, &length), ==, 1);
    g_assert_cmpint(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, TAG_SIZE,
                                        record + RECORD_HEADER + size), ==, 1);
    EVP_CIPHER_CTX_free(ctx);
    size += RECORD_HEADER + TAG_SIZE;
    g_assert_cmpint(write(fd, record, size), ==, size);
}

static const uint8_t key_update[] = { SSL3_MT_KEY_UPDATE, 0, 0, 1, SSL_KEY_UPDATE_NOT_REQUESTED };

/* Returns what a write says after @size bytes of a KeyUpdate. */
static ssize_t write_after(int size)
{
    TlsStream s;
    char byte;

    g_assert_cmpstr(SSL_get_cipher_name(s.peer), ==, "TLS_AES_256_GCM_SHA384");
    send_handshake(s.peer_socket, key_update, size);
    g_assert_cmpint(red_stream_read(s.stream, &byte, 1), ==, -1);
    g_assert_cmpint(errno, ==, EAGAIN);
    errno = 0;
    return red_stream_write(s.stream, "bytes", 5);
}

static void whole()
{
    g_assert_cmpint(write_after(sizeof(key_update)), ==, 5);
}

static void fragment()
{
    g_assert_cmpint(write_after(sizeof(key_update) - 1), ==, -1);
    g_assert_cmpint(errno, !=, EAGAIN);
    g_assert_cmpint(errno, !=, 0);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    SSL_CTX_set_keylog_callback(test_tls_ctx(false), keep_secret);
    g_test_add_func("/server/tls-fragment/whole", whole);
    g_test_add_func("/server/tls-fragment/fragment", fragment);
    const int ret = g_test_run();
    test_tls_cleanup();
    return ret;
}
