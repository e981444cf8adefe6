/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a client says of its monitors comes in parts, and the device gets it as a whole: of one
 * client, of one message, and of nothing but monitors.
 */
#include <config.h>

#include <spice/vd_agent.h>

#include "agent-msg-filter.h"
#include "migration-protocol.h"
#include "test-device-server.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

/* under which a client comes from another server */
#define ID 42

static const uint32_t tokens = GUINT32_TO_LE(10);

#include <spice/start-packed.h>
/* One monitor. */
struct SPICE_ATTR_PACKED Monitors
{
    VDAgentMessage header;
    VDAgentMonitorsConfig config;
    VDAgentMonConfig monitor;

    explicit Monitors(uint32_t width)
    {
        memset(this, 0, sizeof(*this));
        header.protocol = GUINT32_TO_LE(VD_AGENT_PROTOCOL);
        header.type = GUINT32_TO_LE(VD_AGENT_MONITORS_CONFIG);
        header.size = GUINT32_TO_LE(sizeof(*this) - sizeof(header));
        config.num_of_monitors = GUINT32_TO_LE(1);
        monitor.width = GUINT32_TO_LE(width);
    }
};
#include <spice/end-packed.h>

/* of a message, of which more is to follow */
enum { FIRST_PART = sizeof(VDAgentMessage) + 2 };

/* A guest whose agent runs, and whose device takes what a client says of its monitors. */
struct Server: public TestDeviceServer<TestDevice>
{
    Server():
        TestDeviceServer("vdagent", nullptr)
    {
        static QXLInterface functions;

        functions = *SPICE_CONTAINEROF(qxl.base.sif, QXLInterface, base);
        functions.client_monitors_config = [](QXLInstance *, VDAgentMonitorsConfig *config) {
            if (config) {
                numbers.push_back(config->num_of_monitors);
                widths.push_back(config->monitors[0].width);
            }
            return 1;
        };
        qxl.base.sif = &functions.base;
        numbers.clear();
        widths.clear();
    }

    /* what the device was told: how many monitors there are, and the first one's width */
    static std::vector<uint32_t> numbers;
    static std::vector<uint32_t> widths;
};

std::vector<uint32_t> Server::numbers;
std::vector<uint32_t> Server::widths;

struct Link: public TestLink
{
    explicit Link(const Server &server, uint32_t id = 0):
        TestLink(server.server, SPICE_CHANNEL_MAIN, id)
    {
        g_assert_cmpint(authenticate(""), ==, SPICE_LINK_ERR_OK);
    }

    void start_agent()
    {
        send_message(SPICE_MSGC_MAIN_AGENT_START, &tokens, sizeof(tokens));
    }

    void say(const void *data, uint32_t size)
    {
        send_message(SPICE_MSGC_MAIN_AGENT_DATA, data, size);
    }

    /* It is there, and what it said before has been heard. */
    void check()
    {
        send_message(SPICE_MSGC_MAIN_ATTACH_CHANNELS);
        next_message(SPICE_MSG_MAIN_CHANNELS_LIST);
    }

    /* It has said the first part of this. */
    void begin(const Monitors &monitors)
    {
        start_agent();
        say(&monitors, FIRST_PART);
        check();
    }
};

/* The device was told of this, and of nothing else. */
static void check_told(uint32_t width)
{
    g_assert_cmpuint(Server::widths.size(), ==, 1);
    g_assert_cmpuint(Server::numbers[0], ==, 1);
    g_assert_cmpuint(Server::widths[0], ==, width);
}

/* A whole message is heard, and is all that the device was told. */
static void check_heard(Link *main)
{
    const Monitors monitors(1024);

    main->say(&monitors, sizeof(monitors));
    main->check();
    check_told(1024);
}

static void parts()
{
    const Monitors monitors(800);
    Server server;
    Link main(server);

    main.start_agent();
    main.say(&monitors, FIRST_PART);
    main.say(reinterpret_cast<const uint8_t *>(&monitors) + FIRST_PART,
             sizeof(monitors) - FIRST_PART);
    main.check();
    check_told(800);
}

