/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A client's end of a channel, from the first byte on: what it sends and gets until it is let
 * in. */
#ifndef TEST_LINK_H_
#define TEST_LINK_H_

#include <memory>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <spice.h>
#include <spice/protocol.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "basic-event-loop.h"
#include "test-glib-compat.h"
#include "test-sockets.h"

#include "push-visibility.h"

struct TestLinkMessage
{
    uint64_t serial;
    uint16_t type;
    std::vector<uint8_t> body;
};

/* The only one of its type, or of several the one with this id. */
struct TestLinkChannel
{
    const uint8_t type, id;

    TestLinkChannel(uint8_t init_type, uint8_t init_id = 0): type(init_type), id(init_id) {}
};

/* What a client says first of all. @channel_caps, @common_caps: a bit for each capability of the
 * channel, of any */
static inline std::vector<uint8_t> test_link_message(TestLinkChannel channel,
                                                     uint32_t connection_id,
                                                     uint32_t channel_caps, uint32_t common_caps)
{
    const uint32_t caps[] = {
        GUINT32_TO_LE(common_caps),
        GUINT32_TO_LE(channel_caps)
    };
    SpiceLinkHeader header;
    SpiceLinkMess mess = { };
    std::vector<uint8_t> message(sizeof(header) + sizeof(mess) + sizeof(caps));

    header.magic = SPICE_MAGIC;
    header.major_version = GUINT32_TO_LE(SPICE_VERSION_MAJOR);
    header.minor_version = GUINT32_TO_LE(SPICE_VERSION_MINOR);
    header.size = GUINT32_TO_LE(sizeof(mess) + sizeof(caps));
    mess.connection_id = GUINT32_TO_LE(connection_id);
    mess.channel_type = channel.type;
    mess.channel_id = channel.id;
    mess.num_common_caps = mess.num_channel_caps = GUINT32_TO_LE(1);
    mess.caps_offset = GUINT32_TO_LE(sizeof(mess));
    memcpy(&message[0], &header, sizeof(header));
    memcpy(&message[sizeof(header)], &mess, sizeof(mess));
    memcpy(&message[sizeof(header) + sizeof(mess)], caps, sizeof(caps));
    return message;
}

static inline std::vector<uint8_t> test_encrypt_ticket(const SpiceLinkReply &reply,
                                                       const char *password)
{
    const unsigned char *der = reply.pub_key;
    std::vector<uint8_t> ticket(SPICE_TICKET_KEY_PAIR_LENGTH / 8);
    size_t size = ticket.size();

    EVP_PKEY *key = d2i_PUBKEY(nullptr, &der, sizeof(reply.pub_key));
    g_assert_nonnull(key);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, nullptr);
    g_assert_cmpint(EVP_PKEY_encrypt_init(ctx), >, 0);
    g_assert_cmpint(EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_OAEP_PADDING), >, 0);
    g_assert_cmpint(EVP_PKEY_encrypt(ctx, ticket.data(), &size,
                                     reinterpret_cast<const unsigned char *>(password),
                                     strlen(password) + 1), >, 0);
    EVP_PKEY_CTX_free(ctx);
    EVP_PKEY_free(key);
    return ticket;
}

struct TestLink
{
    int socket;
    /* the other end, the server's */
    int server_socket;
    SpiceLinkReply reply;
    /* what follows it: the capabilities common to all channels, then the channel's own */
    std::vector<uint8_t> reply_caps;
    /* whether the server may close it while something is said to it */
    bool may_end = false;

    /* @connection_id: what the main channel's client was told; 0 for a main channel, or one
     * that is chosen here, and the client says that it comes from another server
     * @buffer: bytes that the kernel holds of what nobody reads, 0: as many as it likes
     * @channel_caps, @common_caps: as of test_link_message()
     * @skip_auth: whoever hands the socket over says that the client need not authenticate */
    TestLink(SpiceServer *server, TestLinkChannel channel, uint32_t connection_id = 0,
             TestTransport transport = TEST_UNIX, int buffer = 0, uint32_t channel_caps = 0,
             uint32_t common_caps = 1 << SPICE_COMMON_CAP_PROTOCOL_AUTH_SELECTION |
                                    1 << SPICE_COMMON_CAP_AUTH_SPICE,
             bool skip_auth = false)
    {
        int sv[2];
        const std::vector<uint8_t> message =
            test_link_message(channel, connection_id, channel_caps, common_caps);

        test_make_sockets(transport, buffer, sv);
        socket = sv[1];
        server_socket = sv[0];
        g_assert_cmpint(spice_server_add_client(server, sv[0], skip_auth), ==, 0);
        send_all(message.data(), message.size());
        g_assert_cmpint(receive_reply(), ==, SPICE_LINK_ERR_OK);
    }

