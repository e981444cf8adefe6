/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test that the egress delivers exactly the bytes it was given, whatever the kernel
 * does, in every mode, over plain sockets and TLS */
#include <config.h>

#include "test-stream-egress.h"
#include "win-alarm.h"

static size_t random_length(GRand *rand)
{
    switch (g_rand_int_range(rand, 0, 12)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return g_rand_int_range(rand, 1000, 5000);
    case 3:
        return RED_STREAM_RECORD_MAX + g_rand_int_range(rand, -40, 40);
    case 4:
        return g_rand_int_range(rand, 0, 10) ? 18 : g_rand_int_range(rand, 20000, 200000);
    default:
        return g_rand_int_range(rand, 2, 300);
    }
}

static TestMessage random_message(GRand *rand)
{
    const int count = g_rand_int_range(rand, 0, 4) ? g_rand_int_range(rand, 1, 5) :
                                                     g_rand_int_range(rand, 5, 81);
    TestMessage message;

    for (int i = 0; i < count; ++i) {
        message.push_back(random_length(rand));
    }
    /* no message is empty */
    message[g_rand_int_range(rand, 0, count)] += 6;
    return message;
}

static void random_script(GRand *rand, ScriptedKernel *kernel)
{
    static const size_t rooms[] = { 0, 1, 2, 7, 100, 5000, 16384, 40000, 250000 };

    for (int i = g_rand_int_range(rand, 0, 6); i > 0; --i) {
        const size_t most = rooms[g_rand_int_range(rand, 0, G_N_ELEMENTS(rooms))];

        kernel->stages.push_back({ static_cast<size_t>(g_rand_int_range(rand, 0, most + 1)),
                                   g_rand_int_range(rand, 1, 4),
                                   g_rand_boolean(rand) ? EAGAIN : EINTR });
    }
}

/* Random lists of messages, short writes, EAGAIN and EINTR. */
static void test_random()
{
    GRand *rand = g_rand_new_with_seed(1);

    for (const char *mode : test_modes) {
        for (int version : test_versions) {
            TestConnection stream(mode, version);
            stream.start();

            for (int i = 0; i < 60; ++i) {
                TestDrain drain;

                for (int n = g_rand_int_range(rand, 1, 12); n > 0; --n) {
                    drain.push_back(random_message(rand));
                }
                const size_t corks = stream.kernel.count_corks();

                random_script(rand, &stream.kernel);
                stream.sender->breaks_promise = g_rand_int_range(rand, 0, 8) == 0;
                stream.sender->add(drain);
                stream.sender->push_all();
                stream.check_sent();
                g_assert_cmpuint(stream.kernel.count_corks(), ==, corks);
            }
        }
    }
    g_rand_free(rand);
}

/* More entries than the kernel takes at once. */
static void test_many_iovecs()
{
    for (const char *mode : test_modes) {
        for (int version : test_versions) {
            TestConnection stream(mode, version);
            stream.start();

            stream.sender->max_iovcnt = INT_MAX;
            stream.sender->add({ TestMessage(3 * IOV_MAX + 5, 3), { 6, 100 } });
            stream.sender->add({ TestMessage(IOV_MAX + 1, 40), TestMessage(IOV_MAX, 1), { 1 } });
            stream.sender->push_all();
            stream.check_sent();
            g_assert_cmpuint(stream.egress->get_counters().messages, ==, 5);
        }
    }
}

/* The kernel takes every number of bytes of a drain before it refuses some calls. */
static void check_position(TestConnection *stream, const TestDrain &drain, size_t room,
                           int refusals)
{
    const uint64_t accepted = stream->sender->accepted;

    stream->kernel.stages.push_back({ room, refusals, EAGAIN });
    if (refusals > 1) {
        /* and once more, a byte later */
        stream->kernel.stages.push_back({ 1, 1, EAGAIN });
    }
    stream->sender->add(drain);
    stream->sender->push_all();
    stream->check_sent();
    g_assert_cmpuint(stream->sender->accepted - accepted, ==, test_size(drain));
    stream->kernel.stages.clear();
}

static void test_positions()
{
    const TestDrain drain = { { 6, 40, 180 }, { 6 }, { 6, 0, 1500, 1 }, { 1, 1, 1 }, { 6, 30 } };

    for (const char *mode : test_modes) {
        for (int version : test_versions) {
            TestConnection stream(mode, version);
            stream.start();
            /* 14 iovecs would each be a record at the most */
            const size_t size = test_size(drain) + (version ? 14 * test_tls_overhead(version) : 0);

            for (size_t room = 0; room <= size; ++room) {
                check_position(&stream, drain, room, 1 + room % 2);
            }
        }
    }
}

/* The same around the ends of records, of buffers and of what is passed by reference. */
static void test_positions_large()
{
    const TestDrain drain = {
        { 6, 40, 4000 }, { 6, 4090 }, { 6, 4091 }, { 18, 16384 }, { 6, 50000 }, { 6, 30 }, { 70 },
        { 6, 32000 }, { 6, 64 },
    };

    for (const char *mode : test_modes) {
        for (int version : test_versions) {
            TestConnection stream(mode, version);
            stream.start();
            const size_t size = test_size(drain) + 2000;

            for (size_t room = 0; room <= size; room += 1499) {
                check_position(&stream, drain, room, 1 + room % 2);
            }
            for (size_t edge = 16384; edge < size; edge += 16384) {
                for (size_t room = edge - 2; room <= edge + 2; ++room) {
                    check_position(&stream, drain, room, 1);
                }
            }
        }
    }
}

