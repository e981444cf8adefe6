/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fuzz the egress: any sequence of writes, flushes and answers of the kernel, plain and
 * over TLS. Whatever happens, exactly the accepted bytes arrive, in order, and the
 * egress keeps its promises.
 *
 * As a test this replays fuzz-corpus.txt, an input a line in hexadecimal, or the files
 * given as arguments. To fuzz, in the build directory of a configured tree:
 *
 *   clang++ -fsanitize=fuzzer,address,undefined -DFUZZ_STREAM_LIBFUZZER -O2 -g \
 *       -DG_LOG_DOMAIN='"Spice"' -DSPICE_SERVER_INTERNAL \ -I. -I../server -I../server/tests
 *       -I../subprojects/spice-common \ -Isubprojects/spice-common \ $(pkg-config --cflags
 *       spice-protocol pixman-1 gio-unix-2.0 libcacard) \
 *       ../server/red-stream-{bio,buffer,egress,pacing,path,policy,socket,tcp-info}.cpp \
 *       ../server/tests/fuzz-stream-egress.cpp \ -x c ../server/net-utils.c
 *       ../subprojects/spice-common/common/{log,backtrace,marshaller,mem}.c \ $(pkg-config
 *       --libs gio-unix-2.0 openssl) -o fuzz-stream-egress
 *   mkdir corpus
 *   while read -r line; do n=$((n + 1)); xxd -r -p <<< "$line" > corpus/$n; done \
 *       < ../server/tests/fuzz-corpus.txt
 *   ./fuzz-stream-egress -max_len=300 corpus
 */
#include <config.h>

#include "test-stream-link.h"
#include "test-stream-pacing.h"

/* Plain connections are made for each input. Of TLS ones one is kept for each mode, as
 * long as it lives: a handshake costs a hundred times what an input does. For the same
 * reason only some inputs may end it, or change its keys. */
#define MODES 8

static const char *const fuzz_modes[MODES] = {
    "batch,record=16384", "batch,record=1000", "batch,record=16000", "batch,record=9000", "batch",
    "batch,record=512", "batch,record=3000", "flow",
};

/* Bytes of a write at the most. */
#define WRITE_MAX 100000

namespace {

/* The bytes of an input; when it is over all are 0. */
class Input
{
public:
    Input(const uint8_t *init_data, size_t size): data(init_data), end(init_data + size) { }

    bool is_over() const { return data == end; }
    uint8_t byte() { return is_over() ? 0 : *data++; }
    /* mostly small, or near what is a limit somewhere */
    size_t length()
    {
        static const size_t limits[] = { 512, 1024, 3000, 4096, 16384, 32000, 48640, 65536 };
        const uint8_t kind = byte();

        return kind < 0xe0 ? kind : limits[kind & 7] + byte() * (kind & 8 ? 17 : 1) - 300;
    }

private:
    const uint8_t *data;
    const uint8_t *const end;
};

/* What a call may change, as it was before. */
struct Before {
    explicit Before(const PacedConnection *stream):
        refusals(stream->kernel.refusals), unsent(stream->kernel.unsent),
        link(stream->kernel.link), limits(stream->unsent_limits.size())
    {
    }

    const size_t refusals;
    const uint32_t unsent;
    const RedStreamLink *const link;
    /* limits of what is unsent that were set */
    const size_t limits;
};

}

/* the client asked for new keys during this input */
static bool rekeyed;

static void check(PacedConnection *stream, const Before &before)
{
    RedStreamEgress *egress = stream->egress;
    const ScriptedKernel &kernel = stream->kernel;
    const uint64_t received = stream->receive();

    /* a kernel that refused is not asked again by the same call */
    g_assert_cmpuint(kernel.refusals, <=, before.refusals + 1);
    /* from 64 KB on Linux keeps to the limit by itself */
    if (before.link && before.limits && stream->unsent_limits.size() == before.limits &&
        stream->unsent_limits.back() < 65536) {
        g_assert_cmpuint(kernel.unsent, <=, MAX(before.unsent, stream->unsent_limits.back()));
    }
    g_assert_cmpuint(egress->pending(), <=, RED_STREAM_EGRESS_MAX);
    g_assert_cmpuint(egress->get_counters().max_buffered, <=, RED_STREAM_EGRESS_MAX);
    g_assert_cmpuint(received, <=, stream->sender->accepted);
    if (!stream->version && !stream->sender->error) {
        g_assert_cmpuint(received + egress->pending(), ==, stream->sender->accepted);
    }
}

