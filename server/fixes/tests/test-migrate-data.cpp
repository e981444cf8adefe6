/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * At the end of a seamless migration a client hands on what the server that it comes from has
 * said of each channel. Nobody knows whether that server has said so, or whether there is one.
 */
#include <config.h>

#include <spice/vd_agent.h>

#include "migration-protocol.h"
#include "pixmap-cache.h"
#include "test-device-server.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

/* under which the client comes */
#define ID 42
/* a place far behind the end of a message, and more than there is */
#define FAR 0x40000000
#define MUCH 0x01000000

struct Server: public TestDeviceServer<TestDevice>
{
    explicit Server(const char *type = "port", const char *name = "org.spice-space.test"):
        TestDeviceServer(type, name) {}
};

/* A channel that waits for what the client is to hand on; the client's main channel is there. */
struct Link: public TestLink
{
    Link(const Server &server, uint8_t type):
        TestLink(server.server, type, ID)
    {
        const uint32_t version = GUINT32_TO_LE(1);

        g_assert_cmpint(authenticate(""), ==, SPICE_LINK_ERR_OK);
        if (type == SPICE_CHANNEL_MAIN) {
            send_message(SPICE_MSGC_MAIN_MIGRATE_DST_DO_SEAMLESS, &version, sizeof(version));
            next_message(SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_ACK);
        }
    }
};

#include <spice/start-packed.h>
/* What is handed on. Followed by as many bytes as it says, or not. */
template<typename T>
struct SPICE_ATTR_PACKED Message
{
    SpiceMigrateDataHeader header;
    T data;
    uint8_t rest[512];

    Message(uint32_t magic, uint32_t version)
    {
        memset(this, 0, sizeof(*this));
        header.magic = magic;
        header.version = version;
    }

    /* where the rest begins */
    uint32_t end() const
    {
        return sizeof(header) + sizeof(data);
    }
};
#include <spice/end-packed.h>

struct DisplayMessage: public Message<SpiceMigrateDataDisplay>
{
    DisplayMessage(): Message(SPICE_MIGRATE_DATA_DISPLAY_MAGIC, SPICE_MIGRATE_DATA_DISPLAY_VERSION)
    {
        data.glz_dict_data.size = 1 << 20;
        data.glz_dict_data.max_encoders = MAX_CACHE_CLIENTS;
        data.surfaces_at_client_ptr = end();
    }

    /* @num_surfaces: as many as it says there are; one is there */
    void set_surface(uint32_t num_surfaces, uint32_t id, int32_t bottom = 1)
    {
        const uint32_t surface[] = { num_surfaces, id, 0, 0, 1, static_cast<uint32_t>(bottom) };

        memcpy(rest, surface, sizeof(surface));
    }
};

struct MainMessage: public Message<SpiceMigrateDataMain>
{
    MainMessage(): Message(SPICE_MIGRATE_DATA_MAIN_MAGIC, SPICE_MIGRATE_DATA_MAIN_VERSION)
    {
        data.agent_base.version = SPICE_MIGRATE_DATA_CHAR_DEVICE_VERSION;
        data.agent_base.connected = 1;
        data.client_agent_started = 1;
        data.agent2client.chunk_header_size = sizeof(VDIChunkHeader);
        data.agent2client.chunk_header.size = sizeof(VDAgentMessage);
    }
};

struct PortMessage: public Message<SpiceMigrateDataSpiceVmc>
{
    PortMessage(): Message(SPICE_MIGRATE_DATA_SPICEVMC_MAGIC, SPICE_MIGRATE_DATA_SPICEVMC_VERSION)
    {
        data.base.version = SPICE_MIGRATE_DATA_CHAR_DEVICE_VERSION;
        data.base.connected = 1;
    }
};

/* The channel does not take it. */
template<typename T>
static void refuse(uint8_t type, const T &message, uint32_t size = sizeof(T))
{
    Server server;
    Link main(server, SPICE_CHANNEL_MAIN);
    Link channel(server, type);

    channel.send_message(SPICE_MSGC_MIGRATE_DATA, &message, size);
    channel.wait_end();
}

