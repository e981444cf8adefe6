/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the egress share: a scripted kernel, a sender that treats the
 * egress as RedChannelClient does, and a connection over the one for the other.
 *
 * All streams carry the same bytes, see test_bytes, so a receiver can verify them
 * without being told what was sent.
 */
#ifndef TEST_STREAM_EGRESS_H_
#define TEST_STREAM_EGRESS_H_

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <glib.h>
#include <openssl/err.h>

#include "red-stream-bio.h"
#include "red-stream-egress.h"
#include "test-stream-tls.h"

#include "push-visibility.h"

/* Those with an output buffer. */
static const char *const test_modes[] = { "batch", "batch,record=512", "batch,record=3000" };

/* 0: no TLS */
static const int test_versions[] = { 0, TLS1_2_VERSION, TLS1_3_VERSION };

static inline RedStreamPolicy test_policy(const char *text)
{
    RedStreamPolicy policy = { };

    g_assert_true(red_stream_policy_parse(text, &policy));
    return policy;
}

static inline bool test_set_nonblocking(int fd)
{
    return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0;
}

/* The bytes of all streams from @position on, TEST_BYTES_MAX of them. They repeat, after
 * a prime number of bytes. */
#define TEST_BYTES_MAX 65536
static inline const uint8_t *test_bytes(uint64_t position)
{
    static const size_t period = 1000003;
    static uint8_t bytes[period + TEST_BYTES_MAX];

    if (!bytes[1]) {
        for (size_t i = 0; i < sizeof(bytes); ++i) {
            bytes[i] = (i % period * UINT64_C(0x9e3779b97f4a7c15)) >> 56;
        }
    }
    return bytes + position % period;
}

static inline void test_fill(uint8_t *data, size_t size, uint64_t position)
{
    while (size) {
        const size_t n = MIN(size, TEST_BYTES_MAX);

        memcpy(data, test_bytes(position), n);
        data += n;
        size -= n;
        position += n;
    }
}

static inline void test_verify(const uint8_t *data, size_t size, uint64_t position)
{
    while (size) {
        const size_t n = MIN(size, TEST_BYTES_MAX);

        if (memcmp(data, test_bytes(position), n) != 0) {
            g_error("bytes from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT " are wrong",
                    position, position + n);
        }
        data += n;
        size -= n;
        position += n;
    }
}

/* Lengths of the iovecs of a message. */
typedef std::vector<size_t> TestMessage;
/* Messages between two flushes. */
typedef std::vector<TestMessage> TestDrain;

static inline size_t test_size(const TestMessage &message)
{
    size_t size = 0;

    for (size_t length : message) {
        size += length;
    }
    return size;
}

static inline size_t test_size(const TestDrain &drain)
{
    size_t size = 0;

    for (const TestMessage &message : drain) {
        size += test_size(message);
    }
    return size;
}

/* A socket that takes what its script says, and what it took.
 * One at a time: the last one made, or chosen by use(). */
class ScriptedKernel
{
public:
    /* Take @room bytes, in any number of calls, then refuse @refusals calls with @error. */
    struct Stage {
        size_t room;
        int refusals;
        int error;
    };
    struct Call {
        enum { SEND, CORK, UNCORK } what;
        /* SEND: bytes offered, and taken or -errno, and the promise of more */
        size_t offered;
        ssize_t taken;
        bool more;
    };

    ScriptedKernel() { use(); }
    void use() { current() = this; }

    /* what comes next; when it is over all is taken */
    std::deque<Stage> stages;
    std::vector<Call> calls;
    std::vector<uint8_t> wire;
    /* get_link fails when null */
    const RedStreamLink *link = nullptr;
    /* bytes that it has taken and not sent; those of each send are added if it is slow */
    uint32_t unsent = 0;
    bool slow = false;
    /* from this number of sends on every one fails */
    size_t fail_from = SIZE_MAX;
    int fail_error = 0;
    /* no byte taken waits for more to follow */
    bool pushed = true;
    /* calls of which not all was taken */
    size_t refusals = 0;
    /* how often the link was asked for */
    size_t link_calls = 0;

    static const RedStreamSocket *ops()
    {
        static const RedStreamSocket table = make_ops();

        return &table;
    }

