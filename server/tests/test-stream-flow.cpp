/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* RedStreamFlow against a simulated path and client: TCP in slow start, a line with a
 * rate, a delay and an endless queue, a client that decodes one message after the other
 * and acks as it was told. No socket and no clock, so every figure below is the same on
 * every machine. */
#include <config.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <vector>

#include <glib.h>

#include "red-stream-flow.h"

#define MESSAGE_HEADER 6
#define SEGMENT 1448
/* segments, RFC 6928 */
#define FIRST_WINDOW 10
#define SECOND UINT64_C(1000000)

typedef std::vector<uint32_t> Sizes;

namespace {

struct Path {
    uint64_t rate;      /* bytes a second */
    uint64_t delay;     /* microseconds, of the round trip */
    uint64_t decode;    /* microseconds a message */
};

struct Result {
    uint64_t time;      /* when the client had everything */
    uint64_t max_queue; /* bytes in the line's queue and the client's, after the start */
    uint64_t idle;      /* of the line, after the start, microseconds */
    uint64_t acks;
    uint64_t set_acks;
};

class Simulation
{
public:
    explicit Simulation(const Path &init_path, bool init_counts_set_ack = false):
        path(init_path),
        counts_set_ack(init_counts_set_ack)
    {
        flow.set_slow_start_window(window);
        set_ack();
    }

    /* Send @sizes as fast as the flow lets us. What is before @settle does not count in
     * max_queue nor idle. */
    Result send(const Sizes &sizes, uint64_t settle)
    {
        Result result = { };
        const uint64_t acks_before = acks, set_acks_before = set_acks;

        for (uint32_t size : sizes) {
            wait_until_allowed();
            if (now > settle && now > line_free / 1000) {
                result.idle += now - line_free / 1000;
            }
            transmit(size, false);
            flow.sent(now, size);
            if (flow.wants_set_ack(now)) {
                set_ack();
            }
            wait_for_socket();
            if (now > settle) {
                result.max_queue = std::max(result.max_queue, queue_bytes());
            }
        }
        result.time = std::max(client_free, now);
        result.acks = acks - acks_before;
        result.set_acks = set_acks - set_acks_before;
        return result;
    }

    /* Nothing to send for some time. */
    void idle(uint64_t time)
    {
        const uint64_t end = now + time;

        flow.starved();
        while (!acks_coming.empty() && acks_coming.front().time <= end) {
            next_ack();
        }
        now = end;
    }

    Path path;
    uint64_t now = 1;
    RedStreamFlow flow;
    /* bytes that the kernel takes beyond a flight */
    uint64_t socket = 64 * 1024;

private:
    struct Ack {
        uint64_t time;
        bool sync;
    };

    void set_ack()
    {
        const uint32_t interval = flow.wanted_interval();

        ++set_acks;
        flow.set_ack_sent(now, interval, MESSAGE_HEADER + 8);
        transmit(MESSAGE_HEADER + 8, true);
        client_interval = client_count = interval;
        acks_coming.push_back({ client_free + path.delay / 2, true });
        if (counts_set_ack) {
            client_counts();
        }
    }

    void client_counts()
    {
        if (--client_count == 0) {
            client_count = client_interval;
            acks_coming.push_back({ client_free + path.delay / 2, false });
        }
    }

    /* The line and then the client take the message when they are done with the one
     * before. */
    void transmit(uint32_t size, bool is_set_ack)
    {
        for (uint32_t left = size; left; ) {
            const uint32_t segment = std::min<uint32_t>(left, SEGMENT);

            wait_for_window(segment);
            line_free += segment * SECOND * 1000 / path.rate;
            unacked.push_back({ line_free + path.delay * 1000, segment });
            unacked_bytes += segment;
            left -= segment;
        }
        client_free = std::max(client_free, line_free / 1000 + path.delay / 2) + path.decode;
        undecoded.push_back({ client_free, size });
        undecoded_bytes += size;
        if (!is_set_ack) {
            client_counts();
        }
    }

