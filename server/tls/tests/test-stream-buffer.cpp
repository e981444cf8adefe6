/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test the byte queue and the helpers of red-stream-buffer.h */
#include <config.h>

#include <cstring>
#include <vector>

#include "red-stream-buffer.h"

/* The order of an iovec's members depends on the system. */
static struct iovec part(void *base, size_t size)
{
    struct iovec iov;

    iov.iov_base = base;
    iov.iov_len = size;
    return iov;
}

/* Bytes come out as they went in, however many at once. */
static void test_queue()
{
    GRand *rand = g_rand_new_with_seed(1);
    RedStreamBuffer buffer(1000);
    uint8_t in = 0, out = 0;

    for (int i = 0; i < 10000; ++i) {
        uint8_t bytes[1000];
        const size_t count = g_rand_int_range(rand, 0, buffer.room() + 1);

        for (size_t k = 0; k < count; ++k) {
            bytes[k] = in++;
        }
        const struct iovec iov[] = { part(bytes, count / 3), part(bytes, 0),
                                     part(bytes + count / 3, count - count / 3) };
        const size_t first = g_rand_int_range(rand, 0, count + 1);

        buffer.append(bytes, first);
        buffer.append(iov, 3, first);
        g_assert_cmpuint(buffer.size() + buffer.room(), ==, 1000);
        const size_t taken = g_rand_int_range(rand, 0, buffer.size() + 1);
        for (size_t k = 0; k < taken; ++k) {
            g_assert_cmpuint(buffer.start()[k], ==, out++);
        }
        buffer.consume(taken);
    }
    g_rand_free(rand);
}

/* The head of an array, of any size and with any room for it. */
static void test_head()
{
    uint8_t bytes[60];
    const struct iovec iov[] = { part(bytes, 10), part(bytes, 0), part(bytes + 10, 20),
                                 part(bytes + 30, 30) };

    g_assert_cmpuint(red_iov_size(iov, 4), ==, 60);
    for (size_t wanted = 0; wanted <= 61; ++wanted) {
        for (int room = 1; room <= 4; ++room) {
            static const size_t most[] = { 0, 10, 30, 60, 60 };
            struct iovec head[4];
            size_t size = wanted, pos = 0;
            const int count = red_iov_head(head, room, iov, 4, &size);

            g_assert_cmpint(count, <=, room);
            g_assert_cmpuint(size, ==, MIN(wanted, most[room]));
            g_assert_cmpuint(red_iov_size(head, count), ==, size);
            for (int i = 0; i < count; ++i) {
                g_assert_true(head[i].iov_base == bytes + pos);
                pos += head[i].iov_len;
            }
        }
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream/buffer/queue", test_queue);
    g_test_add_func("/server/stream/buffer/head", test_head);

    return g_test_run();
}
