/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* RedStreamFlow against a simulated path and client: TCP in slow start, a line with a
 * rate, a delay and an endless queue, a client that decodes one message after the other
 * and pongs probes. No socket and no clock, so every figure below is the same on
 * every machine. */
#include <config.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <numeric>
#include <vector>

#include <glib.h>

#include "red-stream-flow.h"

/* messages between the client's own acks */
#define ACK_INTERVAL 20
/* bytes, with the small header */
#define PROBE_SIZE (6 + 12)
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
    uint64_t probes;
};

class Simulation
{
public:
    explicit Simulation(const Path &init_path): path(init_path)
    {
    }

    /* Send @sizes as fast as the flow lets us. What is before @settle does not count in
     * max_queue nor idle. */
    Result send(const Sizes &sizes, uint64_t settle)
    {
        Result result = { };
        const uint64_t probes_before = probes;

        for (uint32_t size : sizes) {
            wait_until_allowed();
            if (now > settle && now > line_free / 1000) {
                result.idle += now - line_free / 1000;
            }
            transmit(size, path.decode);
            flow.sent(now, size);
            if (flow.wants_probe()) {
                probe();
            }
            wait_for_socket();
            if (now > settle) {
                result.max_queue = std::max(result.max_queue, queue_bytes());
            }
        }
        result.time = std::max(client_free, now);
        result.probes = probes - probes_before;
        return result;
    }

    /* Nothing to send for some time. */
    void idle(uint64_t time)
    {
        const uint64_t end = now + time;

        flow.starved();
        while (!pongs_coming.empty() && pongs_coming.front().time <= end) {
            next_pong();
        }
        now = end;
    }

    Path path;
    uint64_t now = 1;
    RedStreamFlow flow;
    /* bytes that the kernel takes beyond a BDP */
    uint64_t socket = 64 * 1024;
    /* TCP's window grows without end */
    bool bold = false;
    /* the most that was in the queue before the line, in bytes */
    uint64_t peak = 0;

private:
    struct Pong {
        uint64_t time;
        uint32_t id;
    };

    void probe()
    {
        const uint32_t id = flow.get_next_probe();

        flow.probe_sent(now, PROBE_SIZE);
        ++probes;
        transmit(PROBE_SIZE, 0);
        pongs_coming.push_back({ client_free + path.delay / 2, id });
    }

    /* The line and then the client take the message when they are done with the one
     * before. */
    void transmit(uint32_t size, uint64_t decode)
    {
        for (uint32_t left = size; left; ) {
            const uint32_t segment = std::min<uint32_t>(left, SEGMENT);

            wait_for_window(segment);
            line_free = std::max(line_free, tcp_time);
            peak = std::max(peak, (line_free - tcp_time) * path.rate / (SECOND * 1000) + segment);
            line_free += segment * SECOND * 1000 / path.rate;
            unacked.push_back({ line_free + path.delay * 1000, segment });
            unacked_bytes += segment;
            left -= segment;
        }
        client_free = std::max(client_free, line_free / 1000 + path.delay / 2) + decode;
        undecoded.push_back({ client_free, size });
        undecoded_bytes += size;
        if (++client_count % ACK_INTERVAL == 0) {
            acks_coming.push_back(client_free + path.delay / 2);
        }
    }

    /* TCP holds a segment back until its congestion window has room. The window grows by
     * what is acked as long as it is used, up to two flights: more would be lost. From
     * then on it is what the path needs, whatever becomes of it. */
    void wait_for_window(uint32_t segment)
    {
        const uint64_t enough = bold ? UINT64_MAX : 2 * path.rate * path.delay / SECOND;

        if (!slow_start) {
            window = std::max(window, enough);
        }
        tcp_time = std::max(tcp_time, now * 1000);
        while (!unacked.empty() &&
               (unacked.front().first <= tcp_time || unacked_bytes + segment > window)) {
            tcp_time = std::max(tcp_time, unacked.front().first);
            if (slow_start && unacked_bytes * 2 > window) {
                window += unacked.front().second;
                slow_start = window < enough;
            }
            unacked_bytes -= unacked.front().second;
            unacked.pop_front();
        }
    }

