/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A TLS client that is handed over to the server need not authenticate if that is said with it,
 * also where all that it has to say is there before the handing over is done.
 */
#include <config.h>

#include <stdarg.h>
#include <sys/syscall.h>

#include "test-link.h"
#include "test-stream-tls.h"
#include "utils.h"
#include "win-alarm.h"

#include "push-visibility.h"

#define PKI_DIR SPICE_TOP_SRCDIR "/server/tests/pki/"

/* waits for what it reads, whatever the server wants */
static int blocking_socket = -1;

extern "C" {

/* these take the place of libc's */
SPICE_GNUC_VISIBLE int fcntl(int fd, int cmd, ...)
{
    va_list args;

    va_start(args, cmd);
    long arg = va_arg(args, long);
    va_end(args);
    if (fd == blocking_socket && cmd == F_SETFL) {
        arg &= ~O_NONBLOCK;
    }
    return syscall(SYS_fcntl, fd, cmd, arg);
}

/* To a free port, whichever the server wants: nobody comes there. */
SPICE_GNUC_VISIBLE int bind(int fd, const struct sockaddr *address, socklen_t len)
{
    struct sockaddr_storage free_port;

    memcpy(&free_port, address, len);
    /* at the same place for IPv4 and IPv6 */
    reinterpret_cast<struct sockaddr_in *>(&free_port)->sin_port = 0;
    return syscall(SYS_bind, fd, &free_port, len);
}

}

struct TlsServer
{
    SpiceCoreInterface *core = basic_event_loop_init();
    SpiceServer *server = spice_server_new();

    TlsServer()
    {
        g_assert_cmpint(spice_server_set_tls(server, 1, PKI_DIR "ca-cert.pem",
                                             PKI_DIR "server-cert.pem", PKI_DIR "server-key.pem",
                                             nullptr, nullptr, nullptr), ==, 0);
        g_assert_cmpint(spice_server_set_ticket(server, "a ticket", 0, FALSE, FALSE), ==, 0);
        g_assert_cmpint(spice_server_init(server, core), ==, 0);
    }

    ~TlsServer()
    {
        spice_server_destroy(server);
        basic_event_loop_destroy();
    }
};

static void read_all(SSL *ssl, void *data, int size)
{
    auto to = static_cast<uint8_t *>(data);

    while (size > 0) {
        const int num_bytes = SSL_read(ssl, to, size);

        g_assert_cmpint(num_bytes, >, 0);
        to += num_bytes;
        size -= num_bytes;
    }
}

/* Returns the server's answer to a wrong ticket. */
static gpointer run_client(gpointer data)
{
    const std::vector<uint8_t> message =
        test_link_message(SPICE_CHANNEL_MAIN, 0, 0, 1 << SPICE_COMMON_CAP_PROTOCOL_AUTH_SELECTION |
                                                    1 << SPICE_COMMON_CAP_AUTH_SPICE);
    const uint32_t mechanism = GUINT32_TO_LE(SPICE_COMMON_CAP_AUTH_SPICE);
    SSL *const ssl = test_tls_new(false, TLS1_3_VERSION);
    SpiceLinkHeader header;
    SpiceLinkReply reply;
    uint32_t result;

    SSL_set_fd(ssl, GPOINTER_TO_INT(data));
    g_assert_cmpint(SSL_connect(ssl), ==, 1);
    g_assert_cmpint(SSL_write(ssl, message.data(), message.size()), ==, message.size());
    read_all(ssl, &header, sizeof(header));
    read_all(ssl, &reply, sizeof(reply));
    std::vector<uint8_t> caps(GUINT32_FROM_LE(header.size) - sizeof(reply));
    read_all(ssl, caps.data(), caps.size());

    const std::vector<uint8_t> ticket = test_encrypt_ticket(reply, "another");
    g_assert_cmpint(SSL_write(ssl, &mechanism, sizeof(mechanism)), ==, sizeof(mechanism));
    g_assert_cmpint(SSL_write(ssl, ticket.data(), ticket.size()), ==, ticket.size());
    read_all(ssl, &result, sizeof(result));
    SSL_free(ssl);
    return GINT_TO_POINTER(GUINT32_FROM_LE(result));
}

/* All of it is read as soon as the server is given the socket. */
static void check(bool skip_auth, uint32_t answer)
{
    TlsServer server;
    int sockets[2];

    alarm(30);
    test_make_sockets(TEST_TCP, 0, sockets);
    GThread *const thread = g_thread_new("client", run_client, GINT_TO_POINTER(sockets[1]));
    blocking_socket = sockets[0];
    g_assert_cmpint(spice_server_add_ssl_client(server.server, sockets[0], skip_auth), ==, 0);
    blocking_socket = -1;
    fcntl(sockets[0], F_SETFL, O_NONBLOCK);
    g_assert_cmpint(GPOINTER_TO_INT(g_thread_join(thread)), ==, answer);
    close(sockets[1]);
    TestLink::run_events();
    alarm(0);
}

static void skipped()
{
    check(true, SPICE_LINK_ERR_OK);
}

static void refused()
{
    check(false, SPICE_LINK_ERR_PERMISSION_DENIED);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of whom it refuses, and of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/tls-skip-auth/skipped", skipped);
    g_test_add_func("/server/tls-skip-auth/refused", refused);
    const int status = g_test_run();
    test_tls_cleanup();
    return status;
}