    /* TCP holds a segment back until its congestion window has room. The window grows by
     * what is acked as long as it is used, up to two flights: more would be lost. From
     * then on it is what the path needs, whatever becomes of it. */
    void wait_for_window(uint32_t segment)
    {
        const uint64_t enough = 2 * path.rate * path.delay / SECOND;

        if (!slow_start) {
            window = std::max(window, enough);
        }
        line_free = std::max(line_free, now * 1000);
        while (!unacked.empty() &&
               (unacked.front().first <= line_free || unacked_bytes + segment > window)) {
            line_free = std::max(line_free, unacked.front().first);
            if (slow_start && unacked_bytes * 2 > window) {
                window += unacked.front().second;
                slow_start = window < enough;
                windows.push_back({ unacked.front().first / 1000, slow_start ? window : 0 });
            }
            unacked_bytes -= unacked.front().second;
            unacked.pop_front();
        }
    }

    /* What TCP knew by now of what wait_for_window reckoned ahead. */
    void look_at_window()
    {
        while (!windows.empty() && windows.front().first <= now) {
            flow.set_slow_start_window(windows.front().second);
            windows.pop_front();
        }
    }

    void next_ack()
    {
        /* a stop without an ack on its way would last for ever */
        g_assert_false(acks_coming.empty());
        const Ack ack = acks_coming.front();

        acks_coming.pop_front();
        now = std::max(now, ack.time);
        look_at_window();
        if (ack.sync) {
            flow.synced(now);
            return;
        }
        ++acks;
        flow.acked(now);
    }

    void wait_until_allowed()
    {
        while (!acks_coming.empty() && acks_coming.front().time <= now) {
            next_ack();
        }
        while (!flow.may_send()) {
            next_ack();
        }
    }

    /* The end of a message is taken when the socket has room for it. */
    void wait_for_socket()
    {
        const uint64_t room = (path.rate * path.delay / SECOND + socket) * SECOND / path.rate;

        if (line_free / 1000 > now + room) {
            const uint64_t end = line_free / 1000 - room;

            while (!acks_coming.empty() && acks_coming.front().time <= end) {
                next_ack();
            }
            now = end;
        }
    }

    /* bytes not yet decoded that are not just on their way */
    uint64_t queue_bytes()
    {
        while (!undecoded.empty() && undecoded.front().first <= now) {
            undecoded_bytes -= undecoded.front().second;
            undecoded.pop_front();
        }
        const uint64_t on_the_way = service_rate() * path.delay / 2 / SECOND;
        return undecoded_bytes > on_the_way ? undecoded_bytes - on_the_way : 0;
    }

    uint64_t service_rate() const
    {
        if (!path.decode || undecoded.empty()) {
            return path.rate;
        }
        return std::min(path.rate, undecoded.back().second * SECOND / path.decode);
    }

    const bool counts_set_ack;
    /* nanoseconds */
    uint64_t line_free = 0;
    uint64_t client_free = 0;
    uint32_t client_interval = 0;
    uint32_t client_count = 0;
    uint64_t acks = 0;
    uint64_t set_acks = 0;
    std::deque<Ack> acks_coming;
    /* TCP: its congestion window, segments on their way and back with the time at which
     * each is acked in nanoseconds, and the windows to come with their times */
    uint64_t window = FIRST_WINDOW * SEGMENT;
    bool slow_start = true;
    uint64_t unacked_bytes = 0;
    std::deque<std::pair<uint64_t, uint32_t>> unacked;
    std::deque<std::pair<uint64_t, uint64_t>> windows;
    /* when each message is decoded, and its bytes */
    std::deque<std::pair<uint64_t, uint32_t>> undecoded;
    uint64_t undecoded_bytes = 0;
};

} // namespace

static const uint64_t mbit = 1000000 / 8;

static const Path paths[] = {
    { 1000 * mbit, 200, 0 },
    { 100 * mbit, 10000, 0 },
    { 50 * mbit, 100000, 0 },
    { 20 * mbit, 40000, 0 },
    { 2 * mbit, 100000, 0 },
};

static uint64_t total(const Sizes &sizes)
{
    uint64_t bytes = 0;

    for (uint32_t size : sizes) {
        bytes += size;
    }
    return bytes;
}

static Sizes text(size_t count)
{
    return Sizes(count, 240);
}

/* Many small messages and some large ones, as a desktop has. */
static Sizes desktop(size_t count)
{
    GRand *rand = g_rand_new_with_seed(7);
    Sizes sizes;

    while (sizes.size() < count) {
        const int kind = g_rand_int_range(rand, 0, 100);

        sizes.push_back(kind < 90 ? g_rand_int_range(rand, 30, 200) :
                        kind < 99 ? g_rand_int_range(rand, 1000, 8000) :
                                    g_rand_int_range(rand, 20000, 200000));
    }
    g_rand_free(rand);
    return sizes;
}