    ~TestLink()
    {
        close(socket);
        run_events();
    }

    /* Returns what the server says of the link. */
    uint32_t receive_reply()
    {
        SpiceLinkHeader header;

        receive(&header, sizeof(header));
        g_assert_cmphex(header.magic, ==, SPICE_MAGIC);
        receive(&reply, sizeof(reply));
        reply_caps.resize(GUINT32_FROM_LE(header.size) - sizeof(reply));
        receive(reply_caps.data(), reply_caps.size());
        return GUINT32_FROM_LE(reply.error);
    }

    /* A bit for each that the server has. */
    uint32_t common_caps() const
    {
        uint32_t caps;

        g_assert_cmpuint(reply_caps.size(), >=, sizeof(caps));
        memcpy(&caps, reply_caps.data(), sizeof(caps));
        return GUINT32_FROM_LE(caps);
    }

    /* Returns the server's answer. */
    uint32_t authenticate(const char *password)
    {
        return send_ticket(encrypt_ticket(password));
    }

    std::vector<uint8_t> encrypt_ticket(const char *password) const
    {
        return test_encrypt_ticket(reply, password);
    }

    uint32_t send_ticket(const std::vector<uint8_t> &ticket)
    {
        const uint32_t mechanism = GUINT32_TO_LE(SPICE_COMMON_CAP_AUTH_SPICE);
        uint32_t result;

        send_all(&mechanism, sizeof(mechanism));
        send_all(ticket.data(), ticket.size());
        receive(&result, sizeof(result));
        return GUINT32_FROM_LE(result);
    }

    /* On a main channel, once, the first of all: the id under which the client's other channels
     * come. */
    uint32_t session_id()
    {
        const TestLinkMessage message = next_message();
        uint32_t id;

        g_assert_cmpint(message.type, ==, SPICE_MSG_MAIN_INIT);
        memcpy(&id, message.body.data(), sizeof(id));
        return GUINT32_FROM_LE(id);
    }

    /* On a main channel, of a server without a password. Returns as session_id() does. */
    uint32_t let_in()
    {
        g_assert_cmpint(authenticate(""), ==, SPICE_LINK_ERR_OK);
        return session_id();
    }

    void say_display_init(int32_t window_size = 1 << 20)
    {
        /* SpiceMsgcDisplayInit: a cache's id and pixels, a dictionary's id and pixels */
        uint8_t init[1 + sizeof(int64_t) + 1 + sizeof(int32_t)] = { 1 };
        const int64_t cache = GINT64_TO_LE(1 << 20);
        const int32_t window = GINT32_TO_LE(window_size);

        memcpy(&init[1], &cache, sizeof(cache));
        init[1 + sizeof(cache)] = 1;
        memcpy(&init[2 + sizeof(cache)], &window, sizeof(window));
        send_message(SPICE_MSGC_DISPLAY_INIT, init, sizeof(init));
    }

    void send_message(uint16_t type, const void *body = nullptr, uint32_t size = 0)
    {
        send_header(type, size);
        if (size > 0) {
            send_all(body, size);
        }
    }

    /* Of a message of which as much may follow. */
    void send_header(uint16_t type, uint32_t size)
    {
        SpiceDataHeader header = { };

        header.serial = GUINT64_TO_LE(++serial);
        header.type = GUINT16_TO_LE(type);
        header.size = GUINT32_TO_LE(size);
        send_all(&header, sizeof(header));
    }

    TestLinkMessage next_message()
    {
        TestLinkMessage message;

        while (!take_message(&message)) {
            run_events();
            test_is_readable(socket, 10);
        }
        return message;
    }