/* One byte at a time. */
static void test_trickle()
{
    const TestDrain drain = { { 6, 40, 180 }, { 6 }, { 6, 0, 600, 1 }, { 6, 30 } };

    for (const char *mode : test_modes) {
        for (int version : test_versions) {
            TestConnection stream(mode, version);
            stream.start();

            for (int i = 0; i < 1500; ++i) {
                stream.kernel.stages.push_back({ 1, i % 3, i % 2 ? EAGAIN : EINTR });
            }
            stream.sender->add(drain);
            stream.sender->push_all();
            stream.check_sent();
        }
    }
}

/* What flush says, and that it does nothing more than needed. */
static void test_flush()
{
    for (const char *mode : test_modes) {
        for (int version : test_versions) {
            TestConnection stream(mode, version);
            stream.start();
            RedStreamEgress *egress = stream.egress;

            /* nothing to send: no call */
            stream.kernel.forget_calls();
            g_assert_cmpint(egress->flush(), ==, 0);
            g_assert_cmpint(egress->writev(nullptr, 0, 0), ==, 0);
            g_assert_cmpint(egress->writev(nullptr, 0, RED_STREAM_MORE), ==, 0);
            g_assert_cmpint(egress->flush(), ==, 0);
            g_assert_cmpuint(stream.kernel.calls.size(), ==, 0);

            /* a message and nothing after it */
            stream.sender->add({ { 6, 100 } });
            g_assert_true(stream.sender->push());
            g_assert_true(stream.kernel.pushed);
            const size_t calls = stream.kernel.calls.size();
            g_assert_cmpint(egress->flush(), ==, 0);
            g_assert_cmpuint(stream.kernel.calls.size(), ==, calls);
            g_assert_cmpuint(stream.kernel.count_corks(), ==, 0);

            /* the kernel takes nothing: tried again at every flush, sent once */
            stream.kernel.forget_calls();
            stream.kernel.stages.push_back({ 0, 5, EAGAIN });
            stream.sender->add({ { 6, 100 } });
            stream.sender->push_all();
            g_assert_cmpint(egress->flush(), ==, 0);
            g_assert_cmpuint(stream.receive(), ==, 212);
            g_assert_true(stream.kernel.pushed);
            g_assert_cmpuint(egress->get_counters().eagains, ==, 5);
            g_assert_cmpuint(egress->get_counters().flushes, ==, 2);
            g_assert_cmpuint(egress->get_counters().messages, ==, 2);
        }
    }
}

/* A kernel that takes nothing: what is accepted is bounded, and soon nothing is. */
static void test_back_pressure()
{
    for (const char *mode : test_modes) {
        for (int version : test_versions) {
            TestConnection stream(mode, version);
            stream.start();
            uint64_t accepted = 0;

            stream.kernel.stages.push_back({ 0, INT_MAX, EAGAIN });
            for (int i = 0; i < 2000; ++i) {
                stream.sender->add({ { 6, 40, 180 } });
            }
            stream.sender->add({ { 18, 2000000 } });
            for (int i = 0; i < 100; ++i) {
                g_assert_false(stream.sender->push());
                if (i == 0) {
                    accepted = stream.sender->accepted;
                }
            }
            g_assert_cmpuint(stream.sender->accepted, ==, accepted);
            g_assert_cmpuint(accepted, <=, RED_STREAM_EGRESS_MAX);

            stream.kernel.stages.clear();
            stream.sender->push_all();
            stream.check_sent();
        }
    }
}

/* What is here is known, at each moment. */
static void test_max_buffered()
{
    GRand *rand = g_rand_new_with_seed(2);

    for (const char *mode : test_modes) {
        for (int version : test_versions) {
            TestConnection stream(mode, version);
            stream.start();

            for (int i = 0; i < 200; ++i) {
                stream.sender->add({ { 6, static_cast<size_t>(g_rand_int_range(rand, 1, 900)) } });
                stream.kernel.stages.push_back({ static_cast<size_t>(i * 7), 1, EAGAIN });
                stream.sender->push();
                g_assert_cmpuint(stream.egress->get_counters().max_buffered, >=,
                                 stream.egress->pending());
            }
            stream.kernel.stages.clear();
            stream.sender->push_all();
            stream.check_sent();
        }
    }
    g_rand_free(rand);
}

int main(int argc, char *argv[])
{
    alarm(120);
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream/exact/random", test_random);
    g_test_add_func("/server/stream/exact/many-iovecs", test_many_iovecs);
    g_test_add_func("/server/stream/exact/positions", test_positions);
    g_test_add_func("/server/stream/exact/positions-large", test_positions_large);
    g_test_add_func("/server/stream/exact/trickle", test_trickle);
    g_test_add_func("/server/stream/exact/flush", test_flush);
    g_test_add_func("/server/stream/exact/back-pressure", test_back_pressure);
    g_test_add_func("/server/stream/exact/max-buffered", test_max_buffered);

    const int ret = g_test_run();
    test_tls_cleanup();
    return ret;
}