/* Returns false when the connection has ended, and checks that it stays so. */
static bool check_error(PacedConnection *stream, ssize_t n, int error)
{
    int *known = &stream->sender->error;

    if (*known) {
        g_assert_cmpint(n, ==, -1);
        g_assert_cmpint(error, ==, *known);
        return false;
    }
    if (n == -1 && error != EAGAIN) {
        g_assert_true(error == EPIPE || error == ECONNRESET);
        *known = error;
        return false;
    }
    return true;
}

static void do_write(PacedConnection *stream, Input *input, unsigned flags)
{
    static uint8_t data[WRITE_MAX];
    struct iovec iov[80];
    const uint8_t counts = input->byte();
    const int count = counts < 0xf0 ? counts % 5 : (counts & 15) * 5 + 5;
    const Before before(stream);
    size_t size = 0;

    for (int i = 0; i < count; ++i) {
        const size_t length = input->length();

        iov[i].iov_base = data + size;
        iov[i].iov_len = MIN(length, WRITE_MAX - size);
        size += iov[i].iov_len;
    }
    test_fill(data, size, stream->sender->accepted);
    const ssize_t n = stream->egress->writev(iov, count, flags);
    const int error = errno;

    /* the memory is the caller's again */
    memset(data, 0xdd, size);
    if (!check_error(stream, n, error)) {
        return;
    }
    g_assert_cmpint(n, <=, static_cast<ssize_t>(size));
    g_assert_true(n > 0 || size == 0 || n == -1);
    stream->sender->accepted += MAX(n, 0);
    check(stream, before);
}

static bool do_flush(PacedConnection *stream)
{
    const Before before(stream);
    const size_t sends = stream->kernel.count_sends();
    const size_t pending = stream->egress->pending();
    const ssize_t n = stream->egress->flush();

    if (!check_error(stream, n, errno)) {
        return true;
    }
    g_assert_cmpuint(n, ==, stream->egress->pending());
    if (pending == 0) {
        g_assert_cmpuint(stream->kernel.count_sends(), ==, sends);
    }
    if (n == 0 && !rekeyed) {
        /* what TLS sends by itself may wait for the next message */
        g_assert_true(stream->kernel.pushed);
    }
    check(stream, before);
    return n == 0;
}

static void do_key_update(PacedConnection *stream)
{
    char byte;

    if (stream->version == TLS1_3_VERSION) {
        rekeyed = true;
        SSL_key_update(stream->client, SSL_KEY_UPDATE_REQUESTED);
        SSL_do_handshake(stream->client);
        SSL_read(stream->server, &byte, 1);
    }
}

static void add_stage(ScriptedKernel *kernel, Input *input, int error)
{
    const size_t room = input->length();

    kernel->stages.push_back({ room, 1 + input->byte() % 4, error });
}

/* A link over which the kernel is to hold little, or none that it tells of; and how much it holds
 * now, to which all is added that it takes. */
static void set_link(PacedConnection *stream, Input *input)
{
    ScriptedKernel *const kernel = &stream->kernel;
    static const RedStreamLink links[] = {
        test_make_link(20, 100000, 250000), test_make_link(10, 100000, 1000000),
        test_make_link(100, 40000, 12500000),
    };
    const uint8_t which = input->byte() % (G_N_ELEMENTS(links) + 1);

    kernel->slow = which < G_N_ELEMENTS(links);
    kernel->link = kernel->slow ? &links[which] : nullptr;
    kernel->unsent = kernel->slow ? input->length() : 0;
    if (kernel->slow && stream->policy.mode == &red_stream_mode_flow) {
        stream->pacing.update(kernel->link);
    }
}