    /* False if it has not come as a whole; the next call goes on. */
    bool take_message(TestLinkMessage *message)
    {
        SpiceDataHeader header;

        for (;;) {
            size_t size = sizeof(header);

            if (partial.size() >= sizeof(header)) {
                memcpy(&header, partial.data(), sizeof(header));
                size += GUINT32_FROM_LE(header.size);
            }
            if (partial.size() >= sizeof(header) && partial.size() == size) {
                message->serial = GUINT64_FROM_LE(header.serial);
                message->type = GUINT16_FROM_LE(header.type);
                message->body.assign(partial.begin() + sizeof(header), partial.end());
                partial.clear();
                return true;
            }
            const size_t before = partial.size();
            partial.resize(size);
            const ssize_t num_bytes = recv(socket, &partial[before], size - before, MSG_DONTWAIT);
            partial.resize(before + MAX(num_bytes, 0));
            if (num_bytes < 0 && errno == EAGAIN) {
                return false;
            }
            g_assert_cmpint(num_bytes, >, 0);
        }
    }

    /* Waits for a message of this type. */
    TestLinkMessage next_message(uint16_t type)
    {
        for (;;) {
            TestLinkMessage message = next_message();

            if (message.type == type) {
                return message;
            }
        }
    }

    /* Waits until the server has ended the connection. */
    void wait_end()
    {
        uint8_t rest[4096];
        ssize_t num_bytes;

        do {
            run_events();
            num_bytes = test_is_readable(socket, 10) ?
                recv(socket, rest, sizeof(rest), MSG_DONTWAIT) : 1;
        } while (num_bytes > 0);
    }

    void send_all(const void *data, size_t size)
    {
        const ssize_t num_bytes = write(socket, data, size);

        g_assert_true(num_bytes == static_cast<ssize_t>(size) || (may_end && num_bytes < 0));
    }

    /* Waits for it, whichever thread sends it. */
    void receive(void *data, size_t size)
    {
        auto to = static_cast<uint8_t *>(data);

        while (size > 0) {
            run_events();
            if (test_is_readable(socket, 10)) {
                const ssize_t num_bytes = recv(socket, to, size, MSG_DONTWAIT);

                g_assert_cmpint(num_bytes, >, 0);
                to += num_bytes;
                size -= num_bytes;
            }
        }
    }

    static void run_events()
    {
        while (g_main_context_iteration(basic_event_loop_get_context(), FALSE)) {
            continue;
        }
    }

private:
    uint64_t serial = 0;
    /* what has come of the next message */
    std::vector<uint8_t> partial;
};

/* Whoever comes is let in: the server goes on. */
static inline void test_link_let_in(SpiceServer *server)
{
    TestLink main(server, SPICE_CHANNEL_MAIN);

    main.let_in();
}

/* A client that was let in without a password, and has a display's channel. */
struct TestDisplayClient
{
    TestLink main;
    /* under which its other channels come */
    const uint32_t id;
    TestLink display;

    /* @transport, @buffer, @caps: of the display's channel, as for a TestLink; @window: pixels
     * of its dictionary */
    explicit TestDisplayClient(SpiceServer *server, TestTransport transport = TEST_UNIX,
                               int buffer = 0, uint32_t caps = 0, int32_t window = 1 << 20):
        main(server, SPICE_CHANNEL_MAIN),
        id(main.let_in()),
        display(server, SPICE_CHANNEL_DISPLAY, id, transport, buffer, caps)
    {
        g_assert_cmpint(display.authenticate(""), ==, SPICE_LINK_ERR_OK);
        display.say_display_init(window);
    }

    /* One that comes from another server, with what that knew of the display: a whole message
     * MIGRATE_DATA. The machine does not run yet. */
    TestDisplayClient(SpiceServer *server, const std::vector<uint8_t> &known,
                      TestTransport transport, int buffer):
        main(server, SPICE_CHANNEL_MAIN, FORMER_ID),
        id(let_in_again(&main)),
        display(server, SPICE_CHANNEL_DISPLAY, id, transport, buffer)
    {
        g_assert_cmpint(display.authenticate(""), ==, SPICE_LINK_ERR_OK);
        display.send_message(SPICE_MSGC_MIGRATE_DATA, known.data(), known.size());
    }

private:
    /* any that is not 0 */
    enum { FORMER_ID = 77 };

    static uint32_t let_in_again(TestLink *link)
    {
        const uint32_t version = GUINT32_TO_LE(1);

        g_assert_cmpint(link->authenticate(""), ==, SPICE_LINK_ERR_OK);
        link->send_message(SPICE_MSGC_MAIN_MIGRATE_DST_DO_SEAMLESS, &version, sizeof(version));
        g_assert_cmpint(link->next_message().type, ==, SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_ACK);
        return FORMER_ID;
    }
};

#include "pop-visibility.h"

#endif /* TEST_LINK_H_ */
