/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A channel on which nothing happens is pinged before a proxy takes it for dead, over any kind of
 * socket. A client that does not answer keeps its connection.
 */
#include <config.h>

#include <algorithm>
#include <vector>

#include <spice/protocol.h>

#include "test-channel-client.h"
#include "test-sockets.h"

#include "push-visibility.h"

enum {
    /* milliseconds after which common proxies close what is idle */
    PROXY_TIMEOUT = 60 * 1000,
    NUM_ROUNDS = 4,
};

/* Timers that the test fires, in the order in which they are due. */
struct TestTimer
{
    SpiceTimerFunc func;
    void *opaque;
    /* milliseconds of time(), or -1 */
    int64_t due;
};

static std::vector<TestTimer *> timers;
static int64_t now_ms;

static SpiceTimer *timer_add(SpiceTimerFunc func, void *opaque)
{
    auto timer = new TestTimer{ func, opaque, -1 };

    timers.push_back(timer);
    return reinterpret_cast<SpiceTimer *>(timer);
}

static void timer_start(SpiceTimer *timer, uint32_t ms)
{
    reinterpret_cast<TestTimer *>(timer)->due = now_ms + ms;
}

static void timer_cancel(SpiceTimer *timer)
{
    reinterpret_cast<TestTimer *>(timer)->due = -1;
}

static void timer_remove(SpiceTimer *timer)
{
    auto found = std::find(timers.begin(), timers.end(), reinterpret_cast<TestTimer *>(timer));

    delete *found;
    timers.erase(found);
}

static void use_timers(SpiceCoreInterface *core)
{
    core->timer_add = timer_add;
    core->timer_start = timer_start;
    core->timer_cancel = timer_cancel;
    core->timer_remove = timer_remove;
    now_ms = 0;
}

/* Time goes on to the next timer. Without one, what has been sent is about to come. */
static void fire_next()
{
    TestTimer *next = nullptr;

    for (TestTimer *timer : timers) {
        if (timer->due >= 0 && (!next || timer->due < next->due)) {
            next = timer;
        }
    }
    if (!next) {
        g_usleep(1000);
        return;
    }
    now_ms = next->due;
    next->due = -1;
    next->func(next->opaque);
}

struct IdleChannel
{
    TestServer server{use_timers};
    red::shared_ptr<TestChannel> channel =
        red::make_shared<TestChannel>(server.server, SPICE_CHANNEL_INPUTS, 0,
                                      RedChannel::MigrateAll);
    red::shared_ptr<TestChannelClient> rcc;
    int peer;
    std::vector<uint8_t> bytes;
    unsigned num_pings = 0;

    explicit IdleChannel(TestTransport transport)
    {
        int sockets[2];

        test_make_sockets(transport, 0, sockets);
        red_socket_set_non_blocking(sockets[0], true);
        red_socket_set_non_blocking(sockets[1], true);
        peer = sockets[1];
        rcc = red::make_shared<TestChannelClient>(channel.get(), server.client,
                                                  red_stream_new(server.server, sockets[0]),
                                                  &server.caps);
        g_assert_true(rcc->init());
    }

    ~IdleChannel()
    {
        rcc->disconnect();
        rcc.reset();
        channel.reset();
        close(peer);
    }

    /* What a client does with what has come. */
    void read_pings(bool answers)
    {
        uint8_t data[4096];
        SpiceMiniDataHeader header;
        ssize_t n;

        server.run_events();
        while ((n = read(peer, data, sizeof(data))) > 0) {
            bytes.insert(bytes.end(), data, data + n);
        }
        while (bytes.size() >= sizeof(header)) {
            memcpy(&header, bytes.data(), sizeof(header));
            const size_t size = sizeof(header) + GUINT32_FROM_LE(header.size);
            if (bytes.size() < size) {
                break;
            }
            if (GUINT16_FROM_LE(header.type) == SPICE_MSG_PING) {
                ++num_pings;
                header.type = GUINT16_TO_LE(SPICE_MSGC_PONG);
                memcpy(bytes.data(), &header, sizeof(header));
                if (answers) {
                    g_assert_cmpint(write(peer, bytes.data(), size), ==, size);
                }
            }
            bytes.erase(bytes.begin(), bytes.begin() + size);
        }
        server.run_events();
    }
};

static void pinged(const void *transport)
{
    IdleChannel idle(static_cast<TestTransport>(GPOINTER_TO_INT(transport)));

    for (int round = 0; round < NUM_ROUNDS; ++round) {
        const unsigned before = idle.num_pings;
        const int64_t start = now_ms;

        while (idle.num_pings == before) {
            fire_next();
            idle.read_pings(true);
            g_assert_cmpint(now_ms - start, <, PROXY_TIMEOUT);
        }
        /* a test of latency is two of them; the second may need another turn */
        while (idle.num_pings % 2) {
            idle.read_pings(true);
        }
    }
}

/* The timers do not fire often for a client that is stopped, and does not read. */
static void frozen()
{
    IdleChannel idle(TEST_UNIX);
    const SpiceMiniDataHeader message = { };
    unsigned num_timers = 0;

    g_assert_cmpint(red_stream_write(idle.rcc->get_stream(), &message, sizeof(message)), ==,
                    sizeof(message));
    while (now_ms < 10 * PROXY_TIMEOUT) {
        fire_next();
        ++num_timers;
        g_assert_cmpuint(num_timers, <=, 2 * 10 * PROXY_TIMEOUT / 1000);
    }
    /* pinged when it reads again */
    idle.read_pings(true);
    fire_next();
    idle.read_pings(true);
    g_assert_cmpuint(idle.num_pings, >, 0);
}

static void mute(const void *transport)
{
    IdleChannel idle(static_cast<TestTransport>(GPOINTER_TO_INT(transport)));

    while (idle.num_pings < 2) {
        fire_next();
        idle.read_pings(false);
    }
    /* all timers that are left: nothing is waited for any more */
    for (int i = 0; i < 200; ++i) {
        fire_next();
        idle.read_pings(false);
    }
    g_assert_true(idle.rcc->is_connected());
    g_assert_cmpuint(idle.num_pings, ==, 2);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_data_func("/server/idle-pings/tcp", GINT_TO_POINTER(TEST_TCP), pinged);
    g_test_add_data_func("/server/idle-pings/unix", GINT_TO_POINTER(TEST_UNIX), pinged);
    g_test_add_func("/server/idle-pings/frozen", frozen);
    g_test_add_data_func("/server/idle-pings/mute", GINT_TO_POINTER(TEST_TCP), mute);
    return g_test_run();
}
