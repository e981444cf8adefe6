/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When flow control stops a channel, and when it does not.
 */
#include <config.h>

#include <vector>

#ifdef __linux__
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/syscall.h>
#endif

#include "red-send-control.h"
#include "test-channel-batch.h"

#include "push-visibility.h"

/* more than may be in flight as long as nothing is known of the path */
#define MANY 1200
/* less than that, and enough for some probes */
#define FEW 300
/* less than an interval of acks, and more bytes than fill a path that is no path at all */
#define LARGE_ITEMS 15
/* microseconds */
#define LONGER_THAN_TIMEOUT (3 * RED_STREAM_FLOW_TIMEOUT + 200000)
/* upstream's for a client on a fast link */
#define ACK_INTERVAL 20
/* of PING's body: number, time */
#define PING_SIZE 12

struct FlowFixture: public AckFixture
{
    std::vector<uint8_t> bytes;
    uint64_t received = 0;
    /* what has arrived: all messages, and of these */
    uint32_t messages = 0;
    uint32_t probes = 0;
    uint32_t unacked = 0;
    bool answers = true;

    FlowFixture()
    {
        const uint32_t generation = 1;

        answer(SPICE_MSGC_ACK_SYNC, &generation, sizeof(generation));
        run_events();
    }

    bool all_sent()
    {
        return rcc->pipe_is_empty() && rcc->no_item_being_sent();
    }

    void answer(uint16_t type, const void *data, uint32_t size)
    {
        uint8_t buffer[sizeof(SpiceMiniDataHeader) + PING_SIZE];
        const SpiceMiniDataHeader header = { type, size };

        memcpy(buffer, &header, sizeof(header));
        if (size) {
            memcpy(buffer + sizeof(header), data, size);
        }
        g_assert_cmpint(write(peer, buffer, sizeof(header) + size), ==, sizeof(header) + size);
    }

    void message(uint16_t type, const uint8_t *data)
    {
        ++messages;
        g_assert_cmpint(type, !=, SPICE_MSG_SET_ACK);
        if (type == SPICE_MSG_PING) {
            probes += (data[3] & 0x80) != 0;
            if (answers) {
                answer(SPICE_MSGC_PONG, data, PING_SIZE);
            }
        }
        if (++unacked == ACK_INTERVAL) {
            unacked = 0;
            answer(SPICE_MSGC_ACK, nullptr, 0);
        }
    }

    /* Takes what has arrived, as a client does, and lets the server see the answers. */
    void take()
    {
        uint8_t buffer[4096];
        SpiceMiniDataHeader header;
        size_t pos = 0;
        ssize_t n;

        while ((n = read(peer, buffer, sizeof(buffer))) > 0) {
            bytes.insert(bytes.end(), buffer, buffer + n);
            received += n;
        }
        while (bytes.size() - pos >= sizeof(header)) {
            memcpy(&header, &bytes[pos], sizeof(header));
            if (bytes.size() - pos < sizeof(header) + header.size) {
                break;
            }
            message(header.type, &bytes[pos] + sizeof(header));
            pos += sizeof(header) + header.size;
        }
        bytes.erase(bytes.begin(), bytes.begin() + pos);
        run_events();
    }

    /* What an honest client gets, until nothing more comes. */
    void take_all()
    {
        uint64_t before;

        do {
            before = received;
            run_events();
            take();
        } while (received > before);
    }

    void send_many()
    {
        add_items(MANY);
        rcc->push();
        take_all();
    }
};

/* What the path does not carry stays in the pipe, until the client answers. */
static void stops_until_answered()
{
    FlowFixture f;

    f.add_items(MANY);
    f.rcc->push();
    g_assert_false(f.all_sent());
    f.run_events();
    g_assert_false(f.all_sent());
    f.take_all();
    g_assert_true(f.all_sent());
    g_assert_cmpuint(f.probes, >, 8);
    g_assert_cmpuint(f.messages, ==, MANY + f.probes);
}

/* A thread that waits for the pipe does not wait for the path as well. */
static void flushes_when_waited_for()
{
    FlowFixture f;

    f.answers = false;
    f.add_items(MANY);
    g_assert_true(f.channel->wait_all_sent(1000000000));
    g_assert_true(f.all_sent());
    f.take();
    g_assert_cmpuint(f.messages - f.probes, ==, MANY);

    /* afterwards it does again */
    f.add_items(MANY);
    f.rcc->push();
    g_assert_false(f.all_sent());
}

