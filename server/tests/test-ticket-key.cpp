/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The key with which a client encrypts its ticket: a main channel gets a new one, the channels
 * that follow it have the same, and each is let in with what was encrypted with it.
 */
#include <config.h>

#include <memory>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <spice/protocol.h>
#include <string.h>

#include "test-channel-client.h"

#include "push-visibility.h"

static const char PASSWORD[] = "a ticket";

struct Link
{
    TestServer &at;
    int socket;
    SpiceLinkReply reply;

    Link(TestServer &init_at, uint8_t channel_type): at(init_at)
    {
        int sv[2];
        const uint32_t caps = GUINT32_TO_LE(1 << SPICE_COMMON_CAP_PROTOCOL_AUTH_SELECTION |
                                            1 << SPICE_COMMON_CAP_AUTH_SPICE);
        SpiceLinkHeader header;
        SpiceLinkMess mess = { };

        g_assert_cmpint(socketpair(AF_LOCAL, SOCK_STREAM, 0, sv), ==, 0);
        socket = sv[1];
        g_assert_cmpint(spice_server_add_client(at.server, sv[0], FALSE), ==, 0);
        header.magic = SPICE_MAGIC;
        header.major_version = GUINT32_TO_LE(SPICE_VERSION_MAJOR);
        header.minor_version = GUINT32_TO_LE(SPICE_VERSION_MINOR);
        header.size = GUINT32_TO_LE(sizeof(mess) + sizeof(caps));
        mess.channel_type = channel_type;
        mess.num_common_caps = GUINT32_TO_LE(1);
        mess.caps_offset = GUINT32_TO_LE(sizeof(mess));
        send_all(&header, sizeof(header));
        send_all(&mess, sizeof(mess));
        send_all(&caps, sizeof(caps));
        receive(&header, sizeof(header));
        receive(&reply, sizeof(reply));
        g_assert_cmpint(GUINT32_FROM_LE(reply.error), ==, SPICE_LINK_ERR_OK);
        skip(GUINT32_FROM_LE(header.size) - sizeof(reply));
    }

    ~Link()
    {
        close(socket);
        at.run_events();
    }

    /* Returns the server's answer. */
    uint32_t authenticate(const char *password)
    {
        const unsigned char *der = reply.pub_key;
        const uint32_t mechanism = GUINT32_TO_LE(SPICE_COMMON_CAP_AUTH_SPICE);
        uint8_t encrypted[SPICE_TICKET_KEY_PAIR_LENGTH / 8];
        size_t size = sizeof(encrypted);
        uint32_t result;

        EVP_PKEY *key = d2i_PUBKEY(nullptr, &der, sizeof(reply.pub_key));
        g_assert_nonnull(key);
        EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, nullptr);
        g_assert_cmpint(EVP_PKEY_encrypt_init(ctx), >, 0);
        g_assert_cmpint(EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_OAEP_PADDING), >, 0);
        g_assert_cmpint(EVP_PKEY_encrypt(ctx, encrypted, &size,
                                         reinterpret_cast<const unsigned char *>(password),
                                         strlen(password) + 1), >, 0);
        EVP_PKEY_CTX_free(ctx);
        EVP_PKEY_free(key);
        send_all(&mechanism, sizeof(mechanism));
        send_all(encrypted, sizeof(encrypted));
        receive(&result, sizeof(result));
        return GUINT32_FROM_LE(result);
    }

    bool has_key_of(const Link &other) const
    {
        return memcmp(reply.pub_key, other.reply.pub_key, sizeof(reply.pub_key)) == 0;
    }

private:
    void send_all(const void *data, size_t size)
    {
        g_assert_cmpint(write(socket, data, size), ==, size);
    }

    void receive(void *data, size_t size)
    {
        at.run_events();
        g_assert_cmpint(recv(socket, data, size, MSG_DONTWAIT), ==, size);
    }

    void skip(size_t size)
    {
        auto rest = std::unique_ptr<uint8_t[]>(new uint8_t[size]);

        receive(rest.get(), size);
    }
};

static void test_channels_share()
{
    TestServer server;
    Link first(server, SPICE_CHANNEL_MAIN);
    Link inputs(server, SPICE_CHANNEL_INPUTS);
    Link second(server, SPICE_CHANNEL_MAIN);
    Link later(server, SPICE_CHANNEL_INPUTS);

    g_assert_true(inputs.has_key_of(first));
    g_assert_false(second.has_key_of(first));
    g_assert_true(later.has_key_of(second));
}

static void test_each_is_let_in()
{
    TestServer server;

    g_assert_cmpint(spice_server_set_ticket(server.server, PASSWORD, 0, FALSE, FALSE), ==, 0);
    Link first(server, SPICE_CHANNEL_MAIN);
    Link inputs(server, SPICE_CHANNEL_INPUTS);
    Link second(server, SPICE_CHANNEL_MAIN);

    /* also with a key that new channels no longer get; the ticket was good, the client is none */
    g_assert_cmpint(inputs.authenticate(PASSWORD), ==, SPICE_LINK_ERR_BAD_CONNECTION_ID);
    g_assert_cmpint(second.authenticate("another"), ==, SPICE_LINK_ERR_PERMISSION_DENIED);
    g_assert_cmpint(first.authenticate(PASSWORD), ==, SPICE_LINK_ERR_OK);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of a wrong ticket and of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/ticket-key/channels-share", test_channels_share);
    g_test_add_func("/server/ticket-key/each-is-let-in", test_each_is_let_in);
    return g_test_run();
}