static Sizes images(size_t count)
{
    return Sizes(count, 20000);
}

static void assert_fills(const Path &path, const Sizes &sizes)
{
    Simulation simulation(path);
    const Result result = simulation.send(sizes, 0);
    const uint64_t least = total(sizes) * SECOND / path.rate;

    g_test_message("%" G_GUINT64_FORMAT " B/s %" G_GUINT64_FORMAT " us: %" G_GUINT64_FORMAT
                   " us of %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT " acks, %" G_GUINT64_FORMAT
                   " SET_ACK", path.rate, path.delay, result.time, least, result.acks,
                   result.set_acks);
    g_assert_cmpuint(result.time, <=, least * 13 / 10 + 4 * path.delay + SECOND / 100);
}

static void test_fills_the_link()
{
    for (const Path &path : paths) {
        assert_fills(path, text(100000));
        assert_fills(path, desktop(40000));
        assert_fills(path, images(1000));
    }
}

/* The first groups are of few messages, so that the first acks come early. There are not enough
 * of those to fill a path with messages that turn out smaller, nor of the usual interval to fill
 * a long one. */
static void test_short_messages()
{
    assert_fills({ 100 * mbit, 20000, 0 }, Sizes(20000, 40));
    assert_fills({ 100 * mbit, 100000, 0 }, Sizes(400000, 40));
}

/* Pictures longer than what the path holds. Each is acked a round trip after its end has
 * arrived; who waits for that has an idle path after each. */
static void test_long_messages()
{
    for (const Path &path : paths) {
        const uint32_t size = std::max<uint64_t>(4 * path.rate * path.delay / SECOND, 100000);
        const Sizes sizes(100, size);
        Simulation simulation(path);
        const Result result = simulation.send(sizes, 0);
        const uint64_t least = total(sizes) * SECOND / path.rate;

        g_assert_cmpuint(result.time, <=, least * 103 / 100 + 4 * path.delay + SECOND / 100);
    }
}

/* What waits does so here and not in the line: after the start the queue is a part of a
 * flight, whatever the messages. A fixed window of 4000 has seconds in it. */
static void test_queue_is_short()
{
    const Sizes all[] = { text(100000), images(1000) };

    for (const Path &path : paths) {
        for (const Sizes &sizes : all) {
            Simulation simulation(path);
            const Result result = simulation.send(sizes, 20 * path.delay + SECOND);
            const uint64_t flight = path.rate * path.delay / SECOND;

            g_test_message("%" G_GUINT64_FORMAT " B/s %" G_GUINT64_FORMAT " us: queue %"
                           G_GUINT64_FORMAT " of a flight of %" G_GUINT64_FORMAT,
                           path.rate, path.delay, result.max_queue, flight);
            /* gain, slack, and a group that is being received */
            g_assert_cmpuint(result.max_queue, <=,
                             flight + path.rate / 100 + 2 * sizes[0] * simulation.flow.get_interval()
                             + 32 * 1024);
        }
    }
}

/* Each ack costs the client a packet and both ends a wake-up, so of small messages many go
 * between two. */
static void test_acks_are_few()
{
    for (const Path &path : paths) {
        Simulation simulation(path);
        const Sizes sizes = text(100000);
        const Result result = simulation.send(sizes, 0);
        g_assert_cmpuint(result.acks + result.set_acks, <=, 20 * result.time / path.delay);

        /* on a slow line each is to be for some packets, as long as that is not much of a flight */
        const uint64_t bytes = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
        const uint64_t group = simulation.flow.wanted_interval() * bytes / sizes.size();
        const uint64_t flight = path.rate * path.delay / SECOND;
        g_assert_cmpuint(group, >=, std::min<uint64_t>(flight / 9, 3600));
    }
}

/* Small messages turn into large ones: of as many as would make a group of the small ones
 * the queue would be long before there is an ack. */
static void test_messages_become_larger()
{
    RedStreamFlow flow;
    uint64_t bytes = 0;

    flow.set_ack_sent(1, 500, 14);
    flow.synced(2);
    const uint64_t limit = flow.limit();
    while (!flow.wants_set_ack(3)) {
        flow.sent(3, 2000);
        bytes += 2000;
        g_assert_cmpuint(bytes, <=, limit);
    }
    /* once is enough */
    flow.set_ack_sent(4, flow.wanted_interval(), 14);
    flow.sent(5, limit);
    g_assert_false(flow.wants_set_ack(6));
}

