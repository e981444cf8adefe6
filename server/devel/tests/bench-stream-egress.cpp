/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measure a stream: a fixed list of messages through it in each mode, over TCP on
 * loopback to a thread that drains it, plain and over TLS 1.3. A line of JSON each.
 * System calls and bytes are counted at the socket, so that they are known in the modes
 * without an output buffer as well; records are what the bytes have more than the messages.
 *
 * The list is made here, or read from a file with one line a message,
 *
 *   MORE LENGTH,LENGTH,...
 *
 * MORE is 1 if another message follows at once and 0 at the end of a drain, then the
 * lengths of its iovecs. bench-mix has such lists, 8000 messages (of big-images 100) from
 * the middle of the display channel of a recording, made from its trace (see
 * red-stream-trace.h) by
 *
 *   awk '$3 == "write" && $4 ~ /s/ && $2 == STREAM { print ($4 ~ /m/) + 0, $5 }'
 *
 * A list is repeated until it gives as many messages as the one made here, or half a
 * gigabyte.
 *
 * With --count-only the list goes once, and no socket is in the way. What is done then is
 * the same every time, so its instructions can be counted (the handshake's are left out):
 *
 *   valgrind --tool=callgrind --toggle-collect=bench_send ./bench-stream-egress \
 *       --count-only --mode batch --transport tls
 */
#include <config.h>

#include <algorithm>
#include <ctime>

#include <sys/syscall.h>
#include <sys/wait.h>

#include "test-channel-client.h"
#include "test-sockets.h"
#include "test-stream-egress.h"

#include "push-visibility.h"

static const char *const bench_modes[] = {
    "normal", "gather", "cork", "more", "window", "batch", "flow",
};

#define IMAGE_SIZE 2000000

/* The list of messages, flat: a big list of small vectors would be what is measured. */
struct BenchMix {
    std::vector<struct iovec> iovs;
    struct Message {
        size_t first;
        int count;
        size_t size;
        bool more;
    };
    std::vector<Message> messages;
    int repeats;
    uint8_t *data;
    size_t data_size;
};

static void add_message(BenchMix *mix, const std::vector<size_t> &lengths, bool more)
{
    BenchMix::Message message = { mix->iovs.size(), static_cast<int>(lengths.size()), 0, more };

    for (size_t length : lengths) {
        mix->iovs.push_back({ nullptr, length });
        message.size += length;
        mix->data_size = MAX(mix->data_size, length);
    }
    mix->messages.push_back(message);
}

/* All iovecs of one length are at one place, of different lengths at different ones. */
static void place_data(BenchMix *mix)
{
    const size_t spread = 65536;

    mix->data = static_cast<uint8_t *>(g_malloc(mix->data_size + spread));
    test_fill(mix->data, mix->data_size + spread, 0);
    for (struct iovec &iov : mix->iovs) {
        iov.iov_base = mix->data + iov.iov_len * 61 % spread;
    }
}

#define MESSAGES 40000
#define BYTES_MAX 500000000

/* Like a text console: messages of about 226 bytes in drains of 40, and an image of 2 MB
 * after each tenth of them. */
static void make_mix(BenchMix *mix)
{
    GRand *rand = g_rand_new_with_seed(9);

    for (int i = 0; i < MESSAGES; ++i) {
        add_message(mix, { 6, static_cast<size_t>(g_rand_int_range(rand, 20, 61)),
                           static_cast<size_t>(g_rand_int_range(rand, 90, 271)) }, i % 40 < 39);
        if (i % (MESSAGES / 10) == MESSAGES / 10 - 1) {
            add_message(mix, { 6, 90, IMAGE_SIZE }, false);
        }
    }
    g_rand_free(rand);
    mix->repeats = 1;
}

static void read_mix(BenchMix *mix, const char *name)
{
    char *text;

    if (!g_file_get_contents(name, &text, nullptr, nullptr)) {
        g_error("can't read %s", name);
    }
    char **lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line && **line; ++line) {
        std::vector<size_t> lengths;
        char *pos = *line + 1;

        g_assert_true((**line == '0' || **line == '1') && *pos == ' ');
        do {
            lengths.push_back(g_ascii_strtoull(pos + 1, &pos, 10));
        } while (*pos == ',');
        add_message(mix, lengths, **line == '1');
    }
    g_strfreev(lines);
    g_free(text);
    g_assert_false(mix->messages.empty());
    size_t bytes = 0;
    for (const BenchMix::Message &message : mix->messages) {
        bytes += message.size;
    }
    mix->repeats = MIN((MESSAGES + mix->messages.size() - 1) / mix->messages.size(),
                       BYTES_MAX / bytes + 1);
}

/* The socket under measurement, and what was done with it. */
static struct {
    int fd = -1;
    /* once the handshake is over: no call reaches the kernel */
    bool count_only = false;
    uint64_t writes = 0;
    uint64_t written_bytes = 0;
    uint64_t eagains = 0;
    uint64_t setsockopts = 0;
} counted;

