/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a client that was let in may say at a moment at which it makes no sense. It is cut off, or
 * is not heard; the server lives on.
 */
#include <config.h>

#include <spice/vd_agent.h>

#include "migration-protocol.h"
#include "test-device-server.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

/* under which clients come from another server */
#define ID 42

struct Server: public TestDevice
{
    Server()
    {
        g_assert_cmpint(spice_server_set_noauth(server), ==, 0);
    }

    ~Server()
    {
        test_link_let_in(server);
    }
};

/* A server with a guest whose agent runs. */
struct AgentServer: public TestDeviceServer<TestDevice>
{
    AgentServer():
        TestDeviceServer("vdagent", nullptr) {}
};

/* A channel of a client that was let in. */
struct Link: public TestLink
{
    Link(const TestDevice &server, uint8_t type, uint32_t id = 0):
        TestLink(server.server, type, id, TEST_UNIX, 0,
                 1 << SPICE_MAIN_CAP_SEMI_SEAMLESS_MIGRATE | 1 << SPICE_MAIN_CAP_SEAMLESS_MIGRATE |
                 1 << SPICE_MAIN_CAP_AGENT_CONNECTED_TOKENS)
    {
        g_assert_cmpint(authenticate(""), ==, SPICE_LINK_ERR_OK);
    }

    /* Returns the type of the answer. */
    uint16_t do_seamless(uint32_t version)
    {
        const uint32_t body = GUINT32_TO_LE(version);
        uint16_t type;

        send_message(SPICE_MSGC_MAIN_MIGRATE_DST_DO_SEAMLESS, &body, sizeof(body));
        do {
            type = next_message().type;
        } while (type != SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_ACK &&
                 type != SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_NACK);
        return type;
    }

    void start_agent()
    {
        const uint32_t tokens = GUINT32_TO_LE(10);

        send_message(SPICE_MSGC_MAIN_AGENT_START, &tokens, sizeof(tokens));
    }

    /* The main channel is there, and what was said before has been heard. */
    void check()
    {
        send_message(SPICE_MSGC_MAIN_ATTACH_CHANNELS);
        next_message(SPICE_MSG_MAIN_CHANNELS_LIST);
    }
};

/* No migration is under way. */
static void flush_mark()
{
    static const uint8_t types[] = {
        SPICE_CHANNEL_MAIN, SPICE_CHANNEL_INPUTS, SPICE_CHANNEL_CURSOR, SPICE_CHANNEL_DISPLAY,
    };

    for (const uint8_t type : types) {
        Server server;
        Link main(server, SPICE_CHANNEL_MAIN);
        const uint32_t id = main.session_id();

        if (type == SPICE_CHANNEL_MAIN) {
            main.send_message(SPICE_MSGC_MIGRATE_FLUSH_MARK);
            main.wait_end();
            continue;
        }
        Link channel(server, type, id);
        if (type == SPICE_CHANNEL_DISPLAY) {
            channel.say_display_init();
        }
        channel.send_message(SPICE_MSGC_MIGRATE_FLUSH_MARK);
        channel.wait_end();
        main.check();
    }
}

/* The client does not come from another server. */
static void do_seamless()
{
    Server server;
    Link main(server, SPICE_CHANNEL_MAIN);

    g_assert_cmpint(main.do_seamless(1), ==, SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_NACK);
    main.check();
}

/* It does, and says so twice, then in a version that the server does not know. */
static void do_seamless_again()
{
    Server server;
    Link main(server, SPICE_CHANNEL_MAIN, ID);

    g_assert_cmpint(main.do_seamless(1), ==, SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_ACK);
    g_assert_cmpint(main.do_seamless(1), ==, SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_NACK);
    Link inputs(server, SPICE_CHANNEL_INPUTS, ID);
    g_assert_cmpint(main.do_seamless(99), ==, SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_NACK);
    Link cursor(server, SPICE_CHANNEL_CURSOR, ID);
}