/* To measure the delay anew, three times here, the line need not be idle for a round trip. */
static void test_measures_on_the_way()
{
    for (const Path &path : { Path{ 2 * mbit, 100000, 0 }, Path{ 20 * mbit, 40000, 0 } }) {
        Simulation simulation(path);
        const Result result = simulation.send(text(100 * path.rate / 240), 2 * SECOND);

        g_test_message("%" G_GUINT64_FORMAT " B/s %" G_GUINT64_FORMAT " us: idle for %"
                       G_GUINT64_FORMAT " us", path.rate, path.delay, result.idle);
        g_assert_cmpuint(result.idle, <=, 3 * path.delay);
    }
}

/* A client slower than the line is what limits, and no queue builds up at it. */
static void test_slow_client()
{
    const Path path = { 100 * mbit, 20000, 1000 };
    const Sizes sizes = text(20000);
    Simulation simulation(path);
    const Result result = simulation.send(sizes, SECOND);

    g_assert_cmpuint(result.time, <=, sizes.size() * path.decode * 11 / 10 + 4 * path.delay);
    /* the client decodes 1000 messages a second: a quarter of a second of them */
    g_assert_cmpuint(result.max_queue, <=, 250 * 240);
}

/* The client, or the machine it runs on, stops for some seconds. */
static void test_pausing_client()
{
    Simulation simulation(paths[3]);

    simulation.send(text(20000), 0);
    simulation.path.decode = 3 * SECOND;
    simulation.send(text(1), 0);
    simulation.path.decode = 0;
    const uint64_t before = simulation.now;
    const Result result = simulation.send(text(100000), 0);
    const uint64_t least = 100000 * 240 * SECOND / simulation.path.rate;

    g_assert_cmpuint(result.time - before, <=, 3 * SECOND + least * 13 / 10 + 4 * 40000);
}

/* A desktop does nothing most of the time. What was learnt is kept, and a burst after a
 * pause fills the link as the first one did. */
static void test_idle()
{
    Simulation simulation(paths[3]);

    for (int i = 0; i < 20; ++i) {
        const uint64_t before = simulation.now;
        const Sizes burst = text(10000);
        const Result result = simulation.send(burst, 0);
        const uint64_t least = total(burst) * SECOND / simulation.path.rate;

        g_assert_cmpuint(result.time - before, <=, least * 13 / 10 + 4 * simulation.path.delay);
        simulation.idle(result.time - simulation.now + (i % 4) * 5 * SECOND);
    }
}

/* A desktop between two bursts: a few small messages now and then, an image among them.
 * A group takes seconds to fill, and most of it has arrived long before its ack. */
static void test_trickle()
{
    for (const Path &path : paths) {
        Simulation simulation(path);

        for (int i = 0; i < 1000; ++i) {
            simulation.send({ 40, i % 29 == 0 ? 50000u : 60u }, UINT64_MAX);
            simulation.idle(80000);
            if (simulation.flow.get_rate() > path.rate + path.rate / 10) {
                g_error("%" G_GUINT64_FORMAT " bytes/s are taken for %" G_GUINT64_FORMAT,
                        path.rate, simulation.flow.get_rate());
            }
        }
    }
}

/* The path becomes slower and longer, and fast again. */
static void test_path_changes()
{
    Simulation simulation(paths[3]);

    simulation.send(text(50000), 0);
    for (const Path &path : { paths[4], paths[2], paths[1], paths[4], paths[3] }) {
        simulation.path = path;
        /* a time to learn, too short for what was learnt before to become too old */
        const uint64_t learn = simulation.now + RED_STREAM_FLOW_DELAY_AGE / 2;
        while (simulation.now < learn) {
            simulation.send(text(1000), 0);
        }
        const uint64_t before = simulation.now;
        const Sizes sizes = text(50000);
        const Result result = simulation.send(sizes, before);
        const uint64_t least = total(sizes) * SECOND / path.rate;
        g_test_message("%" G_GUINT64_FORMAT " B/s %" G_GUINT64_FORMAT " us: queue %"
                       G_GUINT64_FORMAT ", rate %" G_GUINT64_FORMAT " delay %u %s",
                       path.rate, path.delay, result.max_queue, simulation.flow.get_rate(),
                       simulation.flow.get_delay(), simulation.flow.get_phase());
        g_assert_cmpuint(result.time - before, <=, least * 13 / 10 + 8 * path.delay);
        g_assert_cmpuint(result.max_queue, <=,
                         path.rate * path.delay / SECOND + path.rate / 50 + 64 * 1024);
    }
}