static ssize_t note_write(ssize_t n)
{
    ++counted.writes;
    counted.written_bytes += n > 0 ? n : 0;
    counted.eagains += n == -1 && errno == EAGAIN;
    return n;
}

/* In place of those of the C library, for this program and, as they are visible, for the TLS
 * library. */
#pragma GCC visibility push(default)
ssize_t write(int fd, const void *data, size_t size)
{
    if (fd != counted.fd) {
        return syscall(SYS_write, fd, data, size);
    }
    return note_write(counted.count_only ? size : syscall(SYS_write, fd, data, size));
}

ssize_t writev(int fd, const struct iovec *iov, int iovcnt)
{
    if (fd != counted.fd) {
        return syscall(SYS_writev, fd, iov, iovcnt);
    }
    return note_write(counted.count_only ? red_iov_size(iov, iovcnt) :
                      syscall(SYS_writev, fd, iov, iovcnt));
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
    if (fd != counted.fd) {
        return syscall(SYS_sendmsg, fd, msg, flags);
    }
    return note_write(counted.count_only ? red_iov_size(msg->msg_iov, msg->msg_iovlen) :
                                           syscall(SYS_sendmsg, fd, msg, flags));
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size) noexcept
{
    counted.setsockopts += fd == counted.fd;
    return fd == counted.fd && counted.count_only ? 0 :
           syscall(SYS_setsockopt, fd, level, name, value, size);
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *size) noexcept
{
    if (fd == counted.fd && counted.count_only) {
        errno = ENOPROTOOPT;
        return -1;
    }
    return syscall(SYS_getsockopt, fd, level, name, value, size);
}

#pragma GCC visibility pop

static void wait_writable(int fd)
{
    struct pollfd pollfd = { fd, POLLOUT, 0 };

    poll(&pollfd, 1, -1);
}

/* One message, and a flush if it ends a drain. */
static void send_message(RedStream *stream, const struct iovec *iov,
                         const BenchMix::Message &message)
{
    unsigned flags = RED_STREAM_MESSAGE_START | (message.more ? RED_STREAM_MORE : 0);
    struct iovec rest[IOV_MAX];
    size_t left = message.size;
    int count = message.count;

    while (left) {
        const ssize_t n = red_stream_writev_flags(stream, iov, count, flags);

        if (n < 0) {
            g_assert_cmpint(errno, ==, EAGAIN);
            wait_writable(stream->socket);
            continue;
        }
        left -= n;
        if (left) {
            size_t skip = n;

            flags &= ~RED_STREAM_MESSAGE_START;
            while (skip >= iov->iov_len) {
                skip -= iov->iov_len;
                ++iov;
                --count;
            }
            std::copy(iov, iov + count, rest);
            iov = rest;
            rest[0].iov_base = static_cast<uint8_t *>(rest[0].iov_base) + skip;
            rest[0].iov_len -= skip;
        }
    }
    while (!message.more && red_stream_flush(stream) > 0) {
        wait_writable(stream->socket);
    }
}

/* Callgrind counts what happens in here. */
extern "C" __attribute__((noinline)) void
bench_send(RedStream *stream, const BenchMix *mix)
{
    for (int i = 0; i < mix->repeats; ++i) {
        for (const BenchMix::Message &message : mix->messages) {
            send_message(stream, &mix->iovs[message.first], message);
        }
    }
}

/* Throws away all that comes, until the end. */
static gpointer drain_thread(gpointer data)
{
    const int fd = GPOINTER_TO_INT(data);
    static char dummy[1024 * 1024];

    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    while (recv(fd, dummy, sizeof(dummy), MSG_TRUNC) > 0) {
        continue;
    }
    return nullptr;
}

static double get_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

/* Returns the client. */
static SSL *start_tls(RedStream *stream, int peer)
{
    SSL *const client = test_tls_new(false, TLS1_3_VERSION);
    bool client_done = false;
    char byte;

    SSL_set_fd(client, peer);
    SSL_set_connect_state(client);
    RedStreamSslStatus status = red_stream_enable_ssl(stream, test_tls_ctx(true));
    while (status != RED_STREAM_SSL_STATUS_OK || !client_done) {
        g_assert_cmpint(status, !=, RED_STREAM_SSL_STATUS_ERROR);
        client_done = test_tls_step(client);
        if (status != RED_STREAM_SSL_STATUS_OK) {
            status = red_stream_ssl_accept(stream);
        }
    }
    /* the tickets that end the handshake */
    g_assert_cmpint(SSL_read(client, &byte, 1), ==, -1);
    return client;
}