/* It is less than that, or something else. */
static void header()
{
    static const uint8_t types[] = {
        SPICE_CHANNEL_INPUTS, SPICE_CHANNEL_DISPLAY, SPICE_CHANNEL_PORT,
    };
    static const uint8_t nothing[256] = { };

    for (const uint8_t type : types) {
        refuse(type, nothing);
        refuse(type, nothing, sizeof(SpiceMigrateDataHeader));
    }
    for (const uint32_t size : { sizeof(nothing), sizeof(SpiceMigrateDataHeader) }) {
        Server server;
        Link main(server, SPICE_CHANNEL_MAIN);

        main.send_message(SPICE_MSGC_MIGRATE_DATA, nothing, size);
        main.wait_end();
    }
    PortMessage newer;
    newer.header.version = 99;
    refuse(SPICE_CHANNEL_PORT, newer);
    newer.header.version = SPICE_MIGRATE_DATA_SPICEVMC_VERSION;
    newer.data.base.version = 99;
    refuse(SPICE_CHANNEL_PORT, newer);
}

/* A surface that is none. */
static void display_surface_id()
{
    for (const uint32_t id : { UINT32_C(0x10000000), UINT32_C(100000), UINT32_MAX }) {
        DisplayMessage message;

        message.set_surface(1, id);
        refuse(SPICE_CHANNEL_DISPLAY, message);
    }
}

/* More surfaces than are named, or all of them elsewhere. */
static void display_surfaces()
{
    DisplayMessage many;
    DisplayMessage beside;

    many.set_surface(MUCH, 0);
    refuse(SPICE_CHANNEL_DISPLAY, many);
    many.data.surfaces_at_client_ptr = sizeof(many) - 1;
    refuse(SPICE_CHANNEL_DISPLAY, many);
    beside.data.surfaces_at_client_ptr = FAR;
    refuse(SPICE_CHANNEL_DISPLAY, beside);
}

static void display_dictionary()
{
    DisplayMessage message;

    message.data.glz_dict_data.max_encoders = 0;
    refuse(SPICE_CHANNEL_DISPLAY, message);
    message.data.glz_dict_data.max_encoders = UINT32_MAX;
    refuse(SPICE_CHANNEL_DISPLAY, message);
    message.data.glz_dict_data.max_encoders = MAX_CACHE_CLIENTS;
    message.data.glz_dict_data.size = UINT32_MAX;
    refuse(SPICE_CHANNEL_DISPLAY, message);
}

/* What is lossy lies beside the screen, or is nothing. That is no fault of the client's, as the
 * guest may have another screen by now. It is drawn for as any other is. */
static void display_lossy()
{
    for (const int32_t bottom : { 100000, -100000 }) {
        Server server;
        DisplayMessage message;
        Link main(server, SPICE_CHANNEL_MAIN);
        Link display(server, SPICE_CHANNEL_DISPLAY);

        spice_server_set_jpeg_compression(server.server, SPICE_WAN_COMPRESSION_AUTO);
        message.data.low_bandwidth_setting = 1;
        message.set_surface(1, 0, bottom);
        display.send_message(SPICE_MSGC_MIGRATE_DATA, &message, sizeof(message));
        display.next_message(SPICE_MSG_DISPLAY_INVAL_ALL_PALETTES);
    }
}

/* More than was sent of what the device has not taken yet, or of somewhere else. */
static void port()
{
    PortMessage message;

    message.data.base.write_size = MUCH;
    message.data.base.write_data_ptr = message.end();
    refuse(SPICE_CHANNEL_PORT, message);
    message.data.base.write_size = 1;
    message.data.base.write_data_ptr = FAR;
    refuse(SPICE_CHANNEL_PORT, message);
    message.data.base.write_size = UINT32_MAX;
    refuse(SPICE_CHANNEL_PORT, message);
    message.data.base.write_size = 1;
    message.data.base.write_data_ptr = sizeof(message.header) - 1;
    refuse(SPICE_CHANNEL_PORT, message);
    message.data.base.write_size = 0;
    message.data.base.connected = 0;
    refuse(SPICE_CHANNEL_PORT, message);
}

