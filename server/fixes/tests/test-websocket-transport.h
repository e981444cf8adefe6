/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A WebSocket over a transport that takes what it likes, for tests of what it sends. */
#ifndef TEST_WEBSOCKET_TRANSPORT_H_
#define TEST_WEBSOCKET_TRANSPORT_H_

#include <cerrno>
#include <cstring>
#include <vector>

#include "test-glib-compat.h"
#include "websocket.h"

/* A transport below a WebSocket. */
struct Transport
{
    std::vector<uint8_t> to_server;
    std::vector<uint8_t> wire;      // what the peer got
    size_t room = SIZE_MAX;         // what it takes before it refuses

    ssize_t take(const struct iovec *iov, int iovcnt)
    {
        size_t size = 0, taken = 0;

        for (int i = 0; i < iovcnt; i++) {
            size += iov[i].iov_len;
        }
        g_assert_cmpuint(size, >, 0);
        if (room == 0) {
            errno = EAGAIN;
            return -1;
        }
        for (int i = 0; i < iovcnt && room > 0; i++) {
            auto from = static_cast<const uint8_t *>(iov[i].iov_base);
            const size_t n = MIN(room, iov[i].iov_len);

            wire.insert(wire.end(), from, from + n);
            room -= n;
            taken += n;
        }
        return taken;
    }
};

static inline ssize_t transport_read(void *opaque, void *buf, size_t size)
{
    auto t = static_cast<Transport *>(opaque);
    const size_t n = MIN(size, t->to_server.size());

    if (n == 0) {
        errno = EAGAIN;
        return -1;
    }
    memcpy(buf, t->to_server.data(), n);
    t->to_server.erase(t->to_server.begin(), t->to_server.begin() + n);
    return n;
}

static inline ssize_t transport_write(void *opaque, const void *buf, size_t size)
{
    struct iovec iov = { const_cast<void *>(buf), size };

    return static_cast<Transport *>(opaque)->take(&iov, 1);
}

static inline ssize_t transport_writev(void *opaque, struct iovec *iov, int iovcnt)
{
    return static_cast<Transport *>(opaque)->take(iov, iovcnt);
}

struct Connection: public Transport
{
    RedsWebSocket *ws;

    Connection()
    {
        static const char request[] = "GET / HTTP/1.1\r\nSec-WebSocket-Key: x\r\n\r\n";

        to_server.assign(request, request + strlen(request));
        ws = websocket_new("", 0, static_cast<Transport *>(this), transport_read, transport_write,
                           transport_writev);
        g_assert_nonnull(ws);
        wire.clear();
    }

    ~Connection()
    {
        websocket_free(ws);
    }

    /* what is left of iov after its first n bytes */
    static std::vector<struct iovec> rest(const std::vector<struct iovec> &iov, size_t n)
    {
        std::vector<struct iovec> left;

        for (struct iovec v: iov) {
            const size_t skip = MIN(n, v.iov_len);

            n -= skip;
            v.iov_base = static_cast<uint8_t *>(v.iov_base) + skip;
            v.iov_len -= skip;
            if (v.iov_len) {
                left.push_back(v);
            }
        }
        return left;
    }

    /* Write all of iov. Each time the transport refuses, it gets room for what next_room says. */
    template <typename F>
    void send(std::vector<struct iovec> iov, F next_room)
    {
        while (!iov.empty()) {
            const int n = iov.size() == 1 ?
                websocket_write(ws, iov[0].iov_base, iov[0].iov_len, WEBSOCKET_BINARY_FINAL) :
                websocket_writev(ws, iov.data(), iov.size(), WEBSOCKET_BINARY_FINAL);

            if (n < 0) {
                g_assert_cmpint(errno, ==, EAGAIN);
                room = next_room();
                continue;
            }
            g_assert_cmpint(n, >, 0);
            iov = rest(iov, n);
        }
    }

    /* the payload of all data frames on the wire, pongs left out */
    std::vector<uint8_t> payload(unsigned *frames)
    {
        std::vector<uint8_t> data;
        size_t pos = 0;

        *frames = 0;
        while (pos < wire.size()) {
            const bool is_data = wire[pos] == WEBSOCKET_BINARY_FINAL;
            uint64_t len = wire.at(pos + 1);
            unsigned more = len == 126 ? 2 : len == 127 ? 8 : 0;

            g_assert_true(is_data || wire[pos] == 0x8a);
            for (len = more ? 0 : len, pos += 2; more; more--) {
                len = len << 8 | wire.at(pos++);
            }
            g_assert_cmpuint(pos + len, <=, wire.size());
            if (is_data) {
                data.insert(data.end(), wire.begin() + pos, wire.begin() + pos + len);
                ++*frames;
            }
            pos += len;
        }
        return data;
    }
};

static inline std::vector<uint8_t> make_bytes(size_t size)
{
    std::vector<uint8_t> bytes(size);

    for (auto &byte: bytes) {
        byte = g_test_rand_int();
    }
    return bytes;
}

static inline std::vector<struct iovec> split(std::vector<uint8_t> &bytes, size_t parts)
{
    std::vector<struct iovec> iov;
    size_t pos = 0;

    for (size_t left = parts; left > 0; left--) {
        const size_t n = (bytes.size() - pos) / left;

        iov.push_back({ bytes.data() + pos, n });
        pos += n;
    }
    return iov;
}

/* A masked ping without data. */
static inline void receive_ping(Connection &connection)
{
    static const uint8_t ping[] = { 0x89, 0x80, 1, 2, 3, 4 };
    uint8_t buf[16];
    unsigned flags;

    connection.to_server.assign(ping, ping + sizeof(ping));
    g_assert_cmpint(websocket_read(connection.ws, buf, sizeof(buf), &flags), ==, -1);
    g_assert_cmpint(errno, ==, EAGAIN);
}

/* Random messages, with pings between, while the transport takes random amounts. */
static inline void random_messages()
{
    for (int i = 0; i < 200; i++) {
        Connection connection;
        std::vector<uint8_t> sent;
        unsigned frames;

        connection.room = 0;
        for (int messages = g_test_rand_int_range(1, 6); messages > 0; messages--) {
            auto bytes = make_bytes(g_test_rand_int_range(1, 1 << g_test_rand_int_range(1, 18)));

            connection.send(split(bytes, MIN(bytes.size(), g_test_rand_int_range(1, 5))), [&]() {
                if (g_test_rand_int_range(0, 4) == 0) {
                    receive_ping(connection);
                }
                return g_test_rand_int_range(0, 1 << g_test_rand_int_range(1, 18));
            });
            sent.insert(sent.end(), bytes.begin(), bytes.end());
        }
        g_assert_true(connection.payload(&frames) == sent);
    }
}

#endif /* TEST_WEBSOCKET_TRANSPORT_H_ */
