/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test what the egress spends: records, system calls and copies, over a kernel that takes
 * all it is given */
#include <config.h>

#include "test-stream-egress.h"
#include "test-stream-link.h"
#include "win-alarm.h"

static const int tls_versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

/* Small messages share a record, but for the last one (rule 1). */
static void test_batch_small()
{
    for (int version : tls_versions) {
        TestConnection stream("batch", version);

        stream.start();
        test_check_sizes(test_drain_records(&stream, { { 6, 40, 180 } }), { 226 });
        test_check_sizes(test_drain_records(&stream, { { 6, 40, 180 }, { 6 } }), { 226, 6 });
        for (size_t n = 2; n < 70; ++n) {
            test_check_sizes(test_drain_records(&stream, TestDrain(n, { 6, 40, 180 })),
                             { (n - 1) * 226, 226 });
        }
        test_check_sizes(test_drain_records(&stream, TestDrain(73, { 6, 40, 180 })),
                         { 16384, 114 });
        /* the last message ends where a record does */
        test_check_sizes(test_drain_records(&stream, { { 6, 40, 180 }, { 16384 - 226 } }),
                         { 226, 16384 - 226 });
        test_check_sizes(test_drain_records(&stream, { { 6, 40, 180 }, { 16384 - 225 } }),
                         { 16384, 1 });
    }
}

/* However its messages are cut, a drain takes as few records as its bytes do, and at
 * most one for the last message and one before each payload that is not copied. */
static void test_batch_count()
{
    GRand *rand = g_rand_new_with_seed(3);

    for (size_t limit : { 512, 3000, 16384 }) {
        char *mode = g_strdup_printf("batch,record=%zu", limit);

        for (int version : tls_versions) {
            TestConnection stream(mode, version);

            stream.start();
            for (int i = 0; i < 200; ++i) {
                TestDrain drain;
                size_t payloads = 0;

                for (int n = g_rand_int_range(rand, 1, 30); n > 0; --n) {
                    TestMessage message = { 6 };

                    for (int k = g_rand_int_range(rand, 0, 4); k > 0; --k) {
                        const bool large = g_rand_int_range(rand, 0, 20) == 0;

                        message.push_back(large ? g_rand_int_range(rand, 16384, 100000) :
                                                  g_rand_int_range(rand, 0, 3000));
                        payloads += large;
                    }
                    drain.push_back(message);
                }

                const TestSizes records = test_drain_records(&stream, drain);
                const size_t least = (test_size(drain) + limit - 1) / limit;

                g_assert_cmpuint(records.size(), >=, least);
                g_assert_cmpuint(records.size(), <=, least + 1 + payloads);
                for (size_t record : records) {
                    g_assert_cmpuint(record, <=, limit);
                }
            }
        }
        g_free(mode);
    }
    g_rand_free(rand);
}

/* The last record of every drain holds the end of its last message, and no other. */
static void test_batch_last_record()
{
    GRand *rand = g_rand_new_with_seed(4);

    for (const char *mode : test_modes) {
        TestConnection stream(mode, TLS1_3_VERSION);

        stream.start();
        for (int i = 0; i < 500; ++i) {
            TestDrain drain;

            for (int n = g_rand_int_range(rand, 1, 20); n > 0; --n) {
                drain.push_back({ 6, static_cast<size_t>(g_rand_int_range(rand, 1, 2000)) });
            }
            const TestSizes records = test_drain_records(&stream, drain);

            g_assert_cmpuint(records.back(), <=, test_size(drain.back()));
        }
    }
    g_rand_free(rand);
}

