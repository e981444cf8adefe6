/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stream with a SASL layer encodes a message in as few blocks as their length allows. */
#include <config.h>

#include <cstring>
#include <vector>

#if HAVE_SASL

#include "test-channel-client.h"
#include "test-sasl.h"
#include "test-sockets.h"

#include "push-visibility.h"

static void authenticated(void *opaque, RedSaslError error)
{
    g_assert_cmpint(error, ==, RED_SASL_ERROR_OK);
    *static_cast<bool *>(opaque) = true;
}

/* Writes messages of three buffers until as many bytes are written; how many blocks that took. */
static unsigned blocks_of(size_t part, size_t total)
{
    TestServer s;
    std::vector<char> bytes(part, 'x'), got;
    size_t written = 0;
    bool done = false;
    int sockets[2];

    test_make_sockets(TEST_TCP, 0, sockets);
    red_socket_set_non_blocking(sockets[0], true);
    g_assert_cmpint(write(sockets[1], test_sasl_answers, sizeof(test_sasl_answers)), ==,
                    sizeof(test_sasl_answers));

    RedStream *stream = red_stream_new(s.server, sockets[0]);
    g_assert_true(red_sasl_start_auth(stream, authenticated, &done));
    while (!done) {
        g_main_context_iteration(basic_event_loop_get_context(), TRUE);
    }
    blocks = 0;
    while (written < total) {
        struct iovec iov[3];

        for (auto &v : iov) {
            v = { bytes.data(), part };
        }
        /* what is left of a message is given again, as a channel does */
        size_t skip = written % (3 * part);
        int first = 0;
        for (; skip >= iov[first].iov_len; first++) {
            skip -= iov[first].iov_len;
        }
        iov[first].iov_base = bytes.data() + skip;
        iov[first].iov_len -= skip;
        const ssize_t n = red_stream_writev(stream, iov + first, 3 - first);
        g_assert_cmpint(n, >, 0);
        written += n;
    }
    g_assert_cmpuint(written, ==, total);
    red_stream_free(stream);
    close(sockets[1]);
    return blocks;
}

static void one_block_a_message()
{
    g_assert_cmpuint(blocks_of(100, 300), ==, 1);
    g_assert_cmpuint(blocks_of(100, 3000), ==, 10);
}

static void as_long_as_a_block_may_be()
{
    g_assert_cmpuint(blocks_of(MAX_BLOCK / 2, MAX_BLOCK * 3 / 2), ==, 2);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);

    g_test_add_func("/server/sasl-blocks/one-a-message", one_block_a_message);
    g_test_add_func("/server/sasl-blocks/largest", as_long_as_a_block_may_be);

    return g_test_run();
}

#else

int main()
{
    return 77;      // skipped
}

#endif
