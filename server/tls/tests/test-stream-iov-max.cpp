/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stream writes more buffers than the kernel takes in one call. */
#include <config.h>

#include <climits>
#include <vector>

#include "test-channel-client.h"

#include "push-visibility.h"

static void more_than_iov_max()
{
    TestServer s;
    int peer;
    RedStream *stream = test_stream_new(s.server, &peer);
    std::vector<char> bytes(IOV_MAX * 2 + 1), got(bytes.size() + 1);
    std::vector<struct iovec> iov;

    for (auto &byte: bytes) {
        byte = iov.size() % 251;
        iov.push_back({ &byte, 1 });
    }
    g_assert_cmpint(red_stream_writev(stream, iov.data(), iov.size()), ==, bytes.size());
    g_assert_cmpint(read(peer, got.data(), got.size()), ==, bytes.size());
    got.pop_back();
    g_assert_true(got == bytes);

    red_stream_free(stream);
    close(peer);
}

/* The socket is full in the middle of the second call. */
static void socket_full()
{
    TestServer s;
    int peer;
    RedStream *stream = test_stream_new(s.server, &peer);
    std::vector<char> bytes(256);
    const std::vector<struct iovec> iov(IOV_MAX * 2, { bytes.data(), bytes.size() });
    char got[4096];
    ssize_t sent, n, received = 0;

    sent = red_stream_writev(stream, iov.data(), iov.size());
    g_assert_cmpint(sent, >, 0);
    g_assert_cmpint(sent, <, iov.size() * bytes.size());
    while ((n = read(peer, got, sizeof(got))) > 0) {
        received += n;
    }
    g_assert_cmpint(received, ==, sent);

    red_stream_free(stream);
    close(peer);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);

    g_test_add_func("/server/stream-iov-max/more-than-iov-max", more_than_iov_max);
    g_test_add_func("/server/stream-iov-max/socket-full", socket_full);

    return g_test_run();
}