    size_t count_sends() const { return sends; }
    size_t count_corks() const { return calls.size() - sends; }
    void forget_calls()
    {
        calls.clear();
        sends = 0;
    }

private:
    static RedStreamSocket make_ops()
    {
        RedStreamSocket table = { };

        table.send = send;
        table.set_cork = set_cork;
        table.get_link = get_link;
        table.set_ssl = red_stream_bio_set_ssl;
        table.encrypt = red_stream_bio_encrypt;
        return table;
    }

    static ScriptedKernel *&current()
    {
        static ScriptedKernel *kernel;

        return kernel;
    }

    static ssize_t send(int fd, const struct iovec *iov, int iovcnt, bool more)
    {
        ScriptedKernel *kernel = current();
        Call call = { Call::SEND, 0, 0, more };

        g_assert_cmpint(iovcnt, >, 0);
        g_assert_cmpint(iovcnt, <=, IOV_MAX);
        for (int i = 0; i < iovcnt; ++i) {
            call.offered += iov[i].iov_len;
        }
        g_assert_cmpuint(call.offered, >, 0);

        call.taken = kernel->next(call.offered);
        size_t left = call.taken > 0 ? call.taken : 0;
        for (int i = 0; left; ++i) {
            auto data = static_cast<const uint8_t *>(iov[i].iov_base);
            const size_t n = MIN(left, iov[i].iov_len);

            kernel->wire.insert(kernel->wire.end(), data, data + n);
            left -= n;
        }
        kernel->calls.push_back(call);
        ++kernel->sends;
        if (call.taken == -EAGAIN || (call.taken >= 0 && call.taken < call.offered)) {
            ++kernel->refusals;
        }
        if (call.taken < 0) {
            errno = -call.taken;
            return -1;
        }
        kernel->pushed = !more;
        kernel->unsent += kernel->slow ? call.taken : 0;
        return call.taken;
    }

    ssize_t next(size_t offered)
    {
        ssize_t taken;

        if (sends >= fail_from) {
            return -fail_error;
        }
        if (stages.empty()) {
            return offered;
        }
        Stage &stage = stages.front();
        if (stage.room) {
            taken = MIN(stage.room, offered);
            stage.room -= taken;
        } else {
            taken = -stage.error;
            --stage.refusals;
        }
        if (!stage.room && stage.refusals <= 0) {
            stages.pop_front();
        }
        return taken;
    }

    static bool set_cork(int fd, bool enabled)
    {
        ScriptedKernel *kernel = current();

        kernel->calls.push_back({ enabled ? Call::CORK : Call::UNCORK, 0, 0, false });
        kernel->pushed |= !enabled;
        return true;
    }

    static bool get_link(int fd, RedStreamLink *out)
    {
        ScriptedKernel *kernel = current();

        ++kernel->link_calls;
        if (!kernel->link) {
            return false;
        }
        *out = *kernel->link;
        out->unsent = kernel->unsent;
        return true;
    }

    /* of calls */
    size_t sends = 0;
};

/* Gives messages to an egress as RedChannelClient does, and checks what the egress
 * promises of every call. */
class TestSender
{
public:
    explicit TestSender(RedStreamEgress *init_egress, const ScriptedKernel *init_kernel = nullptr):
        egress(init_egress), kernel(init_kernel)
    {
    }

    virtual ~TestSender() {}

    /* the error that ended the connection */
    int error = 0;
    /* bytes that the egress accepted */
    uint64_t accepted = 0;
    /* a flush instead of the message that was announced, as when the client's acks
     * are waited for */
    bool breaks_promise = false;
    /* entries of a call at the most */
    size_t max_iovcnt = IOV_MAX;

    void add(const TestDrain &drain)
    {
        messages.insert(messages.end(), drain.begin(), drain.end());
    }

    /* Send messages as far as the egress accepts them, then flush.
     * Returns whether all was sent. */
    virtual bool push()
    {
        while (!messages.empty()) {
            if (test_size(messages.front()) == position) {
                sent();
                messages.pop_front();
                position = 0;
                continue;
            }
            if (!write()) {
                return false;
            }
        }
        return flush();
    }

    /* Returns whether nothing is left in the egress. */
    bool flush()
    {
        note_refusals();
        const ssize_t n = egress->flush();

        if (n < 0) {
            note_error();
            return false;
        }
        g_assert_cmpuint(n, ==, egress->pending());
        check();
        return n == 0;
    }

    /* Push until all is sent, or the connection has ended. */
    void push_all()
    {
        while (!push() && !error) {
            continue;
        }
    }