/* Not taken while a guest's agent runs, which the client has started. */
static void refuse_agent(const MainMessage &message, bool start = true)
{
    const uint32_t tokens = GUINT32_TO_LE(10);
    Server server("vdagent", nullptr);
    Link main(server, SPICE_CHANNEL_MAIN);

    if (start) {
        main.send_message(SPICE_MSGC_MAIN_AGENT_START, &tokens, sizeof(tokens));
    }
    main.send_message(SPICE_MSGC_MIGRATE_DATA, &message, sizeof(message));
    main.wait_end();
}

static void agent()
{
    MainMessage message;

    /* it has not been started */
    message.data.agent2client.msg_header_done = 1;
    refuse_agent(message, false);

    message.data.agent_base.write_size = MUCH;
    message.data.agent_base.write_data_ptr = message.end();
    refuse_agent(message);
    message.data.agent_base.write_size = 0;

    message.data.client2agent.msg_filter_result = 99;
    refuse_agent(message);
    message.data.client2agent.msg_filter_result = 0;

    message.data.agent2client.chunk_header_size = MUCH;
    refuse_agent(message);
    message.data.agent2client.chunk_header_size = sizeof(VDIChunkHeader);

    message.data.agent2client.msg_header_done = 0;
    message.data.agent2client.msg_header_partial_len = MUCH;
    message.data.agent2client.msg_header_ptr = message.end();
    refuse_agent(message);
    message.data.agent2client.msg_header_partial_len = 1;
    message.data.agent2client.msg_header_ptr = FAR;
    refuse_agent(message);
    message.data.agent2client.msg_header_ptr = 0;
    refuse_agent(message);
    message.data.agent2client.msg_header_ptr = message.end();
    message.data.agent2client.chunk_header_size = 1;
    refuse_agent(message);

    /* of a chunk that has not begun, or nothing of one that has */
    message.data.agent2client.msg_header_partial_len = 0;
    message.data.agent2client.msg_header_done = 1;
    refuse_agent(message);
    message.data.agent2client.chunk_header_size = sizeof(VDIChunkHeader);
    message.data.agent2client.msg_header_done = 0;
    refuse_agent(message);
}

/* The agent was there before, and no client has started it, or it has gone. */
static void agent_before()
{
    MainMessage message;

    message.data.agent2client.msg_header_done = 1;
    message.data.agent_base.connected = 0;
    {
        Server server("vdagent", nullptr);
        Link main(server, SPICE_CHANNEL_MAIN);

        main.send_message(SPICE_MSGC_MIGRATE_DATA, &message, sizeof(message));
        main.next_message(SPICE_MSG_MAIN_AGENT_CONNECTED);
    }
    message.data.agent_base.connected = 1;
    {
        Server server("vdagent", nullptr);
        Link main(server, SPICE_CHANNEL_MAIN);

        spice_server_remove_interface(&server.device->instance.base);
        main.send_message(SPICE_MSGC_MIGRATE_DATA, &message, sizeof(message));
        main.next_message(SPICE_MSG_MAIN_AGENT_DISCONNECTED);
        g_assert_cmpint(spice_server_add_interface(server.server, &server.device->instance.base),
                        ==, 0);
    }
}

/* It was not started, and yet some of a message is to follow. */
static void agent_not_started()
{
    static const uint8_t data[10] = { };
    const uint32_t tokens = GUINT32_TO_LE(10);
    MainMessage message;
    Server server("vdagent", nullptr);
    Link main(server, SPICE_CHANNEL_MAIN);

    message.data.agent2client.msg_header_done = 1;
    message.data.client_agent_started = 0;
    message.data.client2agent.msg_remaining = 100;
    main.send_message(SPICE_MSGC_MAIN_AGENT_START, &tokens, sizeof(tokens));
    main.send_message(SPICE_MSGC_MIGRATE_DATA, &message, sizeof(message));
    main.send_message(SPICE_MSGC_MAIN_AGENT_DATA, data, sizeof(data));
    main.send_message(SPICE_MSGC_MAIN_ATTACH_CHANNELS);
    main.next_message(SPICE_MSG_MAIN_CHANNELS_LIST);
    g_assert_cmpuint(server.device->write_pos, ==, 0);
}

