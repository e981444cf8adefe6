/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the main channel concludes from the duration of its bandwidth test. The other channels
 * choose by it how to compress.
 */
#include <config.h>

#include "main-channel-client.h"
#include "test-channel-client.h"
#include "test-sockets.h"

#include "push-visibility.h"

/* microseconds: a round trip, one in which 32 KB went at 5 Mbit/s, and at 26 */
#define SHORT 100000
#define LONG (SHORT + 50000)
#define FAST (SHORT + 10000)
/* a round trip within this host */
#define LOCAL 200

/* milliseconds of silence after which a client on a network is gone */
#define CONNECTIVITY_TIMEOUT (30 * 1000)

static void (*start_timer)(SpiceTimer *timer, uint32_t ms);
static bool is_monitored;

static void watch_timer(SpiceTimer *timer, uint32_t ms)
{
    is_monitored = is_monitored || ms == CONNECTIVITY_TIMEOUT;
    start_timer(timer, ms);
}

static void watch_timers(SpiceCoreInterface *core)
{
    /* the loop has one core for all tests */
    if (core->timer_start != watch_timer) {
        start_timer = core->timer_start;
    }
    core->timer_start = watch_timer;
    is_monitored = false;
}

struct LinkRateFixture: public TestServer
{
    red::shared_ptr<MainChannel> channel;
    RedClient *far;
    MainChannelClient *mcc;
    int sockets[2];

    explicit LinkRateFixture(TestTransport transport):
        TestServer(watch_timers)
    {
        test_make_sockets(transport, 0, sockets);
        red_socket_set_non_blocking(sockets[0], true);
        channel = main_channel_new(server);
        far = red_client_new(server, FALSE);
        mcc = main_channel_link(channel.get(), far, red_stream_new(server, sockets[0]), 0, FALSE,
                                &caps);
        g_assert_nonnull(mcc);
        /* which has to come first */
        mcc->push_init(1, SPICE_MOUSE_MODE_SERVER, FALSE, 0, 0);
        mcc->start_net_test(TRUE);
    }

    ~LinkRateFixture()
    {
        far->destroy();
        channel.reset();
        close(sockets[1]);
    }

    /* The client answers the ping with this number so many microseconds after it was sent. */
    void pong(uint32_t id, uint64_t roundtrip)
    {
        SpiceMsgPing ping = { };

        ping.id = id;
        ping.timestamp = spice_get_monotonic_time_ns() / NSEC_PER_MICROSEC - roundtrip;
        mcc->handle_pong(&ping, sizeof(ping));
    }

    /* The three pings of the test, the last of which carries bytes. */
    void measure(uint64_t shortest, uint64_t longest)
    {
        pong(1, shortest);
        pong(2, shortest);
        pong(3, longest);
    }
};

/* TCP's slow start takes a round trip of the first test. What is known so far counts meanwhile. */
static void slow_start()
{
    LinkRateFixture f(TEST_TCP);

    f.measure(SHORT, 2 * SHORT);
    g_assert_true(f.mcc->is_network_info_initialized());
    g_assert_true(f.mcc->is_low_bandwidth());
    f.pong(4, FAST);
    g_assert_false(f.mcc->is_low_bandwidth());
}

/* The pings that tell the round trip were late. */
static void late_pings()
{
    LinkRateFixture f(TEST_TCP);

    f.measure(SHORT, SHORT + 1);
    g_assert_false(f.mcc->is_low_bandwidth());
    g_assert_cmpuint(f.mcc->get_bitrate_per_sec(), <, 50000 * 1000);
}

/* The path, or the client, was busy. */
static void jitter()
{
    LinkRateFixture f(TEST_TCP);

    f.measure(SHORT, 2 * SHORT);
    f.pong(4, 3 * SHORT);
    g_assert_true(f.mcc->is_low_bandwidth());
    f.pong(5, FAST);
    g_assert_false(f.mcc->is_low_bandwidth());
}

/* The best of three tests counts. */
static void slow_path()
{
    LinkRateFixture f(TEST_TCP);

    f.measure(SHORT, 2 * SHORT);
    f.pong(4, LONG);
    f.pong(5, 3 * SHORT);
    g_assert_true(f.mcc->is_network_info_initialized());
    g_assert_true(f.mcc->is_low_bandwidth());
    g_assert_cmpuint(f.mcc->get_bitrate_per_sec(), >, 4900 * 1000);
    g_assert_cmpuint(f.mcc->get_bitrate_per_sec(), <, 5300 * 1000);
    g_assert_true(is_monitored);
}

/* The round trip seems longer than it is, as the client was busy at first. The path is slow all the
 * same. */
static void busy_at_first()
{
    LinkRateFixture f(TEST_TCP);

    f.measure(5 * SHORT, 5 * SHORT + LONG);
    f.pong(4, 2 * SHORT);
    f.pong(5, 2 * SHORT + 1);
    g_assert_true(f.mcc->is_network_info_initialized());
    g_assert_true(f.mcc->is_low_bandwidth());
}

/* Or it is fast: busy during the first test as well. */
static void busy_for_longer()
{
    LinkRateFixture f(TEST_TCP);

    f.measure(SHORT, LONG);
    f.pong(4, SHORT / 10);
    g_assert_true(f.mcc->is_network_info_initialized());
    g_assert_false(f.mcc->is_low_bandwidth());
}

/* A client that answers sooner than a round trip takes says nothing of the rate. */
static void too_early()
{
    LinkRateFixture f(TEST_TCP);

    f.measure(SHORT, SHORT / 2);
    g_assert_false(f.mcc->is_network_info_initialized());
    g_assert_false(f.mcc->is_low_bandwidth());
}

/* A client on this host that was busy for long, and had answered at once before. */
static void unix_local()
{
    LinkRateFixture f(TEST_UNIX);

    f.measure(LOCAL, LONG);
    g_assert_false(f.mcc->is_network_info_initialized());
    g_assert_false(f.mcc->is_low_bandwidth());
    g_assert_false(is_monitored);
}

/* A relay to a slow path. */
static void unix_slow()
{
    LinkRateFixture f(TEST_UNIX);

    f.measure(SHORT, LONG);
    f.pong(4, LONG);
    f.pong(5, LONG);
    g_assert_true(f.mcc->is_network_info_initialized());
    g_assert_true(f.mcc->is_low_bandwidth());
    g_assert_false(is_monitored);
}

int main(int argc, char *argv[])
{
    g_setenv("SPICE_STREAM", "flow", TRUE);
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/link-rate/slow-start", slow_start);
    g_test_add_func("/server/link-rate/late-pings", late_pings);
    g_test_add_func("/server/link-rate/jitter", jitter);
    g_test_add_func("/server/link-rate/slow-path", slow_path);
    g_test_add_func("/server/link-rate/busy-at-first", busy_at_first);
    g_test_add_func("/server/link-rate/busy-for-longer", busy_for_longer);
    g_test_add_func("/server/link-rate/too-early", too_early);
    g_test_add_func("/server/link-rate/unix-local", unix_local);
    g_test_add_func("/server/link-rate/unix-slow", unix_slow);
    return g_test_run();
}