/* The client goes before its migration is over, and so do the channels that wait for that. */
static void gone_before()
{
    Server server;
    std::unique_ptr<Link> main(new Link(server, SPICE_CHANNEL_MAIN, ID));
    Link inputs(server, SPICE_CHANNEL_INPUTS, ID);

    main.reset();
    inputs.wait_end();
}

/* The one before it has gone without an end of its migration. */
static void seamless_before()
{
    Server server;
    {
        Link main(server, SPICE_CHANNEL_MAIN, ID);
        g_assert_cmpint(main.do_seamless(1), ==, SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_ACK);
    }
    Link main(server, SPICE_CHANNEL_MAIN, ID);
    Link inputs(server, SPICE_CHANNEL_INPUTS, ID);
    g_assert_cmpint(main.do_seamless(1), ==, SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_ACK);
}

/* The client's migration is a seamless one, which does not end with this. */
static void migrate_end()
{
    Server server;
    Link main(server, SPICE_CHANNEL_MAIN, ID);

    g_assert_cmpint(main.do_seamless(1), ==, SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_ACK);
    main.send_message(SPICE_MSGC_MAIN_MIGRATE_END);
    g_assert_cmpint(main.do_seamless(1), ==, SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_NACK);
}

static void display_init_again()
{
    Server server;
    Link main(server, SPICE_CHANNEL_MAIN);
    Link display(server, SPICE_CHANNEL_DISPLAY, main.session_id());

    display.say_display_init();
    display.say_display_init();
    display.wait_end();
    main.check();
}

/* A dictionary that is larger than any may be. */
static void display_init_large()
{
    Server server;
    Link main(server, SPICE_CHANNEL_MAIN);
    Link display(server, SPICE_CHANNEL_DISPLAY, main.session_id());

    display.say_display_init(1 << 30);
    display.wait_end();
    main.check();
}

static void agent_tokens_without_start()
{
    AgentServer server;
    Link main(server, SPICE_CHANNEL_MAIN);
    const uint32_t tokens = GUINT32_TO_LE(10);

    main.send_message(SPICE_MSGC_MAIN_AGENT_TOKEN, &tokens, sizeof(tokens));
    main.check();
}

/* Says the first half of a message to the agent. */
static void say_half(Link *main)
{
    static const uint8_t half[sizeof(VDAgentMessage) / 2] = { };

    main->start_agent();
    main->check();
    main->send_header(SPICE_MSGC_MAIN_AGENT_DATA, sizeof(VDAgentMessage));
    main->send_all(half, sizeof(half));
    TestLink::run_events();
}

/* Another client takes over in the middle of a message. Its own is heard. */
static void agent_data_in_part()
{
    AgentServer server;
    VDAgentMessage message = { };
    Link former(server, SPICE_CHANNEL_MAIN);

    message.protocol = GUINT32_TO_LE(VD_AGENT_PROTOCOL);
    message.type = GUINT32_TO_LE(VD_AGENT_CLIENT_DISCONNECTED);
    say_half(&former);
    Link main(server, SPICE_CHANNEL_MAIN);
    main.start_agent();
    main.check();
    const unsigned before = server.device->write_pos;
    main.send_message(SPICE_MSGC_MAIN_AGENT_DATA, &message, sizeof(message));
    main.check();
    g_assert_cmpuint(server.device->write_pos, ==,
                     before + sizeof(VDIChunkHeader) + sizeof(message));
}

/* The same, and the agent comes anew, to which nobody may speak yet. */
static void agent_data_of_former()
{
    AgentServer server;
    VDAgentMessage message = { };
    Link former(server, SPICE_CHANNEL_MAIN);

    message.protocol = GUINT32_TO_LE(VD_AGENT_PROTOCOL);
    say_half(&former);
    spice_server_remove_interface(&server.device->instance.base);
    g_assert_cmpint(spice_server_add_interface(server.server, &server.device->instance.base), ==,
                    0);
    Link main(server, SPICE_CHANNEL_MAIN);
    main.send_message(SPICE_MSGC_MAIN_AGENT_DATA, &message, sizeof(message));
    main.check();
}

