/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A client may say any size of a message, also one for which there is no memory, or which is less
 * than 0 once something was added. It is cut off, and nothing that it sends is written anywhere.
 * Nor does it have the server keep more and more.
 */
#include <config.h>

#include <spice/vd_agent.h>

#include "test-channel-client.h"
#include "test-device-server.h"

#include "push-visibility.h"

struct DeviceServer: public TestDeviceServer<TestServer>
{
    DeviceServer(const char *type, const char *name):
        TestDeviceServer(type, name)
    {
        spice_server_vm_start(server);
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

        main.let_in();
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

/* As many bytes as the process has, whether or not they have been written to. */
static uint64_t memory_size()
{
    unsigned long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");

    g_assert_nonnull(file);
    g_assert_cmpint(fscanf(file, "%lu", &pages), ==, 1);
    fclose(file);
    return static_cast<uint64_t>(pages) * sysconf(_SC_PAGESIZE);
}

/* A client that goes by its main channel leaves nothing of a message that it has only begun. */
static void half()
{
    static const uint8_t start[4096] = { };
    const uint32_t size = 128 * 1024 * 1024;
    enum { TIMES = 12 };
    DeviceServer server("port", "org.spice-space.test");
    const uint64_t before = memory_size();

    for (int i = 0; i < TIMES; ++i) {
        std::unique_ptr<TestLink> main(new TestLink(server.server, SPICE_CHANNEL_MAIN));
        g_assert_cmpint(main->authenticate(""), ==, SPICE_LINK_ERR_OK);
        TestLink port(server.server, SPICE_CHANNEL_PORT, main->session_id());

        g_assert_cmpint(port.authenticate(""), ==, SPICE_LINK_ERR_OK);
        port.send_header(SPICE_MSGC_SPICEVMC_COMPRESSED_DATA, size);
        port.send_all(start, sizeof(start));
        TestLink::run_events();
        main.reset();
        port.wait_end();
    }
    /* AddressSanitizer keeps some of what was freed */
    g_assert_cmpuint(memory_size(), <, before + uint64_t(TIMES) * size / 2);
}

static bool device_takes;
static uint64_t num_taken;

static int lazy_write(SpiceCharDeviceInstance *, const uint8_t *, int len)
{
    if (!device_takes) {
        return 0;
    }
    num_taken += len;
    return len;
}

#ifdef USE_SMARTCARD
/* A client says to its card as much as it may, and goes while the guest takes nothing of it. The
 * guest is told so after what was on the way. */
static void card()
{
    /* what goes before each message to a card */
    struct Header
    {
        uint32_t type, reader_id, length;
    };
    enum { READER_ADD = 3, APDU = 7, PART = 64 * 1024, WHOLE = 256 * 1024 * 1024 };
    static const uint8_t part[PART] = { };
    const Header add = { GUINT32_TO_LE(READER_ADD), 0, 0 };
    const Header apdu = { GUINT32_TO_LE(APDU), 0, GUINT32_TO_LE(WHOLE - sizeof(Header)) };
    DeviceServer server("smartcard", nullptr);

    server.device->vmc_interface.write = lazy_write;
    {
        TestLink main(server.server, SPICE_CHANNEL_MAIN);
        TestLink card(server.server, SPICE_CHANNEL_SMARTCARD, main.let_in());

        g_assert_cmpint(card.authenticate(""), ==, SPICE_LINK_ERR_OK);
        num_taken = 0;
        device_takes = true;
        card.send_message(SPICE_MSGC_SMARTCARD_DATA, &add, sizeof(add));
        TestLink::run_events();
        g_assert_cmpuint(num_taken, ==, sizeof(Header));

        device_takes = false;
        card.send_header(SPICE_MSGC_SMARTCARD_DATA, WHOLE);
        card.send_all(&apdu, sizeof(apdu));
        for (uint32_t pos = sizeof(apdu); pos < WHOLE; pos += PART) {
            card.send_all(part, MIN(PART, WHOLE - pos));
            TestLink::run_events();
        }
    }
    device_takes = true;
    spice_server_char_device_wakeup(&server.device->instance);
    g_assert_cmpuint(num_taken, ==, 2 * sizeof(Header) + WHOLE);
}
#endif

#ifdef USE_LZ4
static bool had_event;

/* In parts, as the kernel does not hold it. */
static void send_data(TestLink *link, const std::vector<uint8_t> &message)
{
    link->send_header(SPICE_MSGC_SPICEVMC_COMPRESSED_DATA, message.size());
    for (size_t pos = 0; pos < message.size(); pos += 4096) {
        link->send_all(&message[pos], MIN(message.size() - pos, 4096));
        TestLink::run_events();
    }
}

/* Zeros, in LZ4's format of blocks: one of them, then a copy from 1 byte before that is nearly as
 * long, then five more. Returns a message. */
static std::vector<uint8_t> make_zeros(uint32_t size)
{
    std::vector<uint8_t> message(5);
    const uint32_t wire_size = GUINT32_TO_LE(size);
    uint32_t copied = size - 1 - 5 - 4 - 15;

    message[0] = SPICE_DATA_COMPRESSION_TYPE_LZ4;
    memcpy(&message[1], &wire_size, sizeof(wire_size));
    message.insert(message.end(), { 0x1f, 0, 1, 0 });
    for (; copied >= 255; copied -= 255) {
        message.push_back(255);
    }
    message.push_back(copied);
    message.insert(message.end(), { 0x50, 0, 0, 0, 0, 0 });
    return message;
}

/* The guest takes nothing. Once there is much, no more is read, until the guest takes some. */
static void full()
{
    static const uint8_t event = SPICE_PORT_EVENT_BREAK;
    DeviceServer server("port", "org.spice-space.test");
    TestLink main(server.server, SPICE_CHANNEL_MAIN);
    g_assert_cmpint(main.authenticate(""), ==, SPICE_LINK_ERR_OK);
    TestLink port(server.server, SPICE_CHANNEL_PORT, main.session_id());
    const std::vector<uint8_t> much = make_zeros(130 * 1024 * 1024);

    g_assert_cmpint(port.authenticate(""), ==, SPICE_LINK_ERR_OK);
    device_takes = had_event = false;
    server.device->vmc_interface.write = lazy_write;
    server.device->vmc_interface.event = [](SpiceCharDeviceInstance *, uint8_t) {
        had_event = true;
    };
    send_data(&port, much);
    port.send_message(SPICE_MSGC_PORT_EVENT, &event, sizeof(event));
    TestLink::run_events();
    g_assert_true(had_event);

    had_event = false;
    send_data(&port, much);
    send_data(&port, make_zeros(100));
    port.send_message(SPICE_MSGC_PORT_EVENT, &event, sizeof(event));
    TestLink::run_events();
    g_assert_false(had_event);

    device_takes = true;
    spice_server_char_device_wakeup(&server.device->instance);
    TestLink::run_events();
    g_assert_true(had_event);
}
#endif

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of each of these, and of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/message-size/port", port);
    g_test_add_func("/server/message-size/agent", agent);
    g_test_add_func("/server/message-size/half", half);
#ifdef USE_SMARTCARD
    g_test_add_func("/server/message-size/card", card);
#endif
#ifdef USE_LZ4
    g_test_add_func("/server/message-size/compressed", compressed);
    g_test_add_func("/server/message-size/full", full);
#endif
    return g_test_run();
}
