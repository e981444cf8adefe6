/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test what the modes of red-stream-modes.h send */
#include <config.h>

#include <sys/socket.h>

#include "red-stream-modes.h"
#include "test-stream-writes.h"

#include "push-visibility.h"

/* @records: TLS records of a message of three buffers */
static void check_tls(int records)
{
    TlsStream t;

    g_assert_cmpint(test_records_at_once(&t), ==, records);
    g_assert_cmpuint(red_stream_get_counters(t.stream).message_bytes, ==, 0);
}

static void normal()
{
    check_tls(3);
    test_check_auto_flush(false, false);
}

static void gather()
{
    check_tls(1);
    test_check_auto_flush(false, false);
}

/* The message has 600 bytes. */
static void gather_less()
{
    check_tls(3);
}

static void window()
{
    check_tls(3);
    test_check_auto_flush(true, true);
}

static void window_of_batch()
{
    test_ack_missing(400);
}

/* The kernel holds back a message that another one follows, until that comes or the stream is
 * flushed. */
static void more()
{
    check_tls(3);
    test_check_auto_flush(true, false);

    TestServer s;
    int sockets[2];
    char bytes[] = "abcdef";
    const struct iovec iov[] = { { bytes, 2 }, { bytes + 2, 4 } };

    test_make_sockets(TEST_TCP, 0, sockets);
    red_socket_set_non_blocking(sockets[0], true);
    RedStream *const stream = red_stream_new(s.server, sockets[0]);
    for (int i = 0; i < 2; ++i) {
        const unsigned last = i ? RED_STREAM_MORE : 0;

        g_assert_cmpint(red_stream_writev_flags(stream, iov, 2, RED_STREAM_MORE), ==, 6);
        g_assert_cmpint(test_readable(sockets[1]), ==, 0);
        g_assert_cmpint(red_stream_writev_flags(stream, iov, 2, last), ==, 6);
        g_assert_cmpint(test_readable(sockets[1]), ==, i ? 0 : 12);
        g_assert_cmpint(red_stream_flush(stream), ==, 0);
        g_assert_cmpint(test_readable(sockets[1]), ==, 12);
        g_assert_cmpint(recv(sockets[1], bytes, 6, 0), ==, 6);
        g_assert_cmpint(recv(sockets[1], bytes, 6, 0), ==, 6);
        g_assert_cmpstr(bytes, ==, "abcdef");
    }
    red_stream_free(stream);
    close(sockets[1]);
}

/* A client that does not read is waited for, as for one of upstream's. */
static void blocked()
{
    Fixture f;
    size_t sent = 0, received = 0;

    test_stream_shrink(f.rcc->get_stream());
    do {
        f.add_items(1);
        f.rcc->push();
        ++sent;
    } while (!f.rcc->is_blocked());
    while (f.rcc->is_blocked()) {
        received += f.receive();
        f.run_events();
    }
    received += f.receive();
    g_assert_cmpuint(received, ==, sent * MESSAGE_SIZE);
}

/* What a setting may be. */
static void settings()
{
    RedStreamPolicy policy = { };

    g_assert_true(red_stream_policy_parse("batch,window=1", &policy));
    g_assert_cmpuint(red_stream_modes_window(&policy), ==, 1);
    g_assert_true(red_stream_policy_parse("window,window=4294967294", &policy));
    g_assert_cmpuint(red_stream_modes_window(&policy), ==, UINT32_MAX - 1);
    g_assert_true(red_stream_policy_parse("window", &policy));
    g_assert_cmpuint(red_stream_modes_window(&policy), ==, 400);
    for (const char *mode : { "normal", "gather", "cork", "more", "batch" }) {
        g_assert_true(red_stream_policy_parse(mode, &policy));
        g_assert_cmpuint(red_stream_modes_window(&policy), ==, 0);
        g_assert_cmpint(red_stream_modes_says_more(&policy), ==, strcmp(mode, "more") == 0);
    }
    g_assert_true(red_stream_policy_parse("gather,threshold=1", &policy));
    g_assert_true(red_stream_policy_parse("gather,threshold=16384", &policy));
    for (const char *text : { "gather,threshold=0", "gather,threshold=16385",
                              "gather,threshold=auto", "gather,threshold=", "batch,window=0",
                              "batch,window=4294967295", "batch,window=auto" }) {
        g_assert_false(red_stream_policy_parse(text, &policy));
    }
}

static const BatchTest tests[] = {
    { "normal", "normal", normal },
    { "gather", "gather", gather },
    { "gather-less", "gather,threshold=599", gather_less },
    { "gather-all", "gather,threshold=600", gather },
    { "more", "more", more },
    { "window", "window", window },
    { "window-of-batch", "batch,window=400", window_of_batch },
    { "blocked/normal", "normal", blocked },
    { "blocked/gather", "gather", blocked },
    { "blocked/more", "more", blocked },
    { "settings", "cork", settings },
};

int main(int argc, char *argv[])
{
    return batch_test_main(argc, argv, "stream-modes", tests);
}