    /* The message has gone. */
    virtual void sent() {}

protected:
    virtual bool write()
    {
        const TestMessage &message = messages.front();
        const unsigned flags = get_flags();

        /* every call finds the bytes in other memory, which is gone after it */
        std::vector<struct iovec> iovs;
        size_t skip = position, size = 0;
        for (size_t length : message) {
            if (skip && skip >= length) {
                skip -= length;
                continue;
            }
            if (iovs.size() == max_iovcnt) {
                break;
            }
            const size_t n = length - skip;
            auto data = static_cast<uint8_t *>(g_malloc(n + 1));

            test_fill(data, n, accepted + size);
            iovs.push_back({ data, n });
            size += n;
            skip = 0;
        }

        const bool given = give(iovs.data(), iovs.size(), flags);
        for (const struct iovec &iov : iovs) {
            memset(iov.iov_base, 0xdd, iov.iov_len);
            g_free(iov.iov_base);
        }
        return given;
    }

    unsigned get_flags() const
    {
        return (position ? 0 : RED_STREAM_MESSAGE_START) |
               (messages.size() > 1 || breaks_promise ? RED_STREAM_MORE : 0);
    }

    bool give(const struct iovec *iov, int iovcnt, unsigned flags)
    {
        const size_t pending = egress->pending();
        size_t size = 0;

        for (int i = 0; i < iovcnt; ++i) {
            size += iov[i].iov_len;
        }
        note_refusals();
        errno = 0;
        const ssize_t n = egress->writev(iov, iovcnt, flags);
        const int write_error = errno;

        if (n < 0 && write_error != EAGAIN) {
            note_error();
            return false;
        }
        if (n > 0) {
            accepted += n;
            position += n;
        } else {
            /* nothing was accepted, and what was here may have left */
            g_assert_cmpint(n, ==, -1);
            g_assert_cmpuint(egress->pending(), <=, pending + RECORD_EXPANSION);
        }
        g_assert_cmpint(n, <=, static_cast<ssize_t>(size));
        check();
        return n > 0;
    }

    RedStreamEgress *const egress;
    std::deque<TestMessage> messages;
    /* bytes of the first message that were accepted */
    size_t position = 0;

private:
    void note_error()
    {
        error = errno;
        g_assert_cmpint(error, !=, 0);
        g_assert_cmpint(error, !=, EAGAIN);
        g_assert_cmpint(error, !=, EINTR);
    }

    void note_refusals() { refusals = kernel ? kernel->refusals : 0; }

    void check() const
    {
        /* a kernel that refused is not asked again by the same call */
        g_assert_cmpuint(kernel ? kernel->refusals : 0, <=, refusals + 1);

        const RedStreamCounters counters = egress->get_counters();

        g_assert_cmpuint(egress->pending(), <=, RED_STREAM_EGRESS_MAX);
        g_assert_cmpuint(counters.max_buffered, <=, RED_STREAM_EGRESS_MAX);
        g_assert_cmpuint(counters.message_bytes, ==, accepted);
    }

    /* more than TLS adds to the bytes that one call leaves behind */
    static const size_t RECORD_EXPANSION = 1024;

    const ScriptedKernel *const kernel;
    size_t refusals = 0;
};

