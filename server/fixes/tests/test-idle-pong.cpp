/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The main channel's answer to a ping that watches the connection is not taken for one of its
 * test of the link, which has no ping under way, whatever number the ping has.
 */
#include <config.h>

#include <cstdlib>
#include <vector>

#include "main-channel-client.h"
#include "test-channel-client.h"
#include "test-sockets.h"

#include "push-visibility.h"

/* microseconds that the server has until it pings; it does after 100 ms in which nothing goes */
#define ENOUGH (10 * 1000000)

/* In place of the C library's. The first of some libraries, musl's for example, is this one. */
int rand()
{
    return 0;
}

/* A client that answers each ping. */
struct AnsweringClient
{
    int fd;
    std::vector<uint8_t> bytes;

    void step()
    {
        uint8_t data[4096];
        SpiceMiniDataHeader header;
        ssize_t n;

        while ((n = read(fd, data, sizeof(data))) > 0) {
            bytes.insert(bytes.end(), data, data + n);
        }
        while (bytes.size() >= sizeof(header)) {
            memcpy(&header, bytes.data(), sizeof(header));
            const size_t size = sizeof(header) + GUINT32_FROM_LE(header.size);
            if (bytes.size() < size) {
                return;
            }
            if (GUINT16_FROM_LE(header.type) == SPICE_MSG_PING) {
                header.type = GUINT16_TO_LE(SPICE_MSGC_PONG);
                memcpy(bytes.data(), &header, sizeof(header));
                g_assert_cmpint(write(fd, bytes.data(), size), ==, size);
            }
            bytes.erase(bytes.begin(), bytes.begin() + size);
        }
    }
};

static void test_idle_pong()
{
    TestServer server;
    int sockets[2];

    test_make_sockets(TEST_TCP, 0, sockets);
    red_socket_set_non_blocking(sockets[0], true);
    red_socket_set_non_blocking(sockets[1], true);
    auto channel = main_channel_new(server.server);
    RedClient *red_client = red_client_new(server.server, FALSE);
    MainChannelClient *mcc = main_channel_link(channel.get(), red_client,
                                               red_stream_new(server.server, sockets[0]), 0, FALSE,
                                               &server.caps);
    AnsweringClient client = { sockets[1], { } };
    const int64_t latest = g_get_monotonic_time() + ENOUGH;

    g_assert_nonnull(mcc);
    /* which has to come first */
    mcc->push_init(1, SPICE_MOUSE_MODE_SERVER, FALSE, 0, 0);
    /* the channel's own measurement, that is, who watches the connection has the pongs */
    while (static_cast<RedChannelClient *>(mcc)->get_roundtrip_ms() < 0) {
        g_assert_cmpint(g_get_monotonic_time(), <, latest);
        server.run_events();
        client.step();
        g_usleep(1000);
    }

    red_client->destroy();
    channel.reset();
    close(sockets[1]);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/idle-pong", test_idle_pong);
    return g_test_run();
}