/* Returns whether the connection is as good as new. */
static bool run(PacedConnection *stream, Input *input, bool may_end)
{
    rekeyed = false;
    while (!input->is_over()) {
        const uint8_t what = input->byte();

        switch (what >> 3 & 7) {
        case 0:
        case 1:
        case 2:
            do_write(stream, input, what & (RED_STREAM_MORE | RED_STREAM_MESSAGE_START));
            break;
        case 3:
            do_flush(stream);
            break;
        case 4:
            add_stage(&stream->kernel, input, EAGAIN);
            break;
        case 5:
            add_stage(&stream->kernel, input, EINTR);
            break;
        case 6:
            if (what & 0x40) {
                set_link(stream, input);
            } else if (may_end && !(what & 1)) {
                do_key_update(stream);
            }
            break;
        case 7:
            if (may_end && (what & 7) == 7) {
                stream->kernel.stages.push_back({ input->length(), INT_MAX,
                                                  input->byte() & 1 ? EPIPE : ECONNRESET });
            } else {
                stream->kernel.stages.clear();
            }
            break;
        }
    }

    const bool ended = stream->sender->error;
    stream->kernel.stages.clear();
    stream->kernel.slow = false;
    stream->kernel.unsent = 0;
    while (!do_flush(stream)) {
        continue;
    }
    if (stream->sender->error) {
        /* also what TLS sent by itself may have failed */
        g_assert_true(ended || rekeyed);
        return false;
    }
    g_assert_cmpuint(stream->receive(), ==, stream->sender->accepted);
    stream->kernel.link = nullptr;
    stream->kernel.forget_calls();
    return !rekeyed;
}

/* FUZZ_STREAM=plain or FUZZ_STREAM=tls in the environment: only such connections. */
static bool is_plain(uint8_t first)
{
    static const char *const only = getenv("FUZZ_STREAM");

    if (only && *only) {
        return strcmp(only, "plain") == 0;
    }
    return first >> 3 < 24;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static PacedConnection *kept[MODES][2];
    Input input(data, size);
    const uint8_t first = input.byte();
    const char *mode = fuzz_modes[first % MODES];

    if (is_plain(first)) {
        PacedConnection stream(0, mode);

        stream.start();
        run(&stream, &input, true);
        return 0;
    }

    const bool newest = first & 0x20;
    PacedConnection *&stream = kept[first % MODES][newest];
    if (!stream) {
        stream = new PacedConnection(newest ? TLS1_3_VERSION : TLS1_2_VERSION, mode);
        stream->start();
    }
    stream->use();
    if (!run(stream, &input, first >> 3 == 31)) {
        delete stream;
        stream = nullptr;
    }
    return 0;
}

#ifndef FUZZ_STREAM_LIBFUZZER

static char *read_file(const char *name, gsize *size)
{
    char *data;

    if (!g_file_get_contents(name, &data, size, nullptr)) {
        g_error("can't read %s", name);
    }
    return data;
}

static void replay_corpus(const char *name)
{
    gsize size;
    char *text = read_file(name, &size);
    char **lines = g_strsplit(text, "\n", -1);
    std::vector<uint8_t> input;

    for (char **line = lines; *line && **line; ++line) {
        input.clear();
        for (const char *pos = *line; pos[0]; pos += 2) {
            g_assert_true(g_ascii_isxdigit(pos[0]) && g_ascii_isxdigit(pos[1]));
            input.push_back(g_ascii_xdigit_value(pos[0]) * 16 + g_ascii_xdigit_value(pos[1]));
        }
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    g_assert_false(input.empty());
    g_strfreev(lines);
    g_free(text);
}

int main(int argc, char *argv[])
{
    for (int i = 1; i < argc; ++i) {
        gsize size;
        char *data = read_file(argv[i], &size);

        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(data), size);
        g_free(data);
    }
    if (argc == 1) {
        replay_corpus(SPICE_TOP_SRCDIR "/server/tests/fuzz-corpus.txt");
    }
    return 0;
}

#endif
