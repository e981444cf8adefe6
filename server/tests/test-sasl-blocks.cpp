/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stream with a SASL layer encodes a message in as few blocks as their length allows. */
#include <config.h>

#include <cstring>
#include <vector>

#if HAVE_SASL

#include <sasl/sasl.h>

#include "test-channel-client.h"
#include "test-sockets.h"

#include "push-visibility.h"

enum { BLOCK_OVERHEAD = 16, MAX_BLOCK = 1000 };

static unsigned blocks;

/* In place of libsasl: a mechanism that lets everybody in, and whose blocks hold what they
 * are given behind 16 bytes. */
int sasl_server_init(const sasl_callback_t *, const char *) { return SASL_OK; }

int sasl_server_new(const char *, const char *, const char *, const char *, const char *,
                    const sasl_callback_t *, unsigned, sasl_conn_t **conn)
{
    *conn = reinterpret_cast<sasl_conn_t *>(&blocks);
    return SASL_OK;
}

int sasl_setprop(sasl_conn_t *, int, const void *) { return SASL_OK; }

int sasl_getprop(sasl_conn_t *, int prop, const void **value)
{
    static const int strength = 64;
    static const unsigned max_block = MAX_BLOCK;

    *value = prop == SASL_SSF ? static_cast<const void *>(&strength) : &max_block;
    return SASL_OK;
}

int sasl_listmech(sasl_conn_t *, const char *, const char *, const char *, const char *,
                  const char **list, unsigned *, int *)
{
    *list = ",ONE,";
    return SASL_OK;
}

int sasl_server_start(sasl_conn_t *, const char *, const char *, unsigned, const char **out,
                      unsigned *size)
{
    *out = nullptr;
    *size = 0;
    return SASL_OK;
}

int sasl_server_step(sasl_conn_t *, const char *, unsigned, const char **, unsigned *)
{
    return SASL_FAIL;
}

int sasl_encode(sasl_conn_t *, const char *input, unsigned size, const char **output,
                unsigned *output_size)
{
    static char block[BLOCK_OVERHEAD + MAX_BLOCK];

    g_assert_cmpuint(size, <=, MAX_BLOCK);
    memcpy(block + BLOCK_OVERHEAD, input, size);
    *output = block;
    *output_size = BLOCK_OVERHEAD + size;
    ++blocks;
    return SASL_OK;
}

int sasl_decode(sasl_conn_t *, const char *, unsigned, const char **, unsigned *)
{
    return SASL_FAIL;
}

const char *sasl_errdetail(sasl_conn_t *) { return ""; }
const char *sasl_errstring(int, const char *, const char **) { return ""; }
void sasl_dispose(sasl_conn_t **) {}

static void authenticated(void *opaque, RedSaslError error)
{
    g_assert_cmpint(error, ==, RED_SASL_ERROR_OK);
    *static_cast<bool *>(opaque) = true;
}

/* Writes messages of three buffers until as many bytes are written; how many blocks that took. */
static unsigned blocks_of(size_t part, size_t total)
{
    static const char answers[] = "\3\0\0\0ONE\1\0\0\0";     // the name of the mechanism, an empty text
    TestServer s;
    std::vector<char> bytes(part, 'x'), got;
    size_t written = 0;
    bool done = false;
    int sockets[2];

    test_make_sockets(TEST_TCP, 0, sockets);
    red_socket_set_non_blocking(sockets[0], true);
    g_assert_cmpint(write(sockets[1], answers, sizeof(answers)), ==, sizeof(answers));

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