/* Behind MIGRATE a client expects MIGRATE_DATA and nothing else. */
static void keeps_quiet_in_migration()
{
    FlowFixture f;

    f.rcc->migrate();
    f.add_items(FEW);
    f.rcc->push();
    g_assert_true(f.all_sent());
    f.take();
    g_assert_cmpuint(f.messages, ==, FEW + 1);
    g_assert_cmpuint(f.probes, ==, 0);

    /* nor when the client has said that it is ready for it */
    f.answer(SPICE_MSGC_MIGRATE_FLUSH_MARK, nullptr, 0);
    f.run_events();
    f.add_items(1);
    f.rcc->push();
    f.take();
    g_assert_cmpuint(f.messages, ==, FEW + 2);
    g_assert_cmpuint(f.probes, ==, 0);
}

/* The acks of a client that does not answer any more show that it has what it should answer
 * for. So from then on upstream's rule holds, which needs its acks only. */
static void overtaken()
{
    FlowFixture f;
    int stops = 0;
    uint32_t probes;

    f.send_many();
    f.answers = false;
    for (int i = 0; i < 40; ++i) {
        probes = f.probes;
        f.send_many();
        if (!f.all_sent()) {
            ++stops;
            g_usleep(LONGER_THAN_TIMEOUT);
            f.take_all();
        }
        g_assert_true(f.all_sent());
    }
    g_assert_cmpint(stops, <=, 1);
    g_assert_cmpuint(f.probes, ==, probes);
}

/* A client that does not answer stops the channel for the probe timeout, then upstream's rule
 * holds: fewer messages than two intervals are in flight. */
static void times_out()
{
    FlowFixture f;

    f.send_many();
    f.answers = false;
    for (int i = 0; i < LARGE_ITEMS; ++i) {
        f.rcc->pipe_add_type(LARGE_ITEM);
    }
    f.rcc->push();
    f.take_all();
    g_assert_false(f.all_sent());
    g_usleep(LONGER_THAN_TIMEOUT);
    f.take_all();
    g_assert_true(f.all_sent());
    /* and until it has answered again for a while */
    f.answers = true;
    f.send_many();
    g_assert_true(f.all_sent());
}

/* A relay takes whatever comes, and the client behind it answers nothing any more: after the
 * probe timeout it has at most as many messages before it as with upstream. */
static void freezes_behind_relay()
{
    FlowFixture f;
    uint8_t buffer[64 * 1024];
    uint64_t before;

    for (int i = 0; i < 20; ++i) {
        f.send_many();
    }
    for (int i = 0; i < 10 * ACK_INTERVAL; ++i) {
        f.rcc->pipe_add_type(LARGE_ITEM);
    }
    f.rcc->push();
    for (int wait = 0; wait < 2; ++wait) {
        do {
            before = f.received;
            f.run_events();
            for (ssize_t n; (n = read(f.peer, buffer, sizeof(buffer))) > 0; ) {
                f.received += n;
            }
        } while (f.received > before);
        g_assert_cmpuint(f.rcc->get_pipe_size(), >=, 10 * ACK_INTERVAL - (2 * ACK_INTERVAL + 1));
        g_usleep(LONGER_THAN_TIMEOUT);
    }
    g_assert_cmpuint(f.rcc->get_send_control()->get_probe_timeouts(), ==, 1);
}

/* The ping that a channel sends at first shows that the client is on this host. */
static void finds_local_client()
{
    FlowFixture f;

    const int64_t begin = g_get_monotonic_time();

    g_assert_false(f.rcc->get_send_control()->is_local());
    while (!f.rcc->get_send_control()->is_local()) {
        g_assert_cmpint(g_get_monotonic_time() - begin, <, 10 * G_USEC_PER_SEC);
        g_usleep(1000);
        f.take_all();
    }
}

/* A client disconnects while a message is half sent and a probe is due, which sending notices: no
 * probe is left to be sent. */
static void client_goes()
{
    FlowFixture f;

    test_stream_shrink(f.rcc->get_stream());
    for (int i = 0; i < LARGE_ITEMS; ++i) {
        f.rcc->pipe_add_type(LARGE_ITEM);
    }
    f.rcc->push();
    g_assert_true(f.rcc->is_blocked());
    shutdown(f.peer, SHUT_RDWR);
    f.rcc->push();
    g_assert_false(f.rcc->is_connected());
    g_assert_true(f.all_sent());
}