/* Acks of messages that were never counted, and syncs that nobody asked for, come from a
 * client that does as it likes. */
static void test_unexpected_acks()
{
    RedStreamFlow flow;

    flow.acked(1);
    flow.synced(2);
    g_assert_true(flow.may_send());
    flow.set_ack_sent(3, 20, 14);
    flow.acked(4);
    g_assert_cmpuint(flow.bytes_in_flight(), ==, 14);
    flow.synced(5);
    flow.synced(6);
    flow.acked(7);
    g_assert_cmpuint(flow.bytes_in_flight(), ==, 0);
    g_assert_true(flow.may_send());
}

/* What was sent before a SET_ACK is acked as it arrives, not a round trip later. */
static void test_acks_before_the_sync()
{
    RedStreamFlow flow;
    uint64_t now = 1;

    flow.set_ack_sent(now, 2, 14);
    flow.synced(++now);
    for (int i = 0; i < 5; ++i) {
        flow.sent(++now, 100);
    }
    flow.set_ack_sent(++now, 4, 14);
    flow.sent(++now, 100);
    g_assert_cmpuint(flow.bytes_in_flight(), ==, 614);
    flow.acked(++now);
    g_assert_cmpuint(flow.bytes_in_flight(), ==, 414);
    flow.acked(++now);
    g_assert_cmpuint(flow.bytes_in_flight(), ==, 214);
    /* a client that counts SET_ACK, too */
    flow.acked(++now);
    g_assert_cmpuint(flow.bytes_in_flight(), ==, 214);
    flow.synced(++now);
    g_assert_cmpuint(flow.bytes_in_flight(), ==, 100);
}

/* spice-html5 counts SET_ACK as the first message of what it tells of, so each of its acks
 * comes a message earlier than it would have to. Of those that come before their group is
 * complete none may be missing later, when sending has stopped, and a path that is measured
 * anew may be held to one group for no longer than that takes. */
static void test_client_counts_set_ack()
{
    GRand *rand = g_rand_new_with_seed(3);

    for (const Path &path : paths) {
        Simulation simulation(path, true);

        for (int i = 0; i < 300; ++i) {
            const int count = g_rand_boolean(rand) ? 1 : g_rand_int_range(rand, 1, 200);
            const uint32_t size = 1 << g_rand_int_range(rand, 5, 17);

            simulation.send(Sizes(count, size), UINT64_MAX);
            simulation.idle(g_rand_int_range(rand, 0, i % 10 ? 2 * path.delay :
                                                      2 * RED_STREAM_FLOW_DELAY_AGE));
        }

        const uint64_t start = simulation.now;
        const Sizes sizes = desktop(20000);
        const Result result = simulation.send(sizes, 0);

        g_assert_cmpuint(result.time - start, <=,
                         total(sizes) * SECOND / path.rate * 3 / 2 + 10 * path.delay + SECOND / 100);
    }
    g_rand_free(rand);
}

/* TCP's slow start is not slowed down: what it could send is there, and no queue of the
 * path is seen in what only waits for the window. */
static void test_slow_start()
{
    RedStreamFlow flow;

    flow.set_ack_sent(1, 20, 14);
    g_assert_cmpuint(flow.limit(), <, 100000);
    flow.set_slow_start_window(100000);
    g_assert_cmpuint(flow.limit(), >=, 200000);
    flow.synced(100000);
    for (int i = 0; i < 2; ++i) {
        for (int n = 0; n < 20; ++n) {
            flow.sent(100000, 5000);
        }
    }
    flow.acked(200000);
    flow.acked(300000);
    g_assert_cmpstr(flow.get_phase(), ==, "growing");
    g_assert_cmpuint(flow.limit(), >=, 200000);
    /* it has ended */
    flow.set_slow_start_window(0);
    for (int n = 0; n < 20; ++n) {
        flow.sent(300000, 5000);
    }
    flow.acked(900000);
    g_assert_cmpstr(flow.get_phase(), !=, "growing");
}

