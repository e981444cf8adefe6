/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A client may say any size of a message, also one for which there is no memory, or which is less
 * than 0 once something was added. It is cut off, and nothing that it sends is written anywhere.
 */
#include <config.h>

#include <spice/vd_agent.h>

#include "test-channel-client.h"
#include "test-link.h"
#include "vmc-emu.h"

#include "push-visibility.h"

/* A server whose guest has such a device. */
struct DeviceServer: public TestServer
{
    VmcEmu *const device;

    DeviceServer(const char *type, const char *name):
        device(vmc_emu_new(type, name))
    {
        g_assert_cmpint(spice_server_set_noauth(server), ==, 0);
        g_assert_cmpint(spice_server_add_interface(server, &device->instance.base), ==, 0);
        spice_server_vm_start(server);
    }

    ~DeviceServer()
    {
        /* whoever comes is let in */
        {
            TestLink main(server, SPICE_CHANNEL_MAIN);

            g_assert_cmpint(main.authenticate(""), ==, SPICE_LINK_ERR_OK);
            main.session_id();
        }
        spice_server_remove_interface(&device->instance.base);
        vmc_emu_destroy(device);
    }
};

/* Begins a message of @size bytes. */
static void begin_message(TestLink *link, uint16_t type, uint32_t size)
{
    const std::vector<uint8_t> start(4096, 0x55);

    link->send_header(type, size);
    link->send_all(start.data(), start.size());
    link->wait_end();
}

static const uint32_t sizes[] = { UINT32_MAX, UINT32_MAX - 7, UINT32_MAX - 40, INT32_MAX };

static void port()
{
    for (const uint32_t size : sizes) {
        DeviceServer server("port", "org.spice-space.test");
        TestLink main(server.server, SPICE_CHANNEL_MAIN);
        g_assert_cmpint(main.authenticate(""), ==, SPICE_LINK_ERR_OK);
        TestLink port(server.server, SPICE_CHANNEL_PORT, main.session_id());

        g_assert_cmpint(port.authenticate(""), ==, SPICE_LINK_ERR_OK);
        begin_message(&port, SPICE_MSGC_SPICEVMC_DATA, size);
        g_assert_cmpuint(server.device->write_pos, ==, 0);
    }
}

static void agent()
{
    const uint32_t tokens = GUINT32_TO_LE(10);

    for (const uint32_t size : sizes) {
        DeviceServer server("vdagent", nullptr);
        TestLink main(server.server, SPICE_CHANNEL_MAIN);

        g_assert_cmpint(main.authenticate(""), ==, SPICE_LINK_ERR_OK);
        main.session_id();
        main.send_message(SPICE_MSGC_MAIN_AGENT_START, &tokens, sizeof(tokens));
        begin_message(&main, SPICE_MSGC_MAIN_AGENT_DATA, size);
    }
}

#ifdef USE_LZ4
/* The message is short, what it becomes is not. */
static void compressed()
{
    for (const uint32_t size : sizes) {
        DeviceServer server("port", "org.spice-space.test");
        TestLink main(server.server, SPICE_CHANNEL_MAIN);
        g_assert_cmpint(main.authenticate(""), ==, SPICE_LINK_ERR_OK);
        TestLink port(server.server, SPICE_CHANNEL_PORT, main.session_id());
        uint8_t message[1 + 4 + 16] = { SPICE_DATA_COMPRESSION_TYPE_LZ4 };
        const uint32_t wire_size = GUINT32_TO_LE(size);

        memcpy(&message[1], &wire_size, sizeof(wire_size));
        g_assert_cmpint(port.authenticate(""), ==, SPICE_LINK_ERR_OK);
        port.send_message(SPICE_MSGC_SPICEVMC_COMPRESSED_DATA, message, sizeof(message));
        port.wait_end();
    }
}
#endif

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of each of these, and of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/message-size/port", port);
    g_test_add_func("/server/message-size/agent", agent);
#ifdef USE_LZ4
    g_test_add_func("/server/message-size/compressed", compressed);
#endif
    return g_test_run();
}