    void next_pong()
    {
        /* a stop without a pong on its way would last until the timeout is over */
        g_assert_false(pongs_coming.empty());
        const Pong pong = pongs_coming.front();

        pongs_coming.pop_front();
        now = std::max(now, pong.time);
        /* an honest client acks nothing that is beyond a probe before it has answered that */
        while (!acks_coming.empty() && acks_coming.front() < pong.time) {
            flow.acked(acks_coming.front(), ACK_INTERVAL);
            acks_coming.pop_front();
            g_assert_cmpstr(flow.get_phase(), !=, "off");
        }
        g_assert_true(flow.pong_received(now, pong.id));
        pong_time = now;
    }

    void wait_until_allowed()
    {
        while (!pongs_coming.empty() && pongs_coming.front().time <= now) {
            next_pong();
        }
        const uint64_t stopped = now;
        while (!flow.may_send(false)) {
            const uint64_t timeout = std::max(stopped, pong_time) + flow.get_probe_timeout();

            if (!pongs_coming.empty() && pongs_coming.front().time > timeout) {
                flow.probe_timed_out(timeout);
            }
            next_pong();
        }
    }

    /* The end of a message is taken when the socket has room for it. */
    void wait_for_socket()
    {
        const uint64_t room = (path.rate * path.delay / SECOND + socket) * SECOND / path.rate;

        if (line_free / 1000 > now + room) {
            const uint64_t end = line_free / 1000 - room;

            while (!pongs_coming.empty() && pongs_coming.front().time <= end) {
                next_pong();
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

    /* nanoseconds */
    uint64_t line_free = 0;
    /* when TCP has sent the last segment */
    uint64_t tcp_time = 0;
    uint64_t client_free = 0;
    uint64_t probes = 0;
    uint64_t pong_time = 0;
    std::deque<Pong> pongs_coming;
    uint64_t client_count = 0;
    std::deque<uint64_t> acks_coming;
    /* TCP: its congestion window, segments on their way and back with the time at which
     * each is acked in nanoseconds */
    uint64_t window = FIRST_WINDOW * SEGMENT;
    bool slow_start = true;
    uint64_t unacked_bytes = 0;
    std::deque<std::pair<uint64_t, uint32_t>> unacked;
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
                   " us of %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT " probes", path.rate, path.delay,
                   result.time, least, result.probes);
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

/* A router's queue holds about a BDP, or 64 KiB. More is dropped, for all who share the link, so
 * the rate must not be learnt by filling the queue. TCP's window grows without end here, as behind
 * a relay. */
static void test_start_is_gentle()
{
    for (const Path &path : paths) {
        if (path.delay < SECOND / 100) {
            continue;
        }
        for (uint32_t size : { 240, 1400, 5000 }) {
            const uint64_t bdp = path.rate * path.delay / SECOND;
            Simulation simulation(path);

            simulation.bold = true;
            simulation.socket = 100 << 20;
            simulation.send(Sizes(5 * path.rate / size, size), 0);
            g_test_message("%" G_GUINT64_FORMAT " B/s %" G_GUINT64_FORMAT " us: %" G_GUINT64_FORMAT
                           " of a BDP of %" G_GUINT64_FORMAT " before the line",
                           path.rate, path.delay, simulation.peak, bdp);
            g_assert_cmpuint(simulation.peak, <=, std::max<uint64_t>(bdp * 11 / 10, 64 * 1024));
        }
    }
}

/* There are more of them in flight than of probes. */
static void test_short_messages()
{
    assert_fills({ 100 * mbit, 20000, 0 }, Sizes(20000, 40));
    assert_fills({ 100 * mbit, 100000, 0 }, Sizes(400000, 40));
}

/* Pictures longer than what the path holds. Each is answered a round trip after its end has
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

/* Messages wait in the pipe and not in the link: after the start the queue is a part of a BDP,
 * whatever the sizes. A fixed window of 4000 queues seconds. */
static void test_queue_is_short()
{
    const Sizes all[] = { text(100000), images(1000) };

    for (const Path &path : paths) {
        for (const Sizes &sizes : all) {
            Simulation simulation(path);
            const Result result = simulation.send(sizes, 20 * path.delay + SECOND);
            const uint64_t bdp = path.rate * path.delay / SECOND;

            g_test_message("%" G_GUINT64_FORMAT " B/s %" G_GUINT64_FORMAT " us: queue %"
                           G_GUINT64_FORMAT " of a BDP of %" G_GUINT64_FORMAT,
                           path.rate, path.delay, result.max_queue, bdp);
            /* gain, slack, and what lies before the probe that is being received */
            g_assert_cmpuint(result.max_queue, <=, bdp + path.rate / 100 + 2 * sizes[0] + 32 * 1024);
        }
    }
}

/* Each pong costs the client a packet and both ends a wake-up, so there is one for many small
 * messages, and on a slow line for some packets, as long as that is not much of a BDP. */
static void test_probes_are_few()
{
    for (const Path &path : paths) {
        Simulation simulation(path);
        const Sizes sizes = text(100000);
        const Result result = simulation.send(sizes, 0);
        const uint64_t bdp = path.rate * path.delay / SECOND;

        g_assert_cmpuint(result.probes, <=, 20 * result.time / path.delay);
        g_assert_cmpuint(total(sizes) / result.probes, >=, std::min<uint64_t>(bdp / 9, 3600));
    }
}

/* A picture that fills the path has a probe right behind it. */
static void test_large_messages_are_probed()
{
    RedStreamFlow flow;

    flow.sent(1, 1000);
    g_assert_false(flow.wants_probe());
    flow.sent(2, 100000);
    g_assert_true(flow.wants_probe());
    flow.probe_sent(3, PROBE_SIZE);
    g_assert_false(flow.wants_probe());
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

/* A long delay (satellite, mobile) is no timeout: the bytes in flight fill the path, after a pause,
 * too, and not more. */
static void test_long_path()
{
    for (const Path &path : { Path{ 2 * mbit, 1200000, 0 }, Path{ 20 * mbit, 1200000, 0 },
                              Path{ 2 * mbit, 3000000, 0 }, Path{ 20 * mbit, 3000000, 0 } }) {
        Simulation simulation(path);
        const uint64_t bdp = path.rate * path.delay / SECOND;

        simulation.send(text(20 * bdp / 240), 0);
        for (int i = 0; i < 20; ++i) {
            simulation.idle(2 * path.delay + i % 4 * 5 * SECOND);
            const uint64_t before = simulation.now;
            const Sizes burst = text(3 * bdp / 240);
            const Result result = simulation.send(burst, before);
            const uint64_t least = total(burst) * SECOND / path.rate;

            g_assert_cmpuint(result.time - before, <=, least * 13 / 10 + path.delay);
            g_assert_cmpuint(result.max_queue, <=, bdp + path.rate / 50 + 64 * 1024);
        }
        g_assert_cmpuint(simulation.flow.get_probe_timeouts(), ==, 0);
    }
}

/* Bytes that are sent with pauses and do not fill the path say nothing of its rate, however often:
 * an image after them is sent at once, up to one BDP. */
static void test_little_lowers_no_rate()
{
    for (const Path &path : paths) {
        Simulation simulation(path);
        const uint64_t bdp = path.rate * path.delay / SECOND;

        if (path.delay < SECOND / 100) {
            continue;
        }
        simulation.send(text(60 * bdp / 240), 0);
        const uint64_t known = simulation.flow.get_rate();
        for (int i = 0; i < 200; ++i) {
            simulation.idle(2 * path.delay + SECOND / 10);
            simulation.send(Sizes(4, bdp / 20), UINT64_MAX);
            g_assert_cmpuint(simulation.flow.get_rate(), >=, known);
        }
        simulation.idle(2 * path.delay + SECOND / 10);
        const uint64_t before = simulation.now;
        simulation.send(Sizes(bdp / 1000, 1000), 0);
        /* it did not stop: the simulated socket takes a BDP and more */
        g_assert_cmpuint(simulation.now, ==, before);
    }
}

/* During a pause the link becomes twenty times slower, which no pong has shown. What is sent then
 * queues less than a BDP of the old link. If the link is the same, it is full again after some
 * round trips. */
static void test_path_changes_while_idle()
{
    for (const Path &path : { paths[1], paths[2], paths[3] }) {
        for (const uint64_t slower : { 1, 20 }) {
            const uint64_t bdp = path.rate * path.delay / SECOND;
            Simulation simulation(path);

            simulation.bold = true;
            simulation.socket = 100 << 20;
            simulation.send(text(60 * bdp / 240), 0);
            simulation.idle(180 * SECOND);
            simulation.path.rate = path.rate / slower;
            const uint64_t before = simulation.now;
            const Sizes burst = text(4 * bdp / 240);
            const Result result = simulation.send(burst, before - 1);
            const uint64_t least = total(burst) * SECOND / simulation.path.rate;

            g_test_message("%" G_GUINT64_FORMAT " B/s %" G_GUINT64_FORMAT " us: queue %"
                           G_GUINT64_FORMAT " of a BDP of %" G_GUINT64_FORMAT ", %"
                           G_GUINT64_FORMAT " us of %" G_GUINT64_FORMAT, simulation.path.rate,
                           path.delay, result.max_queue, bdp, result.time - before, least);
            if (slower > 1) {
                g_assert_cmpuint(result.max_queue, <=, bdp / 2 + simulation.path.rate / 10);
            }
            g_assert_cmpuint(result.time - before, <=, least * 13 / 10 + 4 * path.delay);
        }
    }
}

/* A desktop between two bursts: a few small messages now and then, an image among them.
 * What lies between two probes takes seconds to come together, and most of it has arrived long
 * before the pong. */
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
        const uint64_t learn = simulation.now + RED_STREAM_FLOW_AGE / 2;
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
                       simulation.flow.get_path_delay(), simulation.flow.get_phase());
        g_assert_cmpuint(result.time - before, <=, least * 13 / 10 + 8 * path.delay);
        g_assert_cmpuint(result.max_queue, <=,
                         path.rate * path.delay / SECOND + path.rate / 50 + 64 * 1024);
    }
}

namespace {

/* When a client that has handled probe @n at @handled sends its pong, 0: never. */
typedef uint64_t (*Habit)(unsigned n, uint64_t handled, uint64_t last);

/* A channel to a client that counts and acks as it is asked to, and pongs probes as it likes. */
class Backoff
{
public:
    Backoff(const Path &init_path, Habit init_habit): path(init_path), habit(init_habit) {}