/* record=auto follows what TCP knows of the link, drain by drain. */
static void test_batch_auto()
{
    RedStreamLink link = { };
    TestConnection stream("batch", TLS1_3_VERSION);

    stream.kernel.link = &link;
    stream.start();
    test_check_sizes(test_drain_records(&stream, { { 6, 8000 } }), { 8006 });

    link = test_make_link(20, 100000, 250000);
    test_link_ages();
    test_check_sizes(test_drain_records(&stream, { { 6, 8000 } }), { 2500, 2500, 2500, 506 });
    test_check_sizes(test_drain_records(&stream, { { 8006 } }), { 2500, 2500, 2500, 506 });
    test_check_sizes(test_drain_records(&stream, { { 6, 40, 180 }, { 6, 3000 } }), { 2500, 732 });

    link.delivery_rate = 1000000000;
    test_link_ages();
    test_check_sizes(test_drain_records(&stream, { { 6, 8000 } }), { 8006 });

    /* a setting stands above what is known */
    TestConnection fixed("batch,record=5000", TLS1_3_VERSION);

    link.delivery_rate = 250000;
    fixed.kernel.link = &link;
    fixed.start();
    test_check_sizes(test_drain_records(&fixed, { { 6, 8000 } }), { 5000, 3006 });
}

/* TCP is not asked for each message of a channel without drains, nor again if there is none. */
static void test_asks_rarely()
{
    const RedStreamLink link = test_make_link(70, 40000, 2500000);

    for (const bool known : { true, false }) {
        TestConnection stream("batch", TLS1_3_VERSION);

        const gint64 begin = g_get_monotonic_time();

        stream.kernel.link = known ? &link : nullptr;
        stream.start();
        for (int i = 0; i < 10; ++i) {
            test_drain_records(&stream, TestDrain(1, { 6, 40 }));
        }
        const gint64 periods = (g_get_monotonic_time() - begin) / RED_STREAM_LINK_PERIOD;
        g_assert_cmpuint(stream.kernel.link_calls, >=, 1);
        g_assert_cmpuint(stream.kernel.link_calls, <=, known ? 1 + periods : 1);
    }
}

/* System calls: one for all small messages of a drain. */
static void test_calls()
{
    const TestDrain drain(40, { 6, 40, 180 });

    for (int version : test_versions) {
        TestConnection stream("batch", version);

        stream.start();
        for (int i = 0; i < 3; ++i) {
            test_drain_records(&stream, drain);
            g_assert_cmpuint(stream.kernel.count_sends(), ==, i + 1);
            g_assert_cmpuint(stream.kernel.count_corks(), ==, 0);
            g_assert_cmpuint(stream.egress->get_counters().flushes, ==, i + 1);
        }
    }
}

/* Which calls promise more, and that the kernel is not left with a promise. */
static void test_more()
{
    GRand *rand = g_rand_new_with_seed(5);

    for (const char *mode : test_modes) {
        for (int version : test_versions) {
            TestConnection stream(mode, version);

            stream.start();
            for (int i = 0; i < 100; ++i) {
                TestDrain drain;
                const size_t corks = stream.kernel.count_corks();

                for (int n = g_rand_int_range(rand, 1, 30); n > 0; --n) {
                    const int most = g_rand_int_range(rand, 0, 10) ? 500 : 60000;

                    drain.push_back({ 6, static_cast<size_t>(g_rand_int_range(rand, 0, most)) });
                }
                /* with the promise kept */
                test_drain_records(&stream, drain);
                g_assert_cmpuint(stream.kernel.count_corks(), ==, corks);
                const size_t broken = stream.kernel.count_corks();

                /* and with a flush instead of the message announced */
                stream.sender->breaks_promise = true;
                test_drain_records(&stream, drain);
                stream.sender->breaks_promise = false;
                g_assert_true(stream.kernel.pushed);
                /* the end of the last message was here all the time */
                g_assert_cmpuint(stream.kernel.count_corks(), ==, broken);
            }
        }
    }
    g_rand_free(rand);
}

static size_t bytes_from(const struct iovec *iov, int iovcnt, const uint8_t *data, size_t size)
{
    size_t n = 0;

    for (int i = 0; i < iovcnt; ++i) {
        auto base = static_cast<const uint8_t *>(iov[i].iov_base);

        n += base >= data && base < data + size ? iov[i].iov_len : 0;
    }
    return n;
}

static const size_t image_size = 2000000;
static const uint8_t *image;
static size_t image_by_reference;