/* What the device did not take before is taken now, and the client gets the agent's message of
 * which the former server had read a part. */
static void agent_restored()
{
    static const char written[] = "written";
    const uint32_t tokens = GUINT32_TO_LE(10);
    VDAgentMessage header = { };
    MainMessage message;
    Server server("vdagent", nullptr);
    Link main(server, SPICE_CHANNEL_MAIN);

    header.protocol = GUINT32_TO_LE(VD_AGENT_PROTOCOL);
    header.type = GUINT32_TO_LE(VD_AGENT_REPLY);
    memcpy(message.rest, written, sizeof(written));
    message.data.agent_base.write_size = sizeof(written);
    message.data.agent_base.write_num_client_tokens = 1;
    message.data.agent_base.write_data_ptr = message.end();
    message.data.agent_base.num_send_tokens = 10;
    message.data.agent2client.chunk_header.port = VDP_CLIENT_PORT;
    message.data.agent2client.chunk_header.size = sizeof(header) - 5;
    message.data.agent2client.msg_header_partial_len = 5;
    message.data.agent2client.msg_header_ptr = message.end() + sizeof(written);
    memcpy(message.rest + sizeof(written), &header, 5);
    memcpy(server.device->message, reinterpret_cast<uint8_t *>(&header) + 5, sizeof(header) - 5);

    main.send_message(SPICE_MSGC_MAIN_AGENT_START, &tokens, sizeof(tokens));
    main.send_message(SPICE_MSGC_MIGRATE_DATA, &message, sizeof(message));
    TestLink::run_events();
    g_assert_cmpuint(server.device->write_pos, ==, sizeof(written));
    g_assert_cmpmem(server.device->write_buf, sizeof(written), written, sizeof(written));
    vmc_emu_add_read_till(server.device, server.device->message + sizeof(header) - 5);
    spice_server_char_device_wakeup(&server.device->instance);
    const TestLinkMessage data = main.next_message(SPICE_MSG_MAIN_AGENT_DATA);
    g_assert_cmpmem(data.body.data(), data.body.size(), &header, sizeof(header));
}