    /* Returns when the client has all. @flow: or by upstream's rule */
    uint64_t send(const Sizes &sizes, bool by_flow)
    {
        for (uint32_t size : sizes) {
            uint64_t stopped = now;

            while (!may_send(by_flow)) {
                const uint64_t timeout = stopped + flow.get_probe_timeout();

                /* upstream waits for an ack, which comes */
                g_assert_true(by_flow || !events.empty());
                if (events.empty() || (by_flow && events.begin()->first > timeout)) {
                    now = std::max(now, timeout);
                    flow.probe_timed_out(now);
                    stopped = now;
                } else if (next_event()) {
                    stopped = now;
                }
            }
            message(size);
            flow.sent(now, size);
            if (by_flow && flow.wants_probe()) {
                const uint32_t id = flow.get_next_probe();

                flow.probe_sent(now, PROBE_SIZE);
                message(PROBE_SIZE);
                last_pong = habit(probes++, handled, last_pong);
                if (last_pong) {
                    events.insert({ last_pong + path.delay / 2, id });
                }
            }
            /* the socket takes a BDP and a little more */
            now = std::max(now, line_free > path.delay + SECOND / 10 ?
                           line_free - path.delay - SECOND / 10 : 0);
            while (!events.empty() && events.begin()->first <= now) {
                next_event();
            }
        }
        return handled;
    }

