/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TLS with SASL, which then has no security layer: a message is one TLS record, as without SASL. */
#include <config.h>

#if HAVE_SASL

#include <sys/ioctl.h>

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

    g_assert_cmpint(red_stream_writev_flags(t->stream, iov, G_N_ELEMENTS(iov), flags), ==, sizeof(bytes));
    g_assert_cmpint(ioctl(t->peer_socket, FIONREAD, &on_the_wire), ==, 0);
    return on_the_wire;
}

static void one_record_a_message()
{
    TlsStream t;
    char got[1024];
    bool done = false;

    g_assert_cmpint(SSL_write(t.peer, test_sasl_answers, sizeof(test_sasl_answers)), ==, sizeof(test_sasl_answers));
    g_assert_true(red_sasl_start_auth(t.stream, authenticated, &done));
    while (!done) {
        g_main_context_iteration(basic_event_loop_get_context(), TRUE);
    }
    g_assert_cmpint(red_stream_flush(t.stream), ==, 0);
    while (SSL_read(t.peer, got, sizeof(got)) > 0) {
        continue;
    }

    /* another message is announced: nothing is sent */
    g_assert_cmpint(write_message(&t, RED_STREAM_MESSAGE_START | RED_STREAM_MORE), ==, 0);
    /* the last one: two messages in two records, so that the client sees the second one at once */
    g_assert_cmpint(write_message(&t, RED_STREAM_MESSAGE_START), ==,
                    2 * (600 + test_tls_overhead(TLS1_3_VERSION)));
    g_assert_cmpuint(red_stream_get_counters(t.stream).messages, ==, 2);
    g_assert_cmpuint(red_stream_pending(t.stream), ==, 0);
    g_assert_cmpuint(blocks, ==, 0);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_setenv("SPICE_STREAM", "batch", TRUE);

    g_test_add_func("/server/sasl-tls/one-record-a-message", one_record_a_message);

    return g_test_run();
}

#else

int main()
{
    return 77;      // skipped
}

#endif
