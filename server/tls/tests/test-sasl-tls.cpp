/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TLS with SASL, which then has no security layer: a message is one TLS record, as without SASL. */
#include <config.h>

/* the header comes with another patch, which a build without it need not have */
#if HAVE_SASL && __has_include("test-sasl.h")

#include <poll.h>
#include <sys/ioctl.h>
#include <thread>
#include <vector>

#include "red-stream-egress.h"
#include "test-channel-tls.h"
#include "test-sasl.h"

#include "push-visibility.h"

static void authenticated(void *opaque, RedSaslError error)
{
    g_assert_cmpint(error, ==, RED_SASL_ERROR_OK);
    *static_cast<bool *>(opaque) = true;
}

static int write_message(TlsStream *t, unsigned flags)
{
    char bytes[600] = {};
    const struct iovec iov[] = { { bytes, 200 }, { bytes + 200, 200 }, { bytes + 400, 200 } };
    int on_the_wire;

    g_assert_cmpint(red_stream_writev_flags(t->stream, iov, G_N_ELEMENTS(iov), flags), ==,
                    sizeof(bytes));
    g_assert_cmpint(ioctl(t->peer_socket, FIONREAD, &on_the_wire), ==, 0);
    return on_the_wire;
}

static void authenticate(TlsStream *t)
{
    char got[1024];
    bool done = false;

    g_assert_cmpint(SSL_write(t->peer, test_sasl_answers, sizeof(test_sasl_answers)), ==,
                    sizeof(test_sasl_answers));
    g_assert_true(red_sasl_start_auth(t->stream, authenticated, &done));
    while (!done) {
        g_main_context_iteration(basic_event_loop_get_context(), TRUE);
    }
    g_assert_cmpint(red_stream_flush(t->stream), ==, 0);
    while (SSL_read(t->peer, got, sizeof(got)) > 0) {
        continue;
    }
}

static void one_record_a_message()
{
    TlsStream t;

    authenticate(&t);
    const uint64_t before = red_stream_get_counters(t.stream).messages;

    /* another message is announced: nothing is sent */
    g_assert_cmpint(write_message(&t, RED_STREAM_MESSAGE_START | RED_STREAM_MORE), ==, 0);
    /* the last one: two messages in two records, so that the client sees the second one at once */
    g_assert_cmpint(write_message(&t, RED_STREAM_MESSAGE_START), ==,
                    2 * (600 + test_tls_overhead(TLS1_3_VERSION)));
    g_assert_cmpuint(red_stream_get_counters(t.stream).messages, ==, before + 2);
    g_assert_cmpuint(red_stream_pending(t.stream), ==, 0);
    g_assert_cmpuint(blocks, ==, 0);
}

/* The socket takes a part of a buffer, and more by the time of the next one: no bytes are
 * skipped. */
static void large_messages()
{
    enum { PART = 64 * 1024, PARTS = 3, MESSAGES = 500 };
    const int size = 128 * 1024;
    TlsStream t;
    std::vector<uint8_t> bytes(PARTS * PART);
    struct iovec iov[PARTS];

    authenticate(&t);
    g_assert_cmpint(setsockopt(t.stream->socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), ==,
                    0);
    for (size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = i % 251;
    }
    std::thread reader([&t, &bytes]() {
        uint8_t got[4096];

        for (size_t all = 0; all < MESSAGES * bytes.size();) {
            const int n = SSL_read(t.peer, got, sizeof(got));
            struct pollfd readable = { t.peer_socket, POLLIN, 0 };

            if (n <= 0) {
                poll(&readable, 1, -1);
                continue;
            }
            for (int i = 0; i < n; ++i, ++all) {
                g_assert_cmpuint(got[i], ==, all % bytes.size() % 251);
            }
        }
    });
    for (int message = 0; message < MESSAGES; ++message) {
        for (size_t pos = 0; pos < bytes.size();) {
            const int first = pos / PART;
            struct pollfd writable = { t.stream->socket, POLLOUT, 0 };

            for (int i = first; i < PARTS; ++i) {
                const size_t start = i == first ? pos : i * PART;
                iov[i] = { &bytes[start], (i + 1) * PART - start };
            }
            const ssize_t n = red_stream_writev_flags(t.stream, iov + first, PARTS - first, 0);
            pos += MAX(n, 0);
            if (n < 0) {
                g_assert_cmpint(errno, ==, EAGAIN);
                poll(&writable, 1, -1);
            }
        }
    }
    while (red_stream_flush(t.stream) > 0) {
        g_usleep(100);
    }
    reader.join();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_setenv("SPICE_STREAM", "batch", TRUE);

    g_test_add_func("/server/sasl-tls/one-record-a-message", one_record_a_message);

    g_test_add_func("/server/sasl-tls/large-messages", large_messages);

    return g_test_run();
}

#else

int main()
{
    return 77;      // skipped
}

#endif
