/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A client that reads nothing of what it is told until it is let in does not hold the thread. */
#include <config.h>

#include <vector>

#include "test-channel-client.h"
#include "test-sockets.h"
#include "win-alarm.h"

#include "push-visibility.h"

struct UnreadStream
{
    TestServer server;
    int sockets[2];
    RedStream *stream;

    UnreadStream()
    {
        test_make_sockets(TEST_TCP, 4096, sockets);
        red_socket_set_non_blocking(sockets[0], true);
        stream = red_stream_new(server.server, sockets[0]);
    }

    ~UnreadStream()
    {
        red_stream_free(stream);
        close(sockets[1]);
    }
};

/* What there is to say finds room, all of it. */
static void test_short()
{
    UnreadStream unread;
    std::vector<char> message(500, 'm'), got(message.size());

    g_assert_true(red_stream_write_all(unread.stream, message.data(), message.size()));
    g_assert_cmpint(recv(unread.sockets[1], got.data(), got.size(), MSG_WAITALL), ==, got.size());
    g_assert_true(got == message);
}

/* What does not is not waited for. */
static void test_full()
{
    UnreadStream unread;
    std::vector<char> message(100, 'm');
    unsigned written = 0;

    alarm(10);
    while (red_stream_write_all(unread.stream, message.data(), message.size())) {
        g_assert_cmpuint(++written, <, 1000000);
    }
    alarm(0);
    g_assert_cmpuint(written, >, 0);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/link-full/short", test_short);
    g_test_add_func("/server/link-full/full", test_full);
    return g_test_run();
}
