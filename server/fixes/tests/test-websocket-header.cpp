/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The peer gets whole frames, whatever part of a header the socket takes first. */
#include <config.h>

#include "test-websocket-transport.h"

/* A header of 2, 4 and 10 bytes, of which the transport first takes each possible part. */
static void partial_header()
{
    static const struct { size_t size; unsigned header_len; } cases[] = {
        { 100, 2 }, { 1000, 4 }, { 70000, 10 },
    };

    for (auto &c: cases) {
        for (unsigned first = 1; first <= c.header_len; first++) {
            Connection connection;
            auto bytes = make_bytes(c.size);
            unsigned frames;

            connection.room = first;
            connection.send(split(bytes, 3), []() { return SIZE_MAX; });
            g_assert_true(connection.payload(&frames) == bytes);
            g_assert_cmpuint(frames, ==, 1);
        }
    }
}

static void random_sizes()
{
    random_messages();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);

    g_test_add_func("/server/websocket-header/partial", partial_header);
    g_test_add_func("/server/websocket-header/random-sizes", random_sizes);

    return g_test_run();
}