static ssize_t watch_image(int fd, const struct iovec *iov, int iovcnt, bool more)
{
    image_by_reference += bytes_from(iov, iovcnt, image, image_size);
    return ScriptedKernel::ops()->send(fd, iov, iovcnt, more);
}

/* Without TLS the kernel reads images from where they are, whatever surrounds them. */
static void test_image_plain()
{
    RedStreamSocket ops = *ScriptedKernel::ops();
    auto data = static_cast<uint8_t *>(g_malloc(image_size));

    ops.send = watch_image;
    image = data;
    for (const char *mode : test_modes) {
        const RedStreamPolicy policy = test_policy(mode);
        ScriptedKernel kernel;
        RedStreamEgress egress(-1, &policy, &ops);
        uint8_t header[18], small[226];
        struct iovec small_iov = { small, sizeof(small) };
        struct iovec iov[] = { { header, sizeof(header) }, { data, image_size } };
        const unsigned flags = RED_STREAM_MESSAGE_START | RED_STREAM_MORE;

        test_fill(small, sizeof(small), 0);
        test_fill(header, sizeof(header), sizeof(small));
        test_fill(data, image_size, sizeof(small) + sizeof(header));

        image_by_reference = 0;
        g_assert_cmpint(egress.writev(&small_iov, 1, flags), ==, sizeof(small));
        g_assert_cmpint(egress.writev(iov, 2, flags), ==, sizeof(header) + image_size);
        test_fill(small, sizeof(small), sizeof(small) + sizeof(header) + image_size);
        g_assert_cmpint(egress.writev(&small_iov, 1, RED_STREAM_MESSAGE_START), ==, sizeof(small));
        g_assert_cmpint(egress.flush(), ==, 0);

        g_assert_cmpuint(kernel.wire.size(), ==, 2 * sizeof(small) + sizeof(header) + image_size);
        test_verify(kernel.wire.data(), kernel.wire.size(), 0);
        /* but for what a batch keeps to have something to flush */
        g_assert_cmpuint(image_by_reference, >=, image_size - 64);
        g_assert_cmpuint(kernel.count_sends(), <=, 3);
    }
    g_free(data);
}

/* With TLS images become full records, some of them a call, and no more is waited for
 * than the buffer holds: encrypting overlaps with sending. */
static void test_image_tls()
{
    for (int version : tls_versions) {
        TestConnection stream("batch", version);

        stream.start();
        const TestSizes records = test_drain_records(&stream, { { 6, 40, 180 }, { 18, image_size },
                                                                { 6, 40, 180 } });
        /* what was here, with the header; the image; the last message */
        g_assert_cmpuint(records.size(), ==, 1 + (image_size + 16383) / 16384 + 1);
        g_assert_cmpuint(records[0], ==, 226 + 18);
        for (size_t i = 1; i <= image_size / 16384; ++i) {
            g_assert_cmpuint(records[i], ==, 16384);
        }
        g_assert_cmpuint(stream.kernel.count_sends(), <=, 1 + image_size / 32000);
        for (const ScriptedKernel::Call &call : stream.kernel.calls) {
            g_assert_cmpuint(call.offered, <=, RED_STREAM_EGRESS_MAX);
        }
    }
}

int main(int argc, char *argv[])
{
    alarm(120);
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream/records/batch-small", test_batch_small);
    g_test_add_func("/server/stream/records/batch-count", test_batch_count);
    g_test_add_func("/server/stream/records/batch-last-record", test_batch_last_record);
    g_test_add_func("/server/stream/records/batch-auto", test_batch_auto);
    g_test_add_func("/server/stream/records/asks-rarely", test_asks_rarely);
    g_test_add_func("/server/stream/records/calls", test_calls);
    g_test_add_func("/server/stream/records/more", test_more);
    g_test_add_func("/server/stream/records/image-plain", test_image_plain);
    g_test_add_func("/server/stream/records/image-tls", test_image_tls);

    const int ret = g_test_run();
    test_tls_cleanup();
    return ret;
}
