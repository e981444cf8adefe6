/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test that the kernel makes the TLS records where it can, the same ones as the TLS library,
 * and that what the peer sees of the rest of TLS is as it should be. Where the kernel can't,
 * the same is true of the TLS library. */
#include <config.h>

#include "red-stream-ktls.h"
#include "test-stream-arrival.h"
#include "win-alarm.h"

#include "push-visibility.h"

/* Whether this kernel has the module, which no TLS library can hide. */
static bool kernel_has_tls()
{
    int sockets[2];

    test_make_sockets(TEST_TCP, 0, sockets);
    const bool has = setsockopt(sockets[0], IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")) == 0;
    close(sockets[0]);
    close(sockets[1]);
    return has;
}

static bool is_expected()
{
    static const bool has = kernel_has_tls();

    return has;
}

/* The transport that a stream begins with. */
static const RedStreamSocket *ops_of(const char *mode)
{
    const RedStreamPolicy policy = test_policy(mode);

    return red_stream_setting_ktls.get(&policy) ? red_stream_ktls_get_socket() :
                                                  &red_stream_kernel_socket;
}

static void send_drain(SocketConnection *stream, const TestDrain &drain)
{
    stream->sender->add(drain);
    while (!stream->sender->push()) {
        g_assert_cmpint(stream->sender->error, ==, 0);
        stream->receive();
    }
}

static void receive_all(SocketConnection *stream)
{
    stream->receive();
    while (stream->received < stream->sender->accepted) {
        g_assert_true(test_is_readable(stream->sockets[1], 5000));
        stream->receive();
    }
}

/* Which way it is, and that it works. */
static void test_choice()
{
    const struct {
        const char *mode;
        TestTransport transport;
        int version;
        const char *ciphers;
        bool is_used;
    } cases[] = {
        { "batch,ktls=on", TEST_TCP, TLS1_3_VERSION, nullptr, is_expected() },
        { "batch,ktls=on", TEST_TCP, TLS1_2_VERSION, nullptr, is_expected() },
        /* not of a kind that it knows */
        { "batch,ktls=on", TEST_TCP, TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA256:@SECLEVEL=0",
          false },
        { "batch,ktls=on", TEST_UNIX, TLS1_3_VERSION, nullptr, false },
        { "batch,ktls=on", TEST_TCP, 0, nullptr, false },
        { "batch", TEST_TCP, TLS1_3_VERSION, nullptr, false },
    };

    g_test_message("the kernel has it: %d", is_expected());
    for (const auto &one : cases) {
        SocketConnection stream(one.mode, one.transport, one.version, 0, ops_of(one.mode),
                                one.ciphers);

        send_drain(&stream, { { 6, 40, 180 }, { 6, 30 }, { 18, 200000 } });
        receive_all(&stream);
        g_assert_cmpint(red_stream_ktls_is_used(stream.egress), ==, one.is_used);
    }
}

/* Lengths of the application data records that the client of a stream got. */
static void note_record(int write_p, int version, int content_type, const void *buf, size_t len,
                        SSL *ssl, void *arg)
{
    auto header = static_cast<const uint8_t *>(buf);

    if (!write_p && content_type == SSL3_RT_HEADER && header[0] == SSL3_RT_APPLICATION_DATA) {
        static_cast<std::vector<size_t> *>(arg)->push_back(header[3] << 8 | header[4]);
    }
}

static std::vector<size_t> records_of(const char *mode, int version)
{
    std::vector<size_t> lengths;
    GRand *rand = g_rand_new_with_seed(11);

    /* from OpenSSL 3.2 on only who was there before the handshake is told of records */
    SSL_CTX_set_msg_callback(test_tls_ctx(false), note_record);
    SSL_CTX_set_msg_callback_arg(test_tls_ctx(false), &lengths);
    SocketConnection stream(mode, TEST_TCP, version, 200000, ops_of(mode));
    SSL_CTX_set_msg_callback(test_tls_ctx(false), nullptr);
    lengths.clear();
    for (int i = 0; i < 15; ++i) {
        TestDrain drain;

        for (int n = g_rand_int_range(rand, 1, 60); n > 0; --n) {
            drain.push_back({ 6, static_cast<size_t>(g_rand_int_range(rand, 1, n % 20 ? 300 :
                                                                                        8000)) });
        }
        stream.sender->add(drain);
        g_assert_true(stream.sender->push());
        /* where the kernel takes part of a record it makes two of it */
        g_assert_cmpuint(stream.egress->get_counters().eagains, ==, 0);
        receive_all(&stream);
    }
    g_rand_free(rand);
    g_assert_cmpuint(lengths.size(), ==, stream.egress->get_counters().records);
    return lengths;
}

/* So all that is known of the records of the TLS library holds for those of the kernel. */
static void test_same_records()
{
    for (const char *mode : { "batch", "batch,record=1400", "batch,record=3000" }) {
        for (int version : { TLS1_2_VERSION, TLS1_3_VERSION }) {
            char *with = g_strconcat(mode, ",ktls=on", nullptr);

            g_assert_true(records_of(mode, version) == records_of(with, version));
            g_free(with);
        }
    }
}

/* Segments with data that came to the client. */
static uint32_t segments_in(const SocketConnection *stream)
{
    /* tcpi_data_segs_in of linux/tcp.h, which can't be included beside netinet/tcp.h */
    uint32_t info[40] = { };
    socklen_t len = sizeof(info);

    g_assert_cmpint(getsockopt(stream->sockets[1], IPPROTO_TCP, TCP_INFO, info, &len), ==, 0);
    return info[38];
}

/* The records of a drain share a segment. */
static void test_segments()
{
    for (const char *mode : { "batch", "batch,ktls=on" }) {
        SocketConnection stream(mode, TEST_TCP, TLS1_3_VERSION, 0, ops_of(mode));

        send_drain(&stream, { { 6, 100 } });
        receive_all(&stream);
        const uint32_t before = segments_in(&stream);
        for (int i = 0; i < 20; ++i) {
            send_drain(&stream, { { 6, 100 }, { 6, 100 }, { 6, 100 } });
            receive_all(&stream);
        }
        /* a busy machine may retransmit some; without a cork they are 40 */
        g_assert_cmpuint(segments_in(&stream) - before, >=, 20);
        g_assert_cmpuint(segments_in(&stream) - before, <, 30);
    }
}

/* Whether the client can decrypt what it was sent. */
static bool client_can_read(SocketConnection *stream)
{
    char data;
    int n;

    do {
        g_assert_true(test_is_readable(stream->sockets[1], 5000));
        n = SSL_peek(stream->client, &data, sizeof(data));
    } while (n <= 0 && SSL_get_error(stream->client, n) == SSL_ERROR_WANT_READ);
    if (n <= 0) {
        g_assert_cmpint(SSL_get_error(stream->client, n), ==, SSL_ERROR_SSL);
        ERR_clear_error();
    }
    return n > 0;
}

/* The client changes its keys, and asks the server to do so: what is sent in both directions
 * arrives. Where the keys of the kernel can't be changed the connection ends: the TLS library
 * fails, or the client can't decrypt what follows. */
static void test_key_update()
{
    for (const char *mode : { "batch", "batch,ktls=on" }) {
        for (int request : { SSL_KEY_UPDATE_NOT_REQUESTED, SSL_KEY_UPDATE_REQUESTED }) {
            SocketConnection stream(mode, TEST_TCP, TLS1_3_VERSION, 0, ops_of(mode));
            bool ended = false;

            for (int i = 0; i < 3 && !ended; ++i) {
                char data[5];

                send_drain(&stream, { { 6, 40, 180 }, { 6, 30 } });
                if (!client_can_read(&stream)) {
                    ended = true;
                    break;
                }
                receive_all(&stream);
                g_assert_cmpint(SSL_key_update(stream.client, request), ==, 1);
                g_assert_cmpint(SSL_write(stream.client, "hello", 5), ==, 5);
                int n;
                do {
                    g_assert_true(test_is_readable(stream.sockets[0], 5000));
                    n = SSL_read(stream.server, data, 5);
                } while (n < 0 && SSL_get_error(stream.server, n) == SSL_ERROR_WANT_READ);
                ended = n <= 0;
                if (!ended) {
                    g_assert_cmpint(n, ==, 5);
                    g_assert_cmpint(memcmp(data, "hello", 5), ==, 0);
                }
            }
            if (ended) {
                char data[5];

                g_assert_true(red_stream_ktls_is_used(stream.egress));
                g_assert_cmpint(request, ==, SSL_KEY_UPDATE_REQUESTED);
                shutdown(stream.sockets[0], SHUT_WR);
                g_assert_true(test_is_readable(stream.sockets[1], 5000));
                g_assert_cmpint(SSL_read(stream.client, data, 5), <=, 0);
                ERR_clear_error();
                continue;
            }
            send_drain(&stream, { { 6, 40, 180 }, { 18, 100000 } });
            receive_all(&stream);
        }
    }
}

/* The peer is told the end, and why. */
static void test_alerts()
{
    for (const char *mode : { "batch", "batch,ktls=on" }) {
        for (int version : { TLS1_2_VERSION, TLS1_3_VERSION }) {
            for (bool fatal : { false, true }) {
                SocketConnection stream(mode, TEST_TCP, version, 0, ops_of(mode));
                char data[100] = "this is no record";

                send_drain(&stream, { { 6, 40, 180 } });
                receive_all(&stream);
                if (fatal) {
                    g_assert_cmpint(write(stream.sockets[1], data, sizeof(data)), ==, sizeof(data));
                    g_assert_true(test_is_readable(stream.sockets[0], 5000));
                    g_assert_cmpint(SSL_read(stream.server, data, sizeof(data)), <=, 0);
                } else {
                    g_assert_cmpint(SSL_shutdown(stream.server), ==, 0);
                }
                g_assert_true(test_is_readable(stream.sockets[1], 5000));
                const int n = SSL_read(stream.client, data, sizeof(data));
                g_assert_cmpint(SSL_get_error(stream.client, n), ==,
                                fatal ? SSL_ERROR_SSL : SSL_ERROR_ZERO_RETURN);
                ERR_clear_error();
            }
        }
    }
}

/* The peer goes while the kernel holds records: an error, and no signal. */
static void test_gone()
{
    for (const char *mode : { "batch", "batch,ktls=on" }) {
        SocketConnection stream(mode, TEST_TCP, TLS1_3_VERSION, 4096, ops_of(mode));

        stream.sender->add({ { 6, 40, 180 }, { 18, 2000000 } });
        g_assert_false(stream.sender->push());
        shutdown(stream.sockets[1], SHUT_RDWR);
        close(stream.sockets[1]);
        stream.sockets[1] = dup(stream.sockets[0]);
        for (int i = 0; i < 100 && !stream.sender->error; ++i) {
            struct pollfd pollfd = { stream.sockets[0], POLLOUT, 0 };

            poll(&pollfd, 1, 100);
            g_assert_false(stream.sender->push());
        }
        g_assert_true(stream.sender->error == ECONNRESET || stream.sender->error == EPIPE);
    }
}

/* As test-stream-sockets. Where the kernel can't, this is the same again. */
static const TestRow ktls_row = {
    { "batch,record=3000,ktls=on", "batch,ktls=on" },
    { TLS1_2_VERSION, TLS1_3_VERSION },
    { TEST_TCP },
    red_stream_ktls_get_socket(), nullptr, nullptr,
};

int main(int argc, char *argv[])
{
    /* a processor that is emulated on a busy machine takes its time */
    alarm(300);
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream/ktls/choice", test_choice);
    g_test_add_data_func("/server/stream/ktls/exact", &ktls_row, test_exact);
    g_test_add_data_func("/server/stream/ktls/no-wait", &ktls_row, test_no_wait);
    g_test_add_data_func("/server/stream/ktls/gtk-reader", &ktls_row, test_gtk_reader);
    g_test_add_func("/server/stream/ktls/same-records", test_same_records);
    g_test_add_func("/server/stream/ktls/segments", test_segments);
    g_test_add_func("/server/stream/ktls/key-update", test_key_update);
    g_test_add_func("/server/stream/ktls/alerts", test_alerts);
    g_test_add_func("/server/stream/ktls/gone", test_gone);

    const int ret = g_test_run();
    test_tls_cleanup();
    return ret;
}
