/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A client asks, and does not read what it is answered. That does not wait for it without end.
 */
#include <config.h>

#include "test-device-server.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

/* more answers than may wait */
#define MANY 20000

struct Server: public TestDeviceServer<TestDevice>
{
    Server():
        TestDeviceServer("vdagent", nullptr) {}
};

/* A whole message. */
static std::vector<uint8_t> make_message(uint16_t type, const std::vector<uint8_t> &body = {})
{
    SpiceDataHeader header = { };
    std::vector<uint8_t> message(sizeof(header));

    header.type = GUINT16_TO_LE(type);
    header.size = GUINT32_TO_LE(body.size());
    memcpy(message.data(), &header, sizeof(header));
    message.insert(message.end(), body.begin(), body.end());
    return message;
}

/* Says it until the server has ended the connection, which it does after less than @most. */
static void ask(TestLink *link, const std::vector<uint8_t> &message, unsigned most)
{
    for (unsigned i = 0; i < most; ++i) {
        const ssize_t size = send(link->socket, message.data(), message.size(), MSG_NOSIGNAL);

        if (size == -1) {
            return;
        }
        g_assert_cmpint(size, ==, message.size());
        TestLink::run_events();
    }
    g_error("the server goes on");
}

/* The kernel holds little of what a client does not read. */
enum { BUFFER = 4096 };

static void main_channel()
{
    static const std::vector<uint8_t> messages[] = {
        make_message(SPICE_MSGC_MAIN_ATTACH_CHANNELS),
        make_message(SPICE_MSGC_MAIN_MIGRATE_CONNECTED),
        make_message(SPICE_MSGC_MAIN_MIGRATE_DST_DO_SEAMLESS, { 1, 0, 0, 0 }),
    };

    for (const auto &message : messages) {
        Server server;
        TestLink main(server.server, SPICE_CHANNEL_MAIN, 0, TEST_UNIX, BUFFER);

        main.let_in();
        ask(&main, message, MANY);
    }
}

static void inputs()
{
    Server server;
    TestLink main(server.server, SPICE_CHANNEL_MAIN);
    TestLink channel(server.server, SPICE_CHANNEL_INPUTS, main.let_in(), TEST_UNIX, BUFFER);

    g_assert_cmpint(channel.authenticate(""), ==, SPICE_LINK_ERR_OK);
    ask(&channel, make_message(SPICE_MSGC_INPUTS_MOUSE_MOTION, std::vector<uint8_t>(10)),
        MANY * SPICE_INPUT_MOTION_ACK_BUNCH);
}

/* Who reads may ask as often as he likes. */
static void reads()
{
    Server server;
    TestLink main(server.server, SPICE_CHANNEL_MAIN, 0, TEST_UNIX, BUFFER);

    main.let_in();
    for (unsigned i = 0; i < MANY; ++i) {
        main.send_message(SPICE_MSGC_MAIN_ATTACH_CHANNELS);
        main.next_message(SPICE_MSG_MAIN_CHANNELS_LIST);
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of each of these, and of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/unread-answers/main", main_channel);
    g_test_add_func("/server/unread-answers/inputs", inputs);
    g_test_add_func("/server/unread-answers/reads", reads);
    return g_test_run();
}
