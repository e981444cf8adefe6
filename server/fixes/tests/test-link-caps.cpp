/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A client may say any place for its capabilities, also one that wraps where sizes have 32 bits.
 * It is refused unless they are within what it sends.
 */
#include <config.h>

#include "test-channel-client.h"
#include "test-link.h"

#include "push-visibility.h"

/* Returns the server's answer to two capabilities at @offset of a client's first message. */
static uint32_t answer_to(uint32_t offset)
{
    TestServer server;
    const uint32_t wire_offset = GUINT32_TO_LE(offset);
    std::vector<uint8_t> message =
        test_link_message(SPICE_CHANNEL_MAIN, 0, 0, 1 << SPICE_COMMON_CAP_PROTOCOL_AUTH_SELECTION);
    struct {
        SpiceLinkHeader header;
        uint32_t error;
    } reply;
    int sockets[2];

    memcpy(&message[sizeof(SpiceLinkHeader) + offsetof(SpiceLinkMess, caps_offset)], &wire_offset,
           sizeof(wire_offset));
    test_make_sockets(TEST_UNIX, 0, sockets);
    g_assert_cmpint(write(sockets[1], message.data(), message.size()), ==, message.size());
    g_assert_cmpint(spice_server_add_client(server.server, sockets[0], FALSE), ==, 0);
    TestLink::run_events();
    g_assert_cmpint(recv(sockets[1], &reply, sizeof(reply), MSG_WAITALL), ==, sizeof(reply));
    close(sockets[1]);
    TestLink::run_events();
    return GUINT32_FROM_LE(reply.error);
}

static void within()
{
    g_assert_cmpint(answer_to(sizeof(SpiceLinkMess)), ==, SPICE_LINK_ERR_OK);
}

static void beside()
{
    static const uint32_t offsets[] = {
        0, sizeof(SpiceLinkMess) - 1,       // in other numbers
        sizeof(SpiceLinkMess) + 1, 0x1000, INT32_MAX, UINT32_MAX - 8,
        UINT32_MAX - 7, UINT32_MAX - 3, UINT32_MAX,     // their end is at 0, 4 and 7 if it wraps
    };

    for (const uint32_t offset : offsets) {
        g_assert_cmpint(answer_to(offset), ==, SPICE_LINK_ERR_INVALID_DATA);
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/link-caps/within", within);
    g_test_add_func("/server/link-caps/beside", beside);
    return g_test_run();
}
