/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A client that sends frames without data, and no end of them, does not hold the thread. */
#include <config.h>

#include "test-websocket-transport.h"

static const uint8_t PONG[] = { 0x8a, 0 };
static const uint8_t MASKED_PING[] = { 0x89, 0x81, 1, 2, 3, 4, 5 };
static const uint8_t NOTHING[] = { WEBSOCKET_BINARY_FINAL, 0 };
static const uint8_t DATA[] = { WEBSOCKET_BINARY_FINAL, 3, 'a', 'b', 'c' };

/* Reads as a stream does, which goes on behind an empty message. */
static int read_once(Connection *connection, char *buf, size_t size)
{
    unsigned flags;
    int n;

    do {
        n = websocket_read(connection->ws, reinterpret_cast<uint8_t *>(buf), size, &flags);
    } while (n == 0 && flags != 0);
    return n;
}

/* It comes back to the caller before it has read them all, and what follows them is read. */
template <size_t SIZE>
static void read_many(const uint8_t (&frame)[SIZE])
{
    Connection connection;
    char buf[16];
    int n, turns = 0;

    for (int i = 0; i < 1000; i++) {
        connection.to_server.insert(connection.to_server.end(), frame, frame + SIZE);
    }
    connection.to_server.insert(connection.to_server.end(), DATA, DATA + sizeof(DATA));
    while ((n = read_once(&connection, buf, sizeof(buf))) < 0) {
        g_assert_cmpint(errno, ==, EAGAIN);
        g_assert_false(connection.to_server.empty());
        ++turns;
    }
    g_assert_cmpmem(buf, n, "abc", 3);
    g_assert_cmpint(turns, >, 1);
}

static void test_pongs()
{
    read_many(PONG);
}

static void test_pings()
{
    read_many(MASKED_PING);
}

static void test_nothing()
{
    read_many(NOTHING);
}

/* Nor does one that sends some data between. */
static void test_mixed()
{
    Connection connection;
    char buf[16];
    int n, data = 0;

    for (int i = 0; i < 1000; i++) {
        auto &bytes = connection.to_server;

        bytes.insert(bytes.end(), PONG, PONG + sizeof(PONG));
        if (i % 50 == 0) {
            bytes.insert(bytes.end(), DATA, DATA + sizeof(DATA));
        }
    }
    while ((n = read_once(&connection, buf, sizeof(buf))) > 0) {
        data += n;
    }
    g_assert_cmpint(errno, ==, EAGAIN);
    g_assert_cmpint(data, ==, 2 * 3);
    g_assert_false(connection.to_server.empty());
}

/* Many that come one by one, as those of a proxy that sees whether the client is there, have
 * nothing behind them wait. */
static void test_one_by_one()
{
    Connection connection;
    char buf[16];

    for (int i = 0; i < 1000; i++) {
        connection.to_server.assign(PONG, PONG + sizeof(PONG));
        connection.to_server.insert(connection.to_server.end(), DATA, DATA + sizeof(DATA));
        g_assert_cmpint(read_once(&connection, buf, sizeof(buf)), ==, 3);
        g_assert_cmpint(read_once(&connection, buf, sizeof(buf)), ==, -1);
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/websocket-empty/pongs", test_pongs);
    g_test_add_func("/server/websocket-empty/pings", test_pings);
    g_test_add_func("/server/websocket-empty/nothing", test_nothing);
    g_test_add_func("/server/websocket-empty/mixed", test_mixed);
    g_test_add_func("/server/websocket-empty/one-by-one", test_one_by_one);
    return g_test_run();
}