/* An egress over the scripted kernel and the client that reads what the kernel took. */
class TestConnection
{
public:
    TestConnection(const char *mode, int init_version):
        policy(test_policy(mode)), version(init_version)
    {
        if (version) {
            g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), ==, 0);
            g_assert_true(test_set_nonblocking(sockets[0]));
            g_assert_true(test_set_nonblocking(sockets[1]));
        }
        egress = new RedStreamEgress(sockets[0], &policy, ScriptedKernel::ops());
        sender = new TestSender(egress, &kernel);
        if (version) {
            server = test_tls_new(true, version);
            client = test_tls_new(false, version);
            g_assert_true(egress->set_ssl(server));
            /* the server reads from its socket, the client what the kernel took */
            SSL_set_bio(client, BIO_new(BIO_s_mem()), BIO_new_socket(sockets[1], BIO_NOCLOSE));
            BIO_set_mem_eof_return(SSL_get_rbio(client), -1);
            SSL_set_accept_state(server);
            SSL_set_connect_state(client);
        }
    }

    ~TestConnection()
    {
        SSL_free(server);
        SSL_free(client);
        delete egress;
        delete sender;
        if (version) {
            close(sockets[0]);
            close(sockets[1]);
        }
    }

    /* As far as a channel finds its stream. */
    void start()
    {
        bool server_done = !version, client_done = !version;

        while (!server_done || !client_done) {
            client_done = test_tls_step(client);
            server_done = test_tls_step(server);
            feed();
        }
        receive();
        records.clear();
        kernel.forget_calls();
        started = egress->get_counters();
    }

    /* Give what the kernel took since the last call to the client, and verify what the
     * client can read of it. Returns how many bytes it has read in all. */
    uint64_t receive()
    {
        if (!version) {
            test_verify(kernel.wire.data(), kernel.wire.size(), received);
            received += kernel.wire.size();
            kernel.wire.clear();
            return received;
        }
        feed();
        uint8_t data[RED_STREAM_RECORD_MAX];
        int n;
        /* SSL_get_error looks at the errors that this thread has left */
        ERR_clear_error();
        while ((n = SSL_read(client, data, sizeof(data))) > 0) {
            test_verify(data, n, received);
            received += n;
        }
        g_assert_cmpint(SSL_get_error(client, n), ==, SSL_ERROR_WANT_READ);
        return received;
    }

    /* What must hold whenever all was sent. */
    void check_sent()
    {
        const RedStreamCounters counters = egress->get_counters();
        const uint64_t size = counters.message_bytes - started.message_bytes;

        g_assert_cmpuint(egress->pending(), ==, 0);
        g_assert_cmpuint(receive(), ==, sender->accepted);
        if (version) {
            g_assert_cmpuint(partial.size(), ==, 0);
            g_assert_cmpuint(counters.record_bytes - started.record_bytes, ==, size);
            g_assert_cmpuint(counters.records - started.records, ==, records.size());
            g_assert_cmpuint(counters.written_bytes - started.written_bytes, ==,
                             size + records.size() * test_tls_overhead(version));
        } else {
            g_assert_cmpuint(counters.records, ==, 0);
            g_assert_cmpuint(counters.written_bytes, ==, size);
        }
        g_assert_cmpuint(counters.writes - started.writes, ==, kernel.count_sends());
        g_assert_cmpuint(counters.setsockopts, ==, kernel.count_corks());
        g_assert_true(kernel.pushed);
    }

    ScriptedKernel kernel;
    RedStreamPolicy policy;
    const int version;
    /* the server's and the client's, for what the client sends */
    int sockets[2] = { -1, -1 };
    RedStreamEgress *egress;
    TestSender *sender;
    SSL *server = nullptr;
    SSL *client = nullptr;
    /* plaintext sizes of the records since the handshake */
    std::vector<size_t> records;

private:
    /* Parse what the kernel took into records, and give it to the client. */
    void feed()
    {
        const size_t size = kernel.wire.size();

        if (!size) {
            return;
        }
        g_assert_cmpint(BIO_write(SSL_get_rbio(client), kernel.wire.data(), size), ==, size);
        partial.insert(partial.end(), kernel.wire.begin(), kernel.wire.end());
        kernel.wire.clear();

        size_t pos = 0;
        while (partial.size() - pos >= 5) {
            const uint8_t *header = &partial[pos];
            const size_t length = 5 + header[3] * 256 + header[4];

            if (partial.size() - pos < length) {
                break;
            }
            if (header[0] == 23) {
                g_assert_cmpuint(length, >, test_tls_overhead(version));
                records.push_back(length - test_tls_overhead(version));
            }
            pos += length;
        }
        partial.erase(partial.begin(), partial.begin() + pos);
    }

    std::vector<uint8_t> partial;
    uint64_t received = 0;
    RedStreamCounters started = { };
};

/* of records, in bytes of plaintext */
typedef std::vector<size_t> TestSizes;

static inline void test_check_sizes(const TestSizes &sizes, const TestSizes &expected)
{
    g_assert_cmpuint(sizes.size(), ==, expected.size());
    for (size_t i = 0; i < sizes.size(); ++i) {
        g_assert_cmpuint(sizes[i], ==, expected[i]);
    }
}

/* Send @drain. Returns the plaintext sizes of its records. */
static inline TestSizes test_drain_records(TestConnection *stream, const TestDrain &drain)
{
    stream->receive();
    const size_t before = stream->records.size();

    stream->sender->add(drain);
    g_assert_true(stream->sender->push());
    stream->check_sent();
    return TestSizes(stream->records.begin() + before, stream->records.end());
}

#include "pop-visibility.h"

#endif /* TEST_STREAM_EGRESS_H_ */
