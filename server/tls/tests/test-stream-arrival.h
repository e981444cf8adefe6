/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of an egress over sockets of the kernel, for each transport: every byte arrives, none waits
 * for a timer, and a client that reads as spice-gtk does gets every message at once. */
#ifndef TEST_STREAM_ARRIVAL_H_
#define TEST_STREAM_ARRIVAL_H_

#include "test-stream-sockets.h"

#include "push-visibility.h"

/* What a test goes through. */
struct TestRow {
    std::vector<const char *> modes;
    std::vector<int> versions;
    std::vector<TestTransport> transports;
    const RedStreamSocket *ops;
    /* Prepares a connection, and checks it when all was received. May be null. */
    void (*begin)(SocketConnection *stream);
    void (*end)(SocketConnection *stream);
};

/* milliseconds; the kernel sends what it was told to hold back after 200 */
#define AT_ONCE 150

static inline TestDrain random_drain(GRand *rand, int most, int largest)
{
    TestDrain drain;

    for (int n = g_rand_int_range(rand, 1, most + 1); n > 0; --n) {
        TestMessage message = { 6 };

        for (int k = g_rand_int_range(rand, 0, 4); k > 0; --k) {
            message.push_back(g_rand_int_range(rand, 0, g_rand_int_range(rand, 0, 10) ? 400 :
                                                                                        largest));
        }
        drain.push_back(message);
    }
    return drain;
}

static inline void test_begin(const TestRow *row, SocketConnection *stream)
{
    if (row->begin) {
        row->begin(stream);
    }
}

/* Small buffers, so that the kernel refuses most of the time, and a client that reads
 * in bits. */
static inline void test_exact(gconstpointer data)
{
    auto row = static_cast<const TestRow *>(data);
    GRand *rand = g_rand_new_with_seed(6);

    for (const char *mode : row->modes) {
        for (TestTransport transport : row->transports) {
            for (int version : row->versions) {
                SocketConnection stream(mode, transport, version, 4096, row->ops);

                test_begin(row, &stream);
                for (int i = 0; i < 15; ++i) {
                    stream.sender->add(random_drain(rand, 40, i % 5 ? 3000 : 200000));
                    while (!stream.sender->push()) {
                        g_assert_cmpint(stream.sender->error, ==, 0);
                        stream.receive(g_rand_int_range(rand, 1, 30000));
                    }
                    g_assert_cmpuint(stream.egress->pending(), ==, 0);
                }
                while (stream.received < stream.sender->accepted) {
                    g_assert_true(test_is_readable(stream.sockets[1], 5000) ||
                                  SSL_pending(stream.client));
                    stream.receive();
                }
                g_assert_cmpuint(stream.received, ==, stream.sender->accepted);
                if (row->end) {
                    row->end(&stream);
                }
            }
        }
    }
    g_rand_free(rand);
}

/* Read what was sent.
 * Returns whether it was there before the kernel's timer could have sent it. */
static inline bool receive_at_once(SocketConnection *stream)
{
    const gint64 start = g_get_monotonic_time();

    stream->receive();
    while (stream->received < stream->sender->accepted) {
        g_assert_true(test_is_readable(stream->sockets[1], 5000));
        stream->receive();
    }
    return g_get_monotonic_time() - start < AT_ONCE * 1000;
}

/* How many of 30 drains were late. */
static inline int count_late(const TestRow *row, const char *mode, int version, GRand *rand)
{
    SocketConnection stream(mode, TEST_TCP, version, 0, row->ops);
    int late = 0;

    test_begin(row, &stream);
    for (int i = 0; i < 30; ++i) {
        /* less than a segment, or an ack would make the kernel send the rest */
        const bool small = i % 5 == 4;

        stream.sender->breaks_promise = small;
        stream.sender->add(small ? TestDrain({ { 6, 40, 180 }, { 6, 30 } }) :
                                   random_drain(rand, 30, 40000));
        while (!stream.sender->push()) {
            stream.receive();
        }
        late += !receive_at_once(&stream);
        if (i % 10 == 0) {
            g_usleep(2000);
        }
    }
    return late;
}

/* The last byte of a drain is with the peer before the next drain begins. */
static inline void test_no_wait(gconstpointer data)
{
    auto row = static_cast<const TestRow *>(data);
    GRand *rand = g_rand_new_with_seed(7);

    for (const char *mode : row->modes) {
        for (int version : row->versions) {
            int late = 30;

            /* a busy machine may have stopped this thread; a rule that is broken would
             * show in six drains at the least, each time */
            for (int attempt = 0; late > 3 && attempt < 5; ++attempt) {
                late = count_late(row, mode, version, rand);
            }
            g_assert_cmpint(late, <=, 3);
        }
    }
    g_rand_free(rand);
}

/* Reads as spice_channel_iterate_read of spice-gtk does: waits until the raw socket is
 * readable, then reads messages, a header and a body, as long as the raw socket is
 * readable. In the middle of a message it waits for the raw socket too, but only when
 * the TLS library has nothing. It never asks SSL_pending. */
class GtkReader
{
public:
    explicit GtkReader(SocketConnection *init_stream): stream(init_stream) { }

    void expect(const TestDrain &drain)
    {
        for (const TestMessage &message : drain) {
            sizes.push_back(test_size(message));
        }
    }

    /* Read until it would wait.
     * Returns whether all messages were read. */
    bool run(int timeout)
    {
        bool wait = position == 0;

        while (!sizes.empty()) {
            if (wait && !test_is_readable(stream->sockets[1], timeout)) {
                return false;
            }
            wait = !step();
        }
        return true;
    }

private:
    /* Returns whether to go on without asking the raw socket. */
    bool step()
    {
        uint8_t data[20000];
        const size_t header = MIN(6, sizes.front());
        const size_t want = position < header ? header - position : sizes.front() - position;
        const size_t n = stream->read(data, MIN(sizeof(data), want));

        test_verify(data, n, stream->received);
        stream->received += n;
        position += n;
        if (position == sizes.front()) {
            sizes.pop_front();
            position = 0;
            return false;
        }
        return n > 0;
    }

    SocketConnection *const stream;
    std::deque<size_t> sizes;
    /* bytes read of the first message */
    size_t position = 0;
};

/* In every mode and with records of every size it gets each drain whole. */
static inline void test_gtk_reader(gconstpointer data)
{
    auto row = static_cast<const TestRow *>(data);
    GRand *rand = g_rand_new_with_seed(8);

    for (const char *mode : row->modes) {
        for (int version : row->versions) {
            for (int buffer : { 0, 4096 }) {
                SocketConnection stream(mode, TEST_TCP, version, buffer, row->ops);
                GtkReader reader(&stream);

                test_begin(row, &stream);
                for (int i = 0; i < 60; ++i) {
                    const TestDrain drain =
                        random_drain(rand, i % 3 ? 4 : 60, i % 2 ? 2000 : 40000);

                    reader.expect(drain);
                    stream.sender->breaks_promise = i % 7 == 6;
                    stream.sender->add(drain);
                    while (!stream.sender->push()) {
                        reader.run(0);
                    }
                    g_assert_true(reader.run(5000));
                }
            }
        }
    }
    g_rand_free(rand);
}

#include "pop-visibility.h"

#endif /* TEST_STREAM_ARRIVAL_H_ */
