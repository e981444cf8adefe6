/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A client that pastes 5 MB over a long line is given more tokens, so that it takes few round
 * trips. All arrives.
 */
#include <config.h>

#include <spice/vd_agent.h>

#include "red-token-window.h"
#include "test-channel-client.h"
#include "test-device-server.h"

#include "push-visibility.h"

/* bytes, of a message: one with its header is all that the device's buffer takes; microseconds */
enum { PASTED = 5 * 1000 * 1000, PART = 2000, ROUND_TRIP = 100 * 1000 };

/* In place of GLib's, microseconds: the line is as long as the test says. */
static int64_t now = 1;

gint64 g_get_monotonic_time()
{
    return now;
}

static size_t num_bytes;

static void count(VmcEmu *device)
{
    num_bytes += device->write_pos;
    device->write_pos = 0;
}

/* What the server has given since the last call. */
static uint32_t get_tokens(TestLink *main)
{
    uint32_t tokens = 0;

    TestLink::run_events();
    while (test_is_readable(main->socket, 0)) {
        const TestLinkMessage message = main->next_message();

        if (message.type == SPICE_MSG_MAIN_AGENT_TOKEN) {
            uint32_t given;

            g_assert_cmpuint(message.body.size(), ==, sizeof(given));
            memcpy(&given, message.body.data(), sizeof(given));
            tokens += GUINT32_FROM_LE(given);
        }
        TestLink::run_events();
    }
    return tokens;
}

static void paste()
{
    TestDeviceServer<TestServer> server("vdagent", nullptr);
    const uint32_t client_tokens = GUINT32_TO_LE(10);
    std::vector<uint8_t> data(PART);
    VDAgentMessage head = {};
    uint32_t tokens = RedTokenWindow::INITIAL;
    size_t sent = 0;
    int round_trips = 0;

    spice_server_vm_start(server.server);
    server.device->data_written_cb = count;
    num_bytes = 0;
    TestLink main(server.server, SPICE_CHANNEL_MAIN);
    main.let_in();
    main.send_message(SPICE_MSGC_MAIN_AGENT_START, &client_tokens, sizeof(client_tokens));
    get_tokens(&main);
    num_bytes = 0;

    head.protocol = GUINT32_TO_LE(VD_AGENT_PROTOCOL);
    head.type = GUINT32_TO_LE(VD_AGENT_CLIPBOARD);
    head.size = GUINT32_TO_LE(PASTED);
    memcpy(data.data(), &head, sizeof(head));
    while (sent < PASTED + sizeof(head)) {
        g_assert_cmpuint(tokens, >, 0);
        g_assert_cmpuint(tokens, <=, RedTokenWindow::MOST);
        uint32_t given = 0;
        for (; tokens > 0 && sent < PASTED + sizeof(head); --tokens) {
            const size_t size = MIN(data.size(), PASTED + sizeof(head) - sent);

            main.send_message(SPICE_MSGC_MAIN_AGENT_DATA, data.data(), size);
            sent += size;
            given += get_tokens(&main);
        }
        /* which come a round trip after they were taken */
        tokens += given;
        now += ROUND_TRIP;
        ++round_trips;
    }
    /* with a header of 8 bytes for each message */
    g_assert_cmpuint(num_bytes, ==, sent + (sent + data.size() - 1) / data.size() * 8);
    g_test_message("%d round trips", round_trips);
    g_assert_cmpint(round_trips, <, 30);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/agent-tokens/paste", paste);
    return g_test_run();
}