/* The former server had read a whole chunk, and knows how much of the message is to follow. */
static void agent_between_chunks()
{
    static const uint8_t data[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    const VDIChunkHeader chunk = { VDP_CLIENT_PORT, sizeof(data) };
    const uint32_t tokens = GUINT32_TO_LE(10);

    /* the next chunk begins, or nothing is left of the last */
    for (const bool begins : { true, false }) {
        MainMessage message;
        Server server("vdagent", nullptr);
        Link main(server, SPICE_CHANNEL_MAIN);

        message.data.agent_base.num_send_tokens = 10;
        message.data.agent2client.chunk_header_size = begins ? 0 : sizeof(chunk);
        message.data.agent2client.chunk_header.size = 0;
        message.data.agent2client.msg_header_done = !begins;
        message.data.agent2client.msg_remaining = sizeof(data);
        memcpy(server.device->message, &chunk, sizeof(chunk));
        memcpy(server.device->message + sizeof(chunk), data, sizeof(data));

        main.send_message(SPICE_MSGC_MAIN_AGENT_START, &tokens, sizeof(tokens));
        main.send_message(SPICE_MSGC_MIGRATE_DATA, &message, sizeof(message));
        TestLink::run_events();
        vmc_emu_add_read_till(server.device, server.device->message + sizeof(chunk) + sizeof(data));
        spice_server_char_device_wakeup(&server.device->instance);
        const TestLinkMessage said = main.next_message(SPICE_MSG_MAIN_AGENT_DATA);
        g_assert_cmpmem(said.body.data(), said.body.size(), data, sizeof(data));
    }
}

/* What was handed on is kept until the agent comes, which may be too late to refuse it: the client
 * goes then. */
static void refuse_agent_later(const MainMessage &message)
{
    VmcEmu *const agent = vmc_emu_new("vdagent", nullptr);
    {
        Server server;
        Link main(server, SPICE_CHANNEL_MAIN);

        main.send_message(SPICE_MSGC_MIGRATE_DATA, &message, sizeof(message));
        TestLink::run_events();
        g_assert_cmpint(spice_server_add_interface(server.server, &agent->instance.base), ==, 0);
        main.wait_end();
        spice_server_remove_interface(&agent->instance.base);
    }
    vmc_emu_destroy(agent);
}

static void agent_later()
{
    MainMessage message;

    message.data.agent2client.msg_header_done = 1;
    message.data.agent_base.version = 99;
    refuse_agent_later(message);
}

/* The header is not kept. */
static void agent_later_header()
{
    MainMessage message;

    message.data.agent2client.msg_header_partial_len = 5;
    message.data.agent2client.msg_header_ptr = 0;
    refuse_agent_later(message);
}

#ifdef USE_SMARTCARD
/* The same as of a port, and of what the device has given in part. Devices are known to the whole
 * process, so there is one server. */
static void smartcard()
{
    Server server("smartcard", nullptr);
    struct { uint32_t size, offset, length; } cases[] = {
        { 1, FAR, 0 },
        { MUCH, 0, 0 },
        { UINT32_MAX, 0, 0 },
        /* with a length that says as much, or that is less than 0 once something was added */
        { 16, 0, INT32_MAX },
        { 16, 0, UINT32_MAX - 7 },
        /* with one that says less */
        { 512, 0, 0 },
    };

    for (const auto &what : cases) {
        Message<SpiceMigrateDataSmartcard> message(SPICE_MIGRATE_DATA_SMARTCARD_MAGIC,
                                                   SPICE_MIGRATE_DATA_SMARTCARD_VERSION);
        const uint32_t length = GUINT32_TO_BE(what.length);
        Link main(server, SPICE_CHANNEL_MAIN);
        Link channel(server, SPICE_CHANNEL_SMARTCARD);

        message.data.base.version = SPICE_MIGRATE_DATA_CHAR_DEVICE_VERSION;
        message.data.base.connected = 1;
        message.data.read_size = what.size;
        message.data.read_data_ptr = message.end() + what.offset;
        memcpy(message.rest + 2 * sizeof(length), &length, sizeof(length));
        channel.send_message(SPICE_MSGC_MIGRATE_DATA, &message, sizeof(message));
        channel.wait_end();
    }
}
#endif

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of each of these, and of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/migrate-data/header", header);
    g_test_add_func("/server/migrate-data/display-surface-id", display_surface_id);
    g_test_add_func("/server/migrate-data/display-surfaces", display_surfaces);
    g_test_add_func("/server/migrate-data/display-dictionary", display_dictionary);
    g_test_add_func("/server/migrate-data/display-lossy", display_lossy);
    g_test_add_func("/server/migrate-data/port", port);
    g_test_add_func("/server/migrate-data/agent", agent);
    g_test_add_func("/server/migrate-data/agent-before", agent_before);
    g_test_add_func("/server/migrate-data/agent-not-started", agent_not_started);
    g_test_add_func("/server/migrate-data/agent-restored", agent_restored);
    g_test_add_func("/server/migrate-data/agent-between-chunks", agent_between_chunks);
    g_test_add_func("/server/migrate-data/agent-later", agent_later);
    g_test_add_func("/server/migrate-data/agent-later-header", agent_later_header);
#ifdef USE_SMARTCARD
    g_test_add_func("/server/migrate-data/smartcard", smartcard);
#endif
    return g_test_run();
}
