/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a guest says to a card may be longer than the buffer it is read into at first. All of it
 * gets to the client, and nothing is written beside the buffer.
 */
#include <config.h>

#include "migration-protocol.h"
#include "test-device-server.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

#ifdef USE_SMARTCARD
/* What goes before each message; a device's has the other order of bytes. */
struct Header
{
    uint32_t type, reader_id, length;
};

enum { READER_ADD = 3, APDU = 7 };

/* Devices are known to the whole process, so there is one server. */
struct Server: public TestDeviceServer<TestDevice>
{
    Server():
        TestDeviceServer("smartcard", nullptr) {}

    /* The guest says something that is of @length bytes, as it claims. Its end comes later. */
    void say(uint32_t length, uint32_t size)
    {
        const Header header = { GUINT32_TO_BE(APDU), 0, GUINT32_TO_BE(length) };

        vmc_emu_reset(device);
        memcpy(device->message, &header, sizeof(header));
        memset(device->message + sizeof(header), 0x5a, size);
        vmc_emu_add_read_till(device, device->message + sizeof(header) + size / 4);
        vmc_emu_add_read_till(device, device->message + sizeof(header) + size);
        spice_server_char_device_wakeup(&device->instance);
    }
};

static Server *server;

/* A client with a card. */
struct Client
{
    TestLink main;
    const uint32_t id;
    TestLink card;

    Client():
        main(server->server, SPICE_CHANNEL_MAIN),
        id(main.let_in()),
        card(server->server, SPICE_CHANNEL_SMARTCARD, id)
    {
        const Header header = { GUINT32_TO_LE(READER_ADD), 0, 0 };

        g_assert_cmpint(card.authenticate(""), ==, SPICE_LINK_ERR_OK);
        card.send_message(SPICE_MSGC_SMARTCARD_DATA, &header, sizeof(header));
        TestLink::run_events();
        g_assert_cmpuint(server->device->write_pos, >, 0);
    }
};

static void check(Client *client, uint32_t length)
{
    Header header;

    server->say(length, length);
    const TestLinkMessage message = client->card.next_message(SPICE_MSG_SMARTCARD_DATA);
    g_assert_cmpuint(message.body.size(), ==, sizeof(header) + length);
    memcpy(&header, message.body.data(), sizeof(header));
    g_assert_cmpuint(GUINT32_FROM_LE(header.length), ==, length);
    for (uint32_t i = 0; i < length; ++i) {
        g_assert_cmphex(message.body[sizeof(header) + i], ==, 0x5a);
    }
}

/* A client hands on more of a message than that says of itself, which makes the buffer longer and
 * is refused. The next client's card is told what it is to be told all the same. */
static void migrated()
{
    struct {
        SpiceMigrateDataHeader header;
        SpiceMigrateDataSmartcard data;
        uint8_t part[600];
    } message = { };
    enum { FORMER_ID = 42 };
    const uint32_t version = GUINT32_TO_LE(1);
    const Header header = { 0, 0, GUINT32_TO_BE(283) };

    message.header.magic = SPICE_MIGRATE_DATA_SMARTCARD_MAGIC;
    message.header.version = SPICE_MIGRATE_DATA_SMARTCARD_VERSION;
    message.data.base.version = SPICE_MIGRATE_DATA_CHAR_DEVICE_VERSION;
    message.data.base.connected = 1;
    message.data.read_size = sizeof(message.part);
    message.data.read_data_ptr = message.part - reinterpret_cast<uint8_t *>(&message);
    memcpy(message.part, &header, sizeof(header));
    {
        TestLink main(server->server, SPICE_CHANNEL_MAIN, FORMER_ID);
        g_assert_cmpint(main.authenticate(""), ==, SPICE_LINK_ERR_OK);
        main.send_message(SPICE_MSGC_MAIN_MIGRATE_DST_DO_SEAMLESS, &version, sizeof(version));
        main.next_message(SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_ACK);
        TestLink card(server->server, SPICE_CHANNEL_SMARTCARD, FORMER_ID);
        g_assert_cmpint(card.authenticate(""), ==, SPICE_LINK_ERR_OK);
        card.send_message(SPICE_MSGC_MIGRATE_DATA, &message, sizeof(message));
        card.wait_end();
    }
    Client client;
    check(&client, 100);
}

/* The buffer has place for it, but not for what goes before it. */
static void fits()
{
    Client client;

    check(&client, 275);
}

static void longer()
{
    Client client;

    check(&client, 600);
    check(&client, 1500);
}

/* A device that is wrong; it may go on. */
static void endless()
{
    Client client;

    for (const uint32_t length : { UINT32_MAX, UINT32_MAX - 7, UINT32_C(0x7fffffff) }) {
        server->say(length, 0);
        TestLink::run_events();
        check(&client, 100);
    }
}
#endif

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
#ifdef USE_SMARTCARD
    server = new Server;
    g_test_add_func("/server/smartcard-length/migrated", migrated);
    g_test_add_func("/server/smartcard-length/fits", fits);
    g_test_add_func("/server/smartcard-length/longer", longer);
    g_test_add_func("/server/smartcard-length/endless", endless);
    const int result = g_test_run();
    delete server;
    return result;
#else
    return g_test_run();
#endif
}
