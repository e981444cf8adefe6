/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a stream makes of the ways in which OpenSSL can fail: only what is to be repeated looks
 * like EAGAIN, and an error of another connection on the same thread changes nothing.
 */
#include <config.h>

#include <cerrno>
#include <dlfcn.h>

#include <openssl/err.h>

#include "test-channel-tls.h"

#include "push-visibility.h"

/* how SSL_read and SSL_write fail, while failing */
static struct {
    bool failing;
    int return_code;
    int ssl_error;
    int error_number;
} openssl;

template <typename F>
static F real(const char *name, F)
{
    return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

extern "C" {

/* these take the place of OpenSSL's own */
SPICE_GNUC_VISIBLE int SSL_read(SSL *ssl, void *buf, int size)
{
    if (!openssl.failing) {
        return real("SSL_read", SSL_read)(ssl, buf, size);
    }
    errno = openssl.error_number ? openssl.error_number : errno;
    return openssl.return_code;
}

SPICE_GNUC_VISIBLE int SSL_write(SSL *ssl, const void *buf, int size)
{
    if (!openssl.failing) {
        return real("SSL_write", SSL_write)(ssl, buf, size);
    }
    errno = openssl.error_number ? openssl.error_number : errno;
    return openssl.return_code;
}

SPICE_GNUC_VISIBLE int SSL_get_error(const SSL *ssl, int return_code)
{
    return openssl.failing ? openssl.ssl_error :
                             real("SSL_get_error", SSL_get_error)(ssl, return_code);
}

}

struct FailingTlsStream: public TlsStream
{
    ~FailingTlsStream()
    {
        openssl.failing = false;
    }

    /* errno of a read, 0 at the end of what the peer sends */
    int read_error()
    {
        char byte;

        errno = EAGAIN;
        const ssize_t n = red_stream_read(stream, &byte, 1);
        g_assert_cmpint(n, <=, 0);
        return n == 0 ? 0 : errno;
    }

    int write_error()
    {
        errno = EAGAIN;
        g_assert_cmpint(red_stream_write(stream, "x", 1), ==, -1);
        return errno;
    }
};

static void fail(int return_code, int ssl_error, int error_number=0)
{
    openssl = { true, return_code, ssl_error, error_number };
}

/* Before all of them errno is EAGAIN, as after reading all there was. */
static void read_errors()
{
    FailingTlsStream s;

    fail(-1, SSL_ERROR_WANT_READ);
    g_assert_cmpint(s.read_error(), ==, EAGAIN);
    fail(0, SSL_ERROR_WANT_READ);
    g_assert_cmpint(s.read_error(), ==, EAGAIN);
    fail(-1, SSL_ERROR_WANT_WRITE, EINTR);
    g_assert_cmpint(s.read_error(), ==, EAGAIN);
    fail(-1, SSL_ERROR_SSL);
    g_assert_cmpint(s.read_error(), ==, EPIPE);
    fail(-1, SSL_ERROR_SYSCALL);
    g_assert_cmpint(s.read_error(), ==, EPIPE);
    fail(-1, SSL_ERROR_SYSCALL, ECONNRESET);
    g_assert_cmpint(s.read_error(), ==, ECONNRESET);
    fail(0, SSL_ERROR_ZERO_RETURN);
    g_assert_cmpint(s.read_error(), ==, 0);
}

static void fatal_write_error()
{
    FailingTlsStream s;

    fail(-1, SSL_ERROR_SSL);
    g_assert_cmpint(s.write_error(), ==, EPIPE);
}

static void write_returns_0()
{
    FailingTlsStream s;

    fail(0, SSL_ERROR_SSL);
    g_assert_cmpint(s.write_error(), ==, EPIPE);
}

/* The link messages are written like this. */
static void write_all_ends()
{
    FailingTlsStream s;

    fail(-1, SSL_ERROR_SSL);
    errno = EAGAIN;
    g_assert_false(red_stream_write_all(s.stream, "x", 1));
}

/* A channel's message is not tried again and again. */
static void channel_write_returns_0()
{
    FailingTlsStream s;
    auto channel = red::make_shared<TestChannel>(s.server, SPICE_CHANNEL_PORT, 0,
                                                 RedChannel::MigrateAll);
    auto rcc = red::make_shared<TestChannelClient>(channel.get(), s.client, s.stream, &s.caps);

    s.stream = nullptr;
    g_assert_true(rcc->init());
    rcc->pipe_add_empty_msg(SPICE_MSG_MIGRATE_DATA);
    fail(0, SSL_ERROR_SSL);
    rcc->push();
    g_assert_false(rcc->is_connected());
}

/* Not simulated: a record that is no record. */
static void damaged_record()
{
    FailingTlsStream s;
    const char no_record[] = "this is not what TLS looks like";

    g_assert_cmpint(s.read_error(), ==, EAGAIN);
    g_assert_cmpint(write(s.peer_socket, no_record, sizeof(no_record)), ==, sizeof(no_record));
    g_assert_cmpint(s.read_error(), ==, EPIPE);
    g_assert_cmpint(s.write_error(), ==, EPIPE);
}

/* Not simulated: what another connection left is taken for this one's. */
static void error_of_another_connection()
{
    FailingTlsStream s;

    ERR_put_error(ERR_LIB_SSL, 0, ERR_R_INTERNAL_ERROR, __FILE__, __LINE__);
    g_assert_cmpint(s.read_error(), ==, EAGAIN);
    ERR_clear_error();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);

    g_test_add_func("/server/tls-errors/read", read_errors);
    g_test_add_func("/server/tls-errors/fatal-write-error", fatal_write_error);
    g_test_add_func("/server/tls-errors/write-returns-0", write_returns_0);
    g_test_add_func("/server/tls-errors/write-all-ends", write_all_ends);
    g_test_add_func("/server/tls-errors/channel-write-returns-0", channel_write_returns_0);
    g_test_add_func("/server/tls-errors/damaged-record", damaged_record);
    g_test_add_func("/server/tls-errors/error-of-another-connection", error_of_another_connection);

    const int ret = g_test_run();
    test_tls_cleanup();
    return ret;
}