/* Acks before the first SET_ACK, of which upstream has none, count for nothing, nor do more acks
 * than there were messages. */
static void acks_too_much()
{
    Fixture f(RedChannel::HandleAcks | RedChannel::MigrateAll);
    const SpiceMiniDataHeader ack = { SPICE_MSGC_ACK, 0 };
    const uint8_t sync[] = { SPICE_MSGC_ACK_SYNC, 0, 4, 0, 0, 0, 0, 0, 0, 0 };

    g_assert_cmpint(write(f.peer, sync, sizeof(sync)), ==, sizeof(sync));
    for (int i = 0; i < 10; ++i) {
        g_assert_cmpint(write(f.peer, &ack, sizeof(ack)), ==, sizeof(ack));
    }
    f.run_events();
    f.rcc->push_set_ack();
    f.rcc->ack_zero_messages_window();
    f.rcc->push();
    f.run_events();
    for (int i = 0; i < 10; ++i) {
        g_assert_cmpint(write(f.peer, &ack, sizeof(ack)), ==, sizeof(ack));
    }
    f.run_events();
    f.add_items(30);
    f.rcc->push();
    f.run_events();
    g_assert_true(f.rcc->pipe_is_empty());
}

#ifdef __linux__
/* the path that the kernel is said to see: microseconds, bytes a second */
#define FAR_DELAY 100000
#define FAR_RATE 250000

static bool far;
static std::vector<uint32_t> paces;

/* In place of the C library's: the kernel of a socket to somebody far away. */
int getsockopt(int fd, int level, int name, void *value, socklen_t *size) noexcept
{
    if (far && level == IPPROTO_TCP && name == TCP_INFO) {
        struct tcp_info info = { };

        info.tcpi_snd_mss = 1448;
        info.tcpi_snd_cwnd = 100;
        info.tcpi_rtt = info.tcpi_min_rtt = FAR_DELAY;
        memcpy(value, &info, MIN(*size, sizeof(info)));
        return 0;
    }
    return syscall(SYS_getsockopt, fd, level, name, value, size);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size) noexcept
{
    if (far && level == SOL_SOCKET && name == SO_MAX_PACING_RATE) {
        paces.push_back(*static_cast<const uint32_t *>(value));
        return 0;
    }
    return syscall(SYS_setsockopt, fd, level, name, value, size);
}

/* The kernel sends a message longer than what the path holds at the path's rate, and again as it
 * likes when that has arrived. */
static void paces_what_is_long()
{
    FlowFixture f;

    far = true;
    f.rcc->get_send_control()->expect_path(FAR_RATE, FAR_DELAY);
    f.add_items(1);
    f.rcc->push();
    g_assert_cmpuint(paces.size(), ==, 0);
    f.rcc->pipe_add_type(LARGE_ITEM);
    f.rcc->push();
    g_assert_cmpuint(paces.size(), ==, 1);
    g_assert_cmpuint(paces[0], >=, FAR_RATE);
    g_assert_cmpuint(paces[0], <, 2 * FAR_RATE);
    f.take_all();
    f.send_many();
    g_assert_cmpuint(paces.back(), ==, UINT32_MAX);

    /* when pongs have shown that the client is near, which a busy host delays */
    while (f.rcc->get_send_control()->get_path_delay() >= RED_STREAM_UNNOTICED / 2) {
        f.send_many();
    }
    const size_t count = paces.size();
    f.rcc->pipe_add_type(LARGE_ITEM);
    f.rcc->push();
    g_assert_cmpuint(paces.size(), ==, count);
}
#endif

static const BatchTest tests[] = {
#ifdef __linux__
    { "paces", "flow", paces_what_is_long },
#endif
    { "stops", "flow", stops_until_answered },
    { "sync-flush", "flow", flushes_when_waited_for },
    { "migration", "flow", keeps_quiet_in_migration },
    { "overtaken", "flow", overtaken },
    { "timeout", "flow", times_out },
    { "frozen", "flow", freezes_behind_relay },
    { "local", "flow", finds_local_client },
    { "goes", "flow", client_goes },
    { "acks", "flow", acks_too_much },
    { "acks-batch", "batch", acks_too_much },
};

int main(int argc, char *argv[])
{
    return batch_test_main(argc, argv, "channel-flow", tests);
}
