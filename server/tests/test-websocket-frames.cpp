/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A message is one frame and one write, header and all, with writev and without. TLS has none,
 * and wants a write that it refused again unchanged.
 */
#include <config.h>

#include "test-websocket-transport.h"

static void one_write(bool tls, int parts)
{
    Connection connection(tls);
    auto bytes = make_bytes(200);
    unsigned frames;

    connection.send(split(bytes, parts), []() { return SIZE_MAX; });
    g_assert_true(connection.payload(&frames) == bytes);
    g_assert_cmpuint(frames, ==, 1);
    g_assert_cmpuint(connection.writes, ==, 1);
}

static void one_write_a_buffer()
{
    one_write(false, 1);
    one_write(true, 1);
}

static void one_write_a_message()
{
    one_write(false, 3);
    one_write(true, 3);
}

/* What does not fit into a record follows, as it is, in the same frame. */
static void large_message()
{
    Connection connection(true);
    auto bytes = make_bytes(100000);
    unsigned frames;

    connection.send(split(bytes, 3), []() { return SIZE_MAX; });
    g_assert_true(connection.payload(&frames) == bytes);
    g_assert_cmpuint(frames, ==, 1);
    g_assert_cmpuint(connection.writes, <=, 4);
}

static void random_sizes()
{
    random_messages(true);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);

    g_test_add_func("/server/websocket-frames/one-write-a-buffer", one_write_a_buffer);
    g_test_add_func("/server/websocket-frames/one-write-a-message", one_write_a_message);
    g_test_add_func("/server/websocket-frames/large-message", large_message);
    g_test_add_func("/server/websocket-frames/random-sizes", random_sizes);

    return g_test_run();
}
