/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A server and a client of it, without a network, for tests of RedChannelClient. */
#ifndef TEST_CHANNEL_CLIENT_H_
#define TEST_CHANNEL_CLIENT_H_

#include <sys/socket.h>
#include <unistd.h>

#include <spice.h>

#include "basic-event-loop.h"
#include "main-channel.h"
#include "net-utils.h"
#include "red-channel-client.h"
#include "red-client.h"
#include "reds.h"
#include "test-glib-compat.h"

#include "push-visibility.h"

/* A stream that nobody serves yet; @peer is its other end. Neither end blocks. */
static inline RedStream *test_stream_new(SpiceServer *server, int *peer)
{
    int sv[2];

    g_assert_cmpint(socketpair(AF_LOCAL, SOCK_STREAM, 0, sv), ==, 0);
    red_socket_set_non_blocking(sv[0], true);
    red_socket_set_non_blocking(sv[1], true);
    *peer = sv[1];
    return red_stream_new(server, sv[0]);
}

/* The peer takes what fits into the smallest buffers the kernel gives. */
static inline void test_stream_shrink(RedStream *stream)
{
    const int size = 1;

    g_assert_cmpint(setsockopt(stream->socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), ==, 0);
}

struct TestServer
{
    SpiceCoreInterface *core = basic_event_loop_init();
    SpiceServer *server = spice_server_new();
    RedClient *client;
    RedChannelCapabilities caps = {};

    /* @change_core, if any, puts other functions into what the server asks for timers and
     * watches */
    explicit TestServer(void (*change_core)(SpiceCoreInterface *core) = nullptr)
    {
        if (change_core) {
            change_core(core);
        }
        const uint32_t common_caps = 1 << SPICE_COMMON_CAP_MINI_HEADER;

        g_assert_cmpint(spice_server_init(server, core), ==, 0);
        caps.num_common_caps = 1;
        caps.common_caps = static_cast<uint32_t *>(g_memdup2(&common_caps, sizeof(common_caps)));
        client = red_client_new(server, FALSE);
        main_channel = main_channel_new(server);
        g_assert_nonnull(main_channel_link(main_channel.get(), client,
                                           test_stream_new(server, &main_peer), 0, FALSE, &caps));
    }

    ~TestServer()
    {
        if (client) {
            client->destroy();
        }
        main_channel.reset();
        close(main_peer);
        red_channel_capabilities_reset(&caps);
        spice_server_destroy(server);
        basic_event_loop_destroy();
    }

    /* Let the library see what happened to its sockets. */
    void run_events()
    {
        while (g_main_context_iteration(basic_event_loop_get_context(), FALSE)) {
            continue;
        }
    }

private:
    red::shared_ptr<MainChannel> main_channel;
    int main_peer;
};

/* A channel that leaves everything to its client. */
struct TestChannel final: public RedChannel
{
    using RedChannel::RedChannel;
    void on_connect(RedClient *client, RedStream *stream, int migration,
                    RedChannelCapabilities *caps) override {}
};

struct TestChannelClient: public RedChannelClient
{
    using RedChannelClient::RedChannelClient;

    uint8_t *alloc_recv_buf(uint16_t type, uint32_t size) override
    {
        return static_cast<uint8_t *>(g_malloc(size));
    }

    void release_recv_buf(uint16_t type, uint32_t size, uint8_t *msg) override
    {
        g_free(msg);
    }
};

#include "pop-visibility.h"

#endif /* TEST_CHANNEL_CLIENT_H_ */