    unsigned probes = 0;
    RedStreamFlow flow;

private:
    bool may_send(bool by_flow)
    {
        const bool slack = messages - acked <= 2 * interval;

        return by_flow ? flow.may_send(slack) : slack;
    }

    void message(uint32_t size)
    {
        line_free = std::max(line_free, now) + size * SECOND / path.rate;
        handled = line_free + path.delay / 2;
        ++messages;
        if (++counted == interval) {
            counted = 0;
            events.insert({ handled + path.delay / 2, interval });
        }
    }

    /* Returns whether it was a pong. */
    bool next_event()
    {
        const auto event = *events.begin();

        events.erase(events.begin());
        now = std::max(now, event.first);
        if (!(event.second & RED_STREAM_FLOW_PROBE)) {
            acked += event.second;
            flow.acked(now, event.second);
            return false;
        }
        const bool answered = flow.pong_received(now, event.second);

        if (flow.wants_fewer_acks()) {
            interval = 10 * ACK_INTERVAL;
        }
        return answered;
    }

    const Path path;
    const Habit habit;
    uint64_t now = 1;
    uint64_t line_free = 0;
    uint64_t handled = 0;
    uint64_t last_pong = 0;
    uint32_t interval = ACK_INTERVAL;
    uint32_t messages = 0;
    uint32_t counted = 0;
    uint32_t acked = 0;
    std::multimap<uint64_t, uint32_t> events;
};

} // namespace

/* What a client answers, or when, is its own affair: no habit makes it wait for longer than with
 * upstream's rule. */
static void test_no_later_than_upstream()
{
    static const struct {
        const char *name;
        Habit habit;
    } habits[] = {
        { "honest", [](unsigned, uint64_t handled, uint64_t) { return handled; } },
        { "never", [](unsigned, uint64_t, uint64_t) { return UINT64_C(0); } },
        { "late", [](unsigned, uint64_t handled, uint64_t) { return handled + 5 * SECOND; } },
        { "soon late", [](unsigned n, uint64_t handled, uint64_t) {
            return handled + (n < 100 ? 0 : 5 * SECOND); } },
        { "soon never", [](unsigned n, uint64_t handled, uint64_t) {
            return n < 100 ? handled : 0; } },
        { "one a second", [](unsigned, uint64_t handled, uint64_t last) {
            return std::max(handled, last + SECOND); } },
        { "soon one a second", [](unsigned n, uint64_t handled, uint64_t last) {
            return std::max(handled, last + (n < 100 ? 0 : SECOND)); } },
        { "one in ten", [](unsigned n, uint64_t handled, uint64_t) {
            return n % 10 ? 0 : handled; } },
        { "one in a hundred", [](unsigned n, uint64_t handled, uint64_t) {
            return n % 100 ? 0 : handled; } },
        { "half in disorder", [](unsigned n, uint64_t handled, uint64_t) {
            return handled + (n % 2 ? 0 : 300000); } },
        { "at times late", [](unsigned n, uint64_t handled, uint64_t) {
            return handled + (n / 50 % 2) * 2 * SECOND; } },
    };

    for (const auto &habit : habits) {
        for (const Path &path : paths) {
            for (const Sizes &sizes : { Sizes(20000, 240), Sizes(1000, 30000) }) {
                Backoff by_upstream(path, habit.habit);
                Backoff by_flow(path, habit.habit);
                const uint64_t upstream = by_upstream.send(sizes, false);
                const uint64_t time = by_flow.send(sizes, true);

                if (time > upstream + upstream / 15 + SECOND) {
                    g_error("%s, %u bytes, %" G_GUINT64_FORMAT " B/s %" G_GUINT64_FORMAT " us: %"
                            G_GUINT64_FORMAT " us, %" G_GUINT64_FORMAT " by upstream's rule; %u "
                            "probe_timeouts, %s", habit.name, sizes[0], path.rate, path.delay, time,
                            upstream, by_flow.flow.get_probe_timeouts(), by_flow.flow.get_phase());
                }
            }
        }
    }
}

/* Sends messages and probes as far as it goes, @count messages at the most. */
static int send_some(RedStreamFlow *flow, uint64_t now, bool slack, int count,
                     std::vector<uint32_t> *ids = nullptr)
{
    int n = 0;

    while (n < count && flow->may_send(slack)) {
        flow->sent(now, 1000);
        if (flow->wants_probe()) {
            if (ids) {
                ids->push_back(flow->get_next_probe());
            }
            flow->probe_sent(now, PROBE_SIZE);
        }
        ++n;
    }
    return n;
}

/* Answers to probes that are not in flight, or to nothing, come from a client that does as it
 * likes. */
static void test_unexpected_pongs()
{
    RedStreamFlow flow;
    std::vector<uint32_t> ids;

    g_assert_false(flow.pong_received(1, 0));
    g_assert_false(flow.pong_received(1, RED_STREAM_FLOW_PROBE));
    send_some(&flow, 2, false, 1000, &ids);
    g_assert_cmpuint(ids.size(), >, 3);
    const uint64_t before = flow.bytes_in_flight();
    g_assert_false(flow.pong_received(3, ids.back() + 1));
    g_assert_false(flow.pong_received(3, ids[0] - 1));
    g_assert_false(flow.pong_received(3, ids[0] & ~RED_STREAM_FLOW_PROBE));
    g_assert_cmpuint(flow.bytes_in_flight(), ==, before);
    /* one pongs for all before it, and once */
    g_assert_true(flow.pong_received(4, ids[2]));
    g_assert_cmpuint(flow.bytes_in_flight(), <, before);
    g_assert_false(flow.pong_received(5, ids[1]));
    g_assert_false(flow.pong_received(5, ids[2]));
    g_assert_true(flow.pong_received(6, ids.back()));
    g_assert_true(flow.may_send(false));
}

/* A client that answers no probe is served by upstream's rule, or as long as that stops by what
 * may be in flight at first. */
static void test_never_answered()
{
    RedStreamFlow flow;

    g_assert_cmpint(send_some(&flow, 1, false, 1000), >=, 32);
    g_assert_false(flow.may_send(false));
    g_assert_cmpint(send_some(&flow, 1, true, 100000), ==, 100000);
}

/* One that stops answering, until it has answered for a while; the more often it did the longer. */
static void test_probe_timeout()
{
    RedStreamFlow flow;
    std::vector<uint32_t> ids;
    uint64_t now = 100000;
    const auto answer = [&] {
        ids.clear();
        while (ids.empty()) {
            send_some(&flow, now, true, 1, &ids);
        }
        g_assert_true(flow.pong_received(now += 1000, ids.back()));
    };

    send_some(&flow, 1, false, 1000, &ids);
    flow.pong_received(now, ids.back());
    for (uint32_t probe_timeouts = 1; probe_timeouts <= 4; ++probe_timeouts) {
        /* after as many pongs as the fourth time would take, it is like the first */
        const bool starts_anew = probe_timeouts == 4;

        for (uint32_t i = 0; starts_anew && i < 1u << 16; ++i) {
            answer();
        }
        ids.clear();
        send_some(&flow, now, true, 1000, &ids);
        g_assert_false(flow.may_send(true));
        g_assert_cmpuint(flow.get_probe_timeout(), >=, RED_STREAM_FLOW_TIMEOUT);
        g_assert_cmpuint(flow.get_probe_timeout(), <=, 3 * RED_STREAM_FLOW_TIMEOUT);
        now += flow.get_probe_timeout();
        flow.probe_timed_out(now);
        g_assert_false(flow.may_send(false));
        g_assert_cmpuint(flow.get_probe_timeouts(), ==, probe_timeouts);
        uint32_t pongs = 0;
        while (strcmp(flow.get_phase(), "timeout") == 0) {
            g_assert_true(flow.may_send(true));
            answer();
            ++pongs;
        }
        g_assert_cmpuint(pongs, ==, starts_anew ? 16 : 1u << 4 * probe_timeouts);
    }
}

/* While a picture that fills the path for longer is under way no pong can come. */
static void test_timeout()
{
    RedStreamFlow flow;
    uint64_t now = 1;

    for (int i = 0; i < 100; ++i) {
        const uint32_t id = flow.get_next_probe();

        flow.sent(now, 25000);
        flow.probe_sent(now, PROBE_SIZE);
        flow.pong_received(now += 100000, id);
    }
    const uint32_t timeout = flow.get_probe_timeout();
    flow.sent(now, 125000);
    g_assert_cmpuint(flow.get_probe_timeout(), >=, timeout + 125000 * SECOND / flow.get_rate() / 2);
    g_assert_cmpuint(flow.get_probe_timeout(), <=, 3 * RED_STREAM_FLOW_TIMEOUT);
}

/* One whose own acks show that it has what it does not answer for. */
static void test_overtaken()
{
    RedStreamFlow flow;
    std::vector<uint32_t> ids;

    send_some(&flow, 1, true, 20, &ids);
    g_assert_true(flow.pong_received(100000, ids[0]));
    ids.clear();
    send_some(&flow, 100000, true, 1000, &ids);
    /* the pong may be on its way */
    flow.acked(200000, 1000);
    flow.acked(400000, 20);
    g_assert_cmpstr(flow.get_phase(), ==, "growing");
    g_assert_true(flow.pong_received(450000, ids[0]));
    flow.acked(600000, 20);
    g_assert_cmpstr(flow.get_phase(), ==, "growing");
    flow.acked(1000000, 20);
    g_assert_cmpstr(flow.get_phase(), ==, "off");
    g_assert_true(flow.may_send(true));
    g_assert_false(flow.may_send(false));
    g_assert_false(flow.wants_probe());
    /* more acks than messages do no harm */
    for (int i = 0; i < 1000; ++i) {
        flow.acked(2000000, UINT32_MAX);
    }
}

static void test_fewer_acks()
{
    RedStreamFlow flow;
    uint64_t now = 1;

    for (int i = 0; i < RED_STREAM_FLOW_PROBES; ++i) {
        g_assert_false(flow.wants_fewer_acks());
        const uint32_t id = flow.get_next_probe();

        flow.sent(now, 100000);
        flow.probe_sent(now, PROBE_SIZE);
        flow.pong_received(now + 10, id);
        now += 1000;
    }
    g_assert_true(flow.wants_fewer_acks());
    g_assert_false(flow.wants_fewer_acks());
}

/* The end of a drain may wait for the next only while the path has enough to carry. */
static void test_busy()
{
    const Path path = { 2500000, 40000, 0 };
    Simulation simulation(path);
    RedStreamFlow &flow = simulation.flow;

    g_assert_false(flow.is_path_busy());
    simulation.send(Sizes(20000, 300), 0);
    simulation.idle(SECOND);
    g_assert_false(flow.is_path_busy());
    g_assert_cmpstr(flow.get_phase(), ==, "steady");
    send_some(&flow, simulation.now, false, 1000000);
    g_assert_true(flow.is_path_busy());
}

/* Sending stops only when a probe is in flight, whatever the sizes and the times: the simulation
 * asserts that a pong is on its way. */
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

/* Messages behind an image longer than a BDP wait for its end, not in a queue that stays: the rate
 * goes on growing. */
static void test_large_message_while_growing()
{
    for (const Path &path : paths) {
        Simulation simulation(path);
        const uint64_t bdp = path.rate * path.delay / SECOND;
        const uint32_t large = 2 * bdp + path.rate / 20;

        simulation.socket = large;
        simulation.send(Sizes(bdp / 8 / 30, 30), 0);
        simulation.send({ large }, 0);
        simulation.send(Sizes(4 * bdp / 80, 80), 0);
        g_assert_cmpstr(simulation.flow.get_phase(), ==, "growing");
    }
}

/* The limit cannot hold back a part of a message: one longer than a BDP has the kernel told at
 * which rate, until it has arrived. */
static void test_pace()
{
    const Path path = { 250000, 100000, 0 };
    Simulation unknown(path), simulation(path);
    RedStreamFlow &flow = simulation.flow;

    unknown.flow.sent(1, 1000000);
    g_assert_cmpuint(unknown.flow.get_pace(), ==, 0);

    flow.expect(200000);
    simulation.send(Sizes(2000, 300), 0);
    g_assert_cmpuint(flow.get_pace(), ==, 0);
    const uint64_t rate = flow.get_rate();
    g_assert_cmpuint(rate, >, 200000);
    flow.sent(simulation.now, 1000000);
    g_assert_cmpuint(flow.get_pace(), ==, rate);

    /* a client that does not read makes the path no slower */
    flow.expect(500000);
    g_assert_cmpuint(flow.get_pace(), ==, 500000);

    /* nor is anything held up for one that does not answer */
    flow.probe_timed_out(simulation.now);
    g_assert_cmpuint(flow.get_pace(), ==, 0);
}

static void test_pace_ends()
{
    RedStreamFlow flow;

    flow.expect(200000);
    flow.sent(1, 1000000);
    const uint32_t id = flow.get_next_probe();
    flow.probe_sent(2, PROBE_SIZE);
    flow.sent(3, 300);
    g_assert_cmpuint(flow.get_pace(), ==, 200000);
    g_assert_true(flow.pong_received(4 * SECOND, id));
    g_assert_cmpuint(flow.get_pace(), ==, 0);
}

/* A pipe that is empty now and then, for it is filled in small pieces, starves nothing: with as
 * much in flight as fills the path the rate is what the path takes, and stops growing. */
static void test_empty_pipe()
{
    const Path path = { 250000, 100000, 0 };
    Simulation simulation(path);
    RedStreamFlow &flow = simulation.flow;

    for (int i = 0; i < 4000; ++i) {
        simulation.send({ 300 }, 0);
        if (flow.bytes_in_flight() > path.rate * path.delay / SECOND * 3 / 2) {
            flow.starved();
        }
    }
    g_assert_cmpstr(flow.get_phase(), ==, "steady");
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream-flow/fills-the-link", test_fills_the_link);
    g_test_add_func("/server/stream-flow/start-is-gentle", test_start_is_gentle);
    g_test_add_func("/server/stream-flow/short-messages", test_short_messages);
    g_test_add_func("/server/stream-flow/long-messages", test_long_messages);
    g_test_add_func("/server/stream-flow/queue-is-short", test_queue_is_short);
    g_test_add_func("/server/stream-flow/probes-are-few", test_probes_are_few);
    g_test_add_func("/server/stream-flow/large-messages-are-probed",
                    test_large_messages_are_probed);
    g_test_add_func("/server/stream-flow/measures-on-the-way", test_measures_on_the_way);
    g_test_add_func("/server/stream-flow/slow-client", test_slow_client);
    g_test_add_func("/server/stream-flow/pausing-client", test_pausing_client);
    g_test_add_func("/server/stream-flow/idle", test_idle);
    g_test_add_func("/server/stream-flow/trickle", test_trickle);
    g_test_add_func("/server/stream-flow/long-path", test_long_path);
    g_test_add_func("/server/stream-flow/little-lowers-no-rate", test_little_lowers_no_rate);
    g_test_add_func("/server/stream-flow/path-changes", test_path_changes);
    g_test_add_func("/server/stream-flow/path-changes-while-idle", test_path_changes_while_idle);
    g_test_add_func("/server/stream-flow/unexpected-pongs", test_unexpected_pongs);
    g_test_add_func("/server/stream-flow/never-answered", test_never_answered);
    g_test_add_func("/server/stream-flow/probe-timeout", test_probe_timeout);
    g_test_add_func("/server/stream-flow/no-later-than-upstream", test_no_later_than_upstream);
    g_test_add_func("/server/stream-flow/timeout", test_timeout);
    g_test_add_func("/server/stream-flow/overtaken", test_overtaken);
    g_test_add_func("/server/stream-flow/fewer-acks", test_fewer_acks);
    g_test_add_func("/server/stream-flow/busy", test_busy);
    g_test_add_func("/server/stream-flow/large-message-while-growing",
                    test_large_message_while_growing);
    g_test_add_func("/server/stream-flow/pace", test_pace);
    g_test_add_func("/server/stream-flow/pace-ends", test_pace_ends);
    g_test_add_func("/server/stream-flow/empty-pipe", test_empty_pipe);
    g_test_add_func("/server/stream-flow/never-stuck", test_never_stuck);

    return g_test_run();
}