/* A message to the agent begins before there is one, and ends when it has come, and was restored
 * with what the client says of it. */
static void agent_data_before_agent()
{
    static const uint8_t data[100] = { };
    const uint32_t half = sizeof(data) / 2;
    struct SPICE_ATTR_PACKED {
        SpiceMigrateDataHeader header;
        SpiceMigrateDataMain data;
    } message = { };
    VmcEmu *const agent = vmc_emu_new("vdagent", nullptr);
    {
        Server server;
        Link main(server, SPICE_CHANNEL_MAIN, ID);

        g_assert_cmpint(main.do_seamless(1), ==, SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_ACK);
        message.header.magic = SPICE_MIGRATE_DATA_MAIN_MAGIC;
        message.header.version = SPICE_MIGRATE_DATA_MAIN_VERSION;
        message.data.agent_base.version = SPICE_MIGRATE_DATA_CHAR_DEVICE_VERSION;
        message.data.agent_base.connected = 1;
        message.data.agent_base.num_client_tokens = 10;
        message.data.client_agent_started = 1;
        message.data.client2agent.msg_remaining = sizeof(data);
        main.send_message(SPICE_MSGC_MIGRATE_DATA, &message, sizeof(message));
        main.send_header(SPICE_MSGC_MAIN_AGENT_DATA, sizeof(data));
        main.send_all(data, half);
        TestLink::run_events();
        g_assert_cmpint(spice_server_add_interface(server.server, &agent->instance.base), ==, 0);
        main.send_all(data + half, sizeof(data) - half);
        main.check();
        g_assert_cmpuint(agent->write_pos, ==, 0);
        spice_server_remove_interface(&agent->instance.base);
    }
    vmc_emu_destroy(agent);
}

/* The server is migrated to another host. Returns what the client is to hand on there. */
static SpiceMigrateDataMain migrate_away(const TestDevice &server, Link *main)
{
    static SpiceMigrateInterface functions = {};
    static SpiceMigrateInstance migration;
    SpiceMigrateDataMain data;

    migration = {};
    functions.base.type = SPICE_INTERFACE_MIGRATION;
    functions.base.major_version = SPICE_INTERFACE_MIGRATION_MAJOR;
    functions.base.minor_version = SPICE_INTERFACE_MIGRATION_MINOR;
    functions.migrate_connect_complete = [](SpiceMigrateInstance *) {};
    functions.migrate_end_complete = [](SpiceMigrateInstance *) {};
    migration.base.sif = &functions.base;
    g_assert_cmpint(spice_server_add_interface(server.server, &migration.base), ==, 0);
    spice_server_set_seamless_migration(server.server, TRUE);
    main->check();
    g_assert_cmpint(spice_server_migrate_connect(server.server, "nowhere", 1, 0, nullptr), ==, 0);
    main->next_message(SPICE_MSG_MAIN_MIGRATE_BEGIN_SEAMLESS);
    main->send_message(SPICE_MSGC_MAIN_MIGRATE_CONNECTED_SEAMLESS);
    main->check();
    g_assert_cmpint(spice_server_migrate_end(server.server, TRUE), ==, 0);
    main->next_message(SPICE_MSG_MIGRATE);
    main->send_message(SPICE_MSGC_MIGRATE_FLUSH_MARK);
    const TestLinkMessage message = main->next_message(SPICE_MSG_MIGRATE_DATA);
    g_assert_cmpuint(message.body.size(), >=, sizeof(SpiceMigrateDataHeader) + sizeof(data));
    memcpy(&data, message.body.data() + sizeof(SpiceMigrateDataHeader), sizeof(data));
    return data;
}

/* The client has not started the agent that runs. */
static void agent_without_start()
{
    AgentServer server;
    Link main(server, SPICE_CHANNEL_MAIN);

    migrate_away(server, &main);
}

/* The same after the agent has given the first @num_bytes of a chunk that has 10 bytes of a
 * message's 100 bytes of data. */
