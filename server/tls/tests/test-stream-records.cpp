/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test how each mode spends system calls and copies, over a kernel that takes
 * all it is given */
#include <config.h>

#include "test-stream-egress.h"
#include "win-alarm.h"

/* System calls: a batch needs one for all small messages of a drain. */
static void test_calls()
{
    const TestDrain drain(40, { 6, 40, 180 });
    static const struct {
        const char *mode;
        /* calls that send */
        size_t plain;
    } rows[] = {
        { "more", 40 },
        { "batch", 1 },
    };

    for (const auto &row : rows) {
        for (int version : test_versions) {
            TestConnection stream(row.mode, version);

            stream.start();
            for (int i = 0; i < 3; ++i) {
                const size_t sends = stream.kernel.count_sends();
                const size_t corks = stream.kernel.count_corks();

                test_drain_records(&stream, drain);
                g_assert_cmpuint(stream.kernel.count_sends() - sends, ==, row.plain);
                g_assert_cmpuint(stream.kernel.count_corks(), ==, corks);
                g_assert_cmpuint(stream.egress->get_counters().flushes, ==, i + 1);
            }
        }
    }
}

/* Which calls promise more, and that the kernel is not left with a promise. */
static void test_more()
{
    GRand *rand = g_rand_new_with_seed(5);

    for (const char *mode : test_modes) {
        const RedStreamPolicy policy = test_policy(mode);

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
                if (policy.batch) {
                    /* the end of the last message was here all the time */
                    g_assert_cmpuint(stream.kernel.count_corks(), ==, broken);
                }
            }
            for (const ScriptedKernel::Call &call : stream.kernel.calls) {
                g_assert_true(policy.more || !call.more);
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

int main(int argc, char *argv[])
{
    alarm(120);
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream/records/calls", test_calls);
    g_test_add_func("/server/stream/records/more", test_more);
    g_test_add_func("/server/stream/records/image-plain", test_image_plain);

    const int ret = g_test_run();
    test_tls_cleanup();
    return ret;
}