/* Once per process: SPICE_STREAM is read once. */
static void bench_mode(const BenchMix *mix, const char *mix_name, const char *mode, bool tls,
                       bool counts)
{
    int sockets[2];
    GThread *thread = nullptr;

    g_setenv("SPICE_STREAM", mode, TRUE);
    TestServer server;
    test_make_sockets(TEST_TCP, 0, sockets);
    g_assert_true(test_set_nonblocking(sockets[0]));
    g_assert_true(test_set_nonblocking(sockets[1]));
    RedStream *const stream = red_stream_new(server.server, sockets[0]);
    SSL *const client = tls ? start_tls(stream, sockets[1]) : nullptr;
    red_stream_set_auto_flush(stream, false);
    if (!counts) {
        thread = g_thread_new("drain", drain_thread, GINT_TO_POINTER(sockets[1]));
    }
    counted.fd = sockets[0];
    counted.count_only = counts;

    const double start_time = get_clock(CLOCK_MONOTONIC);
    const double start_cpu = get_clock(CLOCK_THREAD_CPUTIME_ID);
    bench_send(stream, mix);
    const double cpu = get_clock(CLOCK_THREAD_CPUTIME_ID) - start_cpu;
    counted.fd = -1;
    shutdown(sockets[0], SHUT_WR);
    if (thread) {
        g_thread_join(thread);
    }
    const double seconds = get_clock(CLOCK_MONOTONIC) - start_time;

    const double messages = static_cast<double>(mix->messages.size()) * mix->repeats;
    uint64_t message_bytes = 0;
    for (const BenchMix::Message &message : mix->messages) {
        message_bytes += message.size * mix->repeats;
    }
    const uint64_t records = tls ? (counted.written_bytes - message_bytes) /
                                   test_tls_overhead(TLS1_3_VERSION) : 0;

    printf("{\"mix\":\"%s\",\"transport\":\"%s\",\"mode\":\"%s\",\"messages\":%.0f,",
           mix_name, tls ? "tls" : "plain", mode, messages);
    if (!counts) {
        printf("\"seconds\":%.4f,\"messages_per_second\":%.0f,\"cpu_ns_per_message\":%.0f,",
               seconds, messages / seconds, cpu * 1e9 / messages);
    }
    printf("\"message_bytes\":%" G_GUINT64_FORMAT ",\"written_bytes\":%" G_GUINT64_FORMAT ","
           "\"records\":%" G_GUINT64_FORMAT ",\"writes\":%" G_GUINT64_FORMAT ","
           "\"writes_per_message\":%.4f,"
           "\"setsockopts\":%" G_GUINT64_FORMAT ",\"eagains\":%" G_GUINT64_FORMAT "}\n",
           message_bytes, counted.written_bytes, records, counted.writes, counted.writes / messages,
           counted.setsockopts, counted.eagains);
    fflush(stdout);
    red_stream_free(stream);
    SSL_free(client);
    close(sockets[1]);
}

static void bench_in_child(const BenchMix *mix, const char *mix_name, const char *mode, bool tls,
                           bool counts)
{
    const pid_t child = fork();
    int status;

    g_assert_cmpint(child, >=, 0);
    if (child == 0) {
        bench_mode(mix, mix_name, mode, tls, counts);
        _exit(0);
    }
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_cmpint(status, ==, 0);
}

int main(int argc, char *argv[])
{
    char *mix_file = nullptr, *only_mode = nullptr, *only_transport = nullptr;
    gboolean counts = FALSE;
    const GOptionEntry entries[] = {
        { "mix", 0, 0, G_OPTION_ARG_FILENAME, &mix_file, "List of messages", "FILE" },
        { "mode", 0, 0, G_OPTION_ARG_STRING, &only_mode, "As in SPICE_STREAM", "MODE" },
        { "transport", 0, 0, G_OPTION_ARG_STRING, &only_transport, "plain or tls", "NAME" },
        { "count-only", 0, 0, G_OPTION_ARG_NONE, &counts, "No socket, no times", nullptr },
        { nullptr }
    };
    GError *error = nullptr;
    GOptionContext *context = g_option_context_new(nullptr);
    RedStreamPolicy policy;

    g_option_context_add_main_entries(context, entries, nullptr);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        fprintf(stderr, "%s\n", error->message);
        return 1;
    }
    g_option_context_free(context);
    if (only_mode && !red_stream_policy_parse(only_mode, &policy)) {
        fprintf(stderr, "no such mode: %s\n", only_mode);
        return 1;
    }

    BenchMix mix = { };
    if (mix_file) {
        read_mix(&mix, mix_file);
    } else {
        make_mix(&mix);
    }
    place_data(&mix);
    if (counts) {
        mix.repeats = 1;
    }
    char *mix_name = mix_file ? g_path_get_basename(mix_file) : g_strdup("made");

    for (bool tls : { false, true }) {
        if (only_transport && strcmp(only_transport, tls ? "tls" : "plain") != 0) {
            continue;
        }
        for (const char *mode : bench_modes) {
            if (!only_mode) {
                bench_in_child(&mix, mix_name, mode, tls, counts);
            }
        }
        if (only_mode && only_transport) {
            bench_mode(&mix, mix_name, only_mode, tls, counts);
        } else if (only_mode) {
            bench_in_child(&mix, mix_name, only_mode, tls, counts);
        }
    }

    g_free(mix_name);
    g_free(mix.data);
    g_free(mix_file);
    g_free(only_mode);
    g_free(only_transport);
    test_tls_cleanup();
    return 0;
}