static SpiceMigrateDataMain migrate_within_chunk(unsigned num_bytes)
{
    VDIChunkHeader chunk = { VDP_CLIENT_PORT, sizeof(VDAgentMessage) + 10 };
    VDAgentMessage message = { };
    AgentServer server;
    Link main(server, SPICE_CHANNEL_MAIN);

    message.protocol = GUINT32_TO_LE(VD_AGENT_PROTOCOL);
    message.type = GUINT32_TO_LE(VD_AGENT_CLIPBOARD);
    message.size = GUINT32_TO_LE(100);
    memcpy(server.device->message, &chunk, sizeof(chunk));
    memcpy(server.device->message + sizeof(chunk), &message, sizeof(message));
    main.start_agent();
    main.check();
    vmc_emu_add_read_till(server.device, server.device->message + num_bytes);
    spice_server_char_device_wakeup(&server.device->instance);
    TestLink::run_events();
    return migrate_away(server, &main);
}

/* The other server is told what is left of the chunk and of the message. */
static void agent_in_part()
{
    static const struct {
        unsigned num_bytes;
        uint32_t chunk_header_size, chunk_size;
        bool header_done;
        uint32_t header_size, remaining;
    } cases[] = {
        /* of the chunk: all, some of its header, its header, */
        { sizeof(VDIChunkHeader) + sizeof(VDAgentMessage) + 10, 0, 0, false, 0, 90 },
        { 3, 3, 0, false, 0, 0 },
        { sizeof(VDIChunkHeader), sizeof(VDIChunkHeader), sizeof(VDAgentMessage) + 10, true, 0, 0 },
        /* some of the message's header, that header, some data */
        { sizeof(VDIChunkHeader) + 5, sizeof(VDIChunkHeader), sizeof(VDAgentMessage) + 5, false,
          5, 0 },
        { sizeof(VDIChunkHeader) + sizeof(VDAgentMessage), sizeof(VDIChunkHeader), 10, true,
          0, 100 },
        { sizeof(VDIChunkHeader) + sizeof(VDAgentMessage) + 4, sizeof(VDIChunkHeader), 6, true,
          0, 96 },
    };

    for (const auto &what : cases) {
        const SpiceMigrateDataMain data = migrate_within_chunk(what.num_bytes);

        g_assert_cmpuint(data.agent2client.chunk_header_size, ==, what.chunk_header_size);
        if (what.chunk_header_size == sizeof(VDIChunkHeader)) {
            g_assert_cmpuint(data.agent2client.chunk_header.size, ==, what.chunk_size);
        }
        g_assert_cmpuint(data.agent2client.msg_header_done, ==, what.header_done);
        g_assert_cmpuint(data.agent2client.msg_header_partial_len, ==, what.header_size);
        g_assert_cmpuint(data.agent2client.msg_remaining, ==, what.remaining);
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of each of these, and of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/client-messages/flush-mark", flush_mark);
    g_test_add_func("/server/client-messages/do-seamless", do_seamless);
    g_test_add_func("/server/client-messages/do-seamless-again", do_seamless_again);
    g_test_add_func("/server/client-messages/seamless-before", seamless_before);
    g_test_add_func("/server/client-messages/gone-before", gone_before);
    g_test_add_func("/server/client-messages/migrate-end", migrate_end);
    g_test_add_func("/server/client-messages/display-init-again", display_init_again);
    g_test_add_func("/server/client-messages/display-init-large", display_init_large);
    g_test_add_func("/server/client-messages/agent-tokens", agent_tokens_without_start);
    g_test_add_func("/server/client-messages/agent-data-in-part", agent_data_in_part);
    g_test_add_func("/server/client-messages/agent-data-of-former", agent_data_of_former);
    g_test_add_func("/server/client-messages/agent-data-before-agent", agent_data_before_agent);
    g_test_add_func("/server/client-messages/agent-without-start", agent_without_start);
    g_test_add_func("/server/client-messages/agent-in-part", agent_in_part);
    return g_test_run();
}