/* A client goes in the middle of a message. Another one is heard. */
static void gone()
{
    const Monitors before(800);
    Server server;
    {
        Link main(server);

        main.begin(before);
    }
    Link main(server);
    main.start_agent();
    check_heard(&main);
}

/* The agent goes in the middle of a message, and comes anew. The rest of the message is for
 * nobody, the next one is heard. */
static void agent_anew()
{
    const Monitors before(800);
    Server server;
    Link main(server);

    main.begin(before);
    spice_server_remove_interface(&server.device->instance.base);
    g_assert_cmpint(spice_server_add_interface(server.server, &server.device->instance.base), ==,
                    0);
    main.say(reinterpret_cast<const uint8_t *>(&before) + FIRST_PART, sizeof(before) - FIRST_PART);
    main.start_agent();
    check_heard(&main);
}

#include <spice/start-packed.h>
struct SPICE_ATTR_PACKED HandedOn
{
    SpiceMigrateDataHeader header;
    SpiceMigrateDataMain data;
};
#include <spice/end-packed.h>

/* A client that comes from another server hands on that it is in the middle of such a message, of
 * which @size bytes follow. These are @rest. */
static void come_from_elsewhere(Link *main, const void *rest, uint32_t size)
{
    const uint32_t version = GUINT32_TO_LE(1);
    HandedOn message = { };

    main->send_message(SPICE_MSGC_MAIN_MIGRATE_DST_DO_SEAMLESS, &version, sizeof(version));
    main->next_message(SPICE_MSG_MAIN_MIGRATE_DST_SEAMLESS_ACK);
    message.header.magic = SPICE_MIGRATE_DATA_MAIN_MAGIC;
    message.header.version = SPICE_MIGRATE_DATA_MAIN_VERSION;
    message.data.agent_base.version = SPICE_MIGRATE_DATA_CHAR_DEVICE_VERSION;
    message.data.agent_base.connected = 1;
    message.data.agent_base.num_client_tokens = 10;
    message.data.client_agent_started = 1;
    message.data.agent2client.chunk_header_size = 0;
    message.data.client2agent.msg_remaining = size;
    message.data.client2agent.msg_filter_result = AGENT_MSG_FILTER_MONITORS_CONFIG;
    main->start_agent();
    main->send_message(SPICE_MSGC_MIGRATE_DATA, &message, sizeof(message));
    main->say(rest, size);
}

/* It is: what was said of the monitors before is not known here. The next message is heard. */
static void migrated()
{
    const Monitors before(800);
    Server server;
    Link main(server, ID);

    come_from_elsewhere(&main, reinterpret_cast<const uint8_t *>(&before) + FIRST_PART,
                        sizeof(before) - FIRST_PART);
    check_heard(&main);
}

/* It is not, and what follows is a message of another type, which is shorter than what is said of
 * monitors. */
static void other_type()
{
    Server server;
    Link main(server, ID);
    Monitors other(0);

    other.header.type = GUINT32_TO_LE(VD_AGENT_MAX_CLIPBOARD);
    other.header.size = GUINT32_TO_LE(sizeof(VDAgentMaxClipboard));
    other.config.num_of_monitors = GUINT32_TO_LE(1000);
    come_from_elsewhere(&main, &other, sizeof(other.header) + sizeof(VDAgentMaxClipboard));
    main.check();
    g_assert_cmpuint(Server::numbers.size(), ==, 0);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of some of these, and of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/monitors-config/parts", parts);
    g_test_add_func("/server/monitors-config/gone", gone);
    g_test_add_func("/server/monitors-config/agent-anew", agent_anew);
    g_test_add_func("/server/monitors-config/migrated", migrated);
    g_test_add_func("/server/monitors-config/other-type", other_type);
    return g_test_run();
}