/* The end of a drain may wait for the next only while the path has enough to carry. */
static void test_hold()
{
    const Path path = { 2500000, 40000, 0 };
    Simulation simulation(path);
    RedStreamFlow &flow = simulation.flow;

    g_assert_cmpuint(flow.hold_time(), ==, 0);
    simulation.send(Sizes(20000, 300), 0);
    simulation.idle(SECOND);
    g_assert_cmpuint(flow.hold_time(), ==, 0);
    g_assert_cmpstr(flow.get_phase(), ==, "steady");
    while (flow.may_send()) {
        flow.sent(simulation.now, 300);
    }
    g_assert_cmpuint(flow.hold_time(), >, 0);
    g_assert_cmpuint(flow.hold_time(), <=, path.delay / 4);
}

/* One large picture among small messages does not count for long, one after the other do, and so
 * they do with a SET_ACK in between. */
static void test_making_time()
{
    RedStreamFlow flow;

    g_assert_cmpuint(flow.get_making_time(), ==, 0);
    for (int i = 0; i < 10; ++i) {
        flow.made(40000);
        flow.made(3);
        g_assert_cmpuint(flow.get_making_time(), ==, 35000);
    }
    flow.made(50000);
    g_assert_cmpuint(flow.get_making_time(), ==, 50000);
    for (int i = 0; i < 30; ++i) {
        flow.made(3);
    }
    g_assert_cmpuint(flow.get_making_time(), <, 1000);
}

/* Sending stops only when a complete group is in flight, whatever the sizes, the times
 * and the intervals: the simulation asserts that an ack is on its way. */
static void test_never_stuck()
{
    GRand *rand = g_rand_new_with_seed(11);

    for (int i = 0; i < 200; ++i) {
        Path path;
        path.rate = 1 << g_rand_int_range(rand, 10, 31);
        path.delay = g_rand_int_range(rand, 1, 1000000);
        path.decode = g_rand_boolean(rand) ? g_rand_int_range(rand, 0, 20000) : 0;
        Simulation simulation(path);
        Sizes sizes;
        const int bits = g_rand_int_range(rand, 5, 22);

        for (int n = g_rand_int_range(rand, 1, 3000); n; --n) {
            sizes.push_back(6 + g_rand_int_range(rand, 0, 1 << bits));
        }
        simulation.send(sizes, 0);
    }
    g_rand_free(rand);
}

/* What waits behind a picture that is longer than a flight waits for that, not in a queue that
 * stays: the rate goes on growing. */
static void test_large_message_while_growing()
{
    for (const Path &path : paths) {
        Simulation simulation(path);
        const uint64_t flight = path.rate * path.delay / SECOND;
        const uint32_t large = 2 * flight + path.rate / 20;

        simulation.socket = large;
        simulation.send(Sizes(flight / 8 / 30, 30), 0);
        simulation.send({ large }, 0);
        simulation.send(Sizes(4 * flight / 80, 80), 0);
        g_assert_cmpstr(simulation.flow.get_phase(), ==, "growing");
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream-flow/fills-the-link", test_fills_the_link);
    g_test_add_func("/server/stream-flow/short-messages", test_short_messages);
    g_test_add_func("/server/stream-flow/long-messages", test_long_messages);
    g_test_add_func("/server/stream-flow/queue-is-short", test_queue_is_short);
    g_test_add_func("/server/stream-flow/acks-are-few", test_acks_are_few);
    g_test_add_func("/server/stream-flow/messages-become-larger", test_messages_become_larger);
    g_test_add_func("/server/stream-flow/measures-on-the-way", test_measures_on_the_way);
    g_test_add_func("/server/stream-flow/slow-client", test_slow_client);
    g_test_add_func("/server/stream-flow/pausing-client", test_pausing_client);
    g_test_add_func("/server/stream-flow/idle", test_idle);
    g_test_add_func("/server/stream-flow/trickle", test_trickle);
    g_test_add_func("/server/stream-flow/path-changes", test_path_changes);
    g_test_add_func("/server/stream-flow/unexpected-acks", test_unexpected_acks);
    g_test_add_func("/server/stream-flow/acks-before-the-sync", test_acks_before_the_sync);
    g_test_add_func("/server/stream-flow/client-counts-set-ack", test_client_counts_set_ack);
    g_test_add_func("/server/stream-flow/slow-start", test_slow_start);
    g_test_add_func("/server/stream-flow/hold", test_hold);
    g_test_add_func("/server/stream-flow/making-time", test_making_time);
    g_test_add_func("/server/stream-flow/large-message-while-growing",
                    test_large_message_while_growing);
    g_test_add_func("/server/stream-flow/never-stuck", test_never_stuck);

    return g_test_run();
}
