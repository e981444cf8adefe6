/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test what flow control makes of clients that answer late, wrong or not at all, see
 * test-stream-flow.h */
#include <config.h>

#include "red-stream-path.h"
#include "test-stream-flow.h"

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
            while (!may_send(by_flow)) {
                if (by_flow) {
                    timer.stopped(now);
                }
                /* upstream waits for an ack, which comes */
                g_assert_true(timer.time() != UINT64_MAX || !events.empty());
                if (events.empty() || events.begin()->first > timer.time()) {
                    now = std::max(now, timer.time());
                    timer.fire(now);
                } else {
                    next_event();
                }
            }
            timer.goes_on();
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
        const bool slack = messages - acked <= 2 * ACK_INTERVAL;

        return by_flow ? flow.may_send(slack) : slack;
    }

    void message(uint32_t size)
    {
        line_free = std::max(line_free, now) + size * SECOND / path.rate;
        handled = line_free + path.delay / 2;
        ++messages;
        if (messages % ACK_INTERVAL == 0) {
            events.insert({ handled + path.delay / 2, ACK_INTERVAL });
        }
    }

    void next_event()
    {
        const auto event = *events.begin();

        events.erase(events.begin());
        now = std::max(now, event.first);
        if (!(event.second & RED_STREAM_FLOW_PROBE)) {
            acked += event.second;
            flow.acked(now, event.second);
        } else {
            flow.pong_received(now, event.second);
        }
    }

    const Path path;
    const Habit habit;
    uint64_t now = 1;
    uint64_t line_free = 0;
    uint64_t handled = 0;
    uint64_t last_pong = 0;
    StopTimer timer{&flow};
    uint32_t messages = 0;
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

/* Returns when the probe timeout of a channel that stops at @now is over. */
static uint64_t time_out(RedStreamFlow *flow, uint64_t now)
{
    const uint64_t end = now + flow->get_probe_timeout();
    bool timed_out;

    flow->set_stopped(now, true);
    flow->timer(end - 1, &timed_out);
    g_assert_false(timed_out);
    flow->timer(end, &timed_out);
    g_assert_true(timed_out);
    return end;
}

/* Nothing is known of the path, however long the machine is up: the first bytes are those of a
 * start, and not of a pause. The first probe follows the first eighth of them. */
static void test_start()
{
    RedStreamFlow flow;
    const uint64_t now = 2 * RED_STREAM_FLOW_AGE;

    flow.sent(now, RED_STREAM_FLOW_INITIAL / 8 - 1);
    g_assert_cmpstr(flow.get_phase(), ==, "starting");
    g_assert_false(flow.wants_probe());
    flow.sent(now, 1);
    g_assert_true(flow.wants_probe());
    g_assert_cmpuint(flow.limit(), ==, RED_STREAM_FLOW_INITIAL);
}

/* The first bytes wait in a queue, which all pongs but the first show: it has to drain. */
static void test_queue_at_start()
{
    RedStreamFlow flow;
    std::vector<uint32_t> ids;
    uint64_t now = 1;

    send_some(&flow, now, false, 1000, &ids);
    g_assert_true(flow.pong_received(now += 10000, ids[0]));
    /* the path is not busy as long as it may carry more */
    g_assert_cmpuint(ids.size(), >, RED_STREAM_FLOW_PROBES / 4);
    g_assert_false(flow.is_path_busy());
    for (size_t i = 1; i < ids.size(); ++i) {
        g_assert_true(flow.pong_received(now += 100000, ids[i]));
    }
    ids.clear();
    send_some(&flow, now, false, 1000, &ids);
    g_assert_true(flow.pong_received(now += 100000, ids[0]));
    g_assert_cmpstr(flow.get_phase(), ==, "remeasuring");
}

/* A client that stops answering is sent what upstream's limit allows, and no more, until it has
 * answered for a while. */
static void test_probe_timeout()
{
    RedStreamFlow flow;
    std::vector<uint32_t> ids;
    uint64_t now = 100000;

    send_some(&flow, 1, false, 1000, &ids);
    flow.pong_received(now, ids.back());
    for (uint32_t probe_timeouts = 1; probe_timeouts <= 4; ++probe_timeouts) {
        ids.clear();
        send_some(&flow, now, true, 1000, &ids);
        g_assert_false(flow.may_send(true));
        const uint64_t timeout = flow.get_probe_timeout();
        g_assert_cmpuint(timeout, >=, RED_STREAM_FLOW_TIMEOUT);
        g_assert_cmpuint(timeout, <=, 3 * RED_STREAM_FLOW_TIMEOUT);
        now = time_out(&flow, now);
        g_assert_cmpuint(flow.get_probe_timeouts(), ==, probe_timeouts);
        g_assert_cmpstr(flow.get_phase(), ==, "timeout");
        /* upstream's limit needs no timer */
        g_assert_cmpuint(flow.set_stopped(now, true), ==, 0);
        /* the first one leaves out others, so it does not count */
        g_assert_true(flow.pong_received(now += 1000, ids.back()));
        for (int pongs = 0; pongs < RED_STREAM_FLOW_PROBES; ++pongs) {
            g_assert_false(flow.may_send(false));
            g_assert_true(flow.may_send(true));
            ids.clear();
            while (ids.empty()) {
                send_some(&flow, now, true, 1, &ids);
            }
            g_assert_true(flow.pong_received(now += 1000, ids.back()));
        }
        g_assert_cmpstr(flow.get_phase(), !=, "timeout");
        g_assert_true(flow.may_send(false));
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
    /* the path is as fast as pongs show, but nobody else has seen that it is */
    const uint32_t timeout = flow.get_probe_timeout();
    flow.sent(now, 125000);
    g_assert_cmpuint(flow.get_pace(), ==, 0);
    g_assert_cmpuint(flow.get_probe_timeout(), >=, timeout + 125000 * SECOND / flow.get_rate() / 2);
    g_assert_cmpuint(flow.get_probe_timeout(), <=, 3 * RED_STREAM_FLOW_TIMEOUT);
}

/* A client that is sent something long after it has stopped answering still does not answer. */
static void test_frozen_for_long()
{
    RedStreamFlow flow;
    std::vector<uint32_t> ids;

    send_some(&flow, 1, false, 1000, &ids);
    g_assert_true(flow.pong_received(10000, ids[0]));
    send_some(&flow, 10000, false, 1000);
    const uint64_t now = time_out(&flow, 10000);
    flow.sent(now + 2 * RED_STREAM_FLOW_AGE, 1000);
    g_assert_cmpstr(flow.get_phase(), ==, "timeout");
    g_assert_false(flow.may_send(false));
}

/* An ack for a probe shows no more than that the client has the probe: the pong may follow. */
static void test_not_overtaken()
{
    RedStreamFlow flow;
    const uint32_t id = flow.get_next_probe();

    flow.sent(1, 1000);
    flow.probe_sent(1, PROBE_SIZE);
    flow.sent(1, 1000);
    flow.acked(10000, 2);
    flow.acked(10 * SECOND, 0);
    g_assert_cmpstr(flow.get_phase(), ==, "starting");
    flow.acked(10 * SECOND, 1);
    flow.acked(10 * SECOND + RED_STREAM_FLOW_TIMEOUT, 0);
    g_assert_cmpstr(flow.get_phase(), ==, "starting");
    g_assert_true(flow.pong_received(10 * SECOND + RED_STREAM_FLOW_TIMEOUT, id));
    g_assert_cmpstr(flow.get_phase(), ==, "growing");
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
    /* a quarter of the probes of a BDP */
    std::vector<uint32_t> ids;
    while (ids.size() < RED_STREAM_FLOW_PROBES / 2) {
        g_assert_cmpint(send_some(&flow, simulation.now, false, 1, &ids), ==, 1);
        g_assert_true(flow.is_path_busy() == (ids.size() >= RED_STREAM_FLOW_PROBES / 4));
    }
    time_out(&flow, simulation.now);
    g_assert_false(flow.is_path_busy());
}

/* After a pause the limit is a part of the BDP, whatever upstream's limit allows, until pongs
 * have confirmed the rest. */
static void test_restart()
{
    Simulation simulation(paths[3]);
    RedStreamFlow &flow = simulation.flow;
    std::vector<uint32_t> ids;

    simulation.send(text(50000), 0);
    simulation.idle(RED_STREAM_FLOW_AGE + SECOND);
    const uint64_t full = flow.limit();
    send_some(&flow, simulation.now, true, 1000000, &ids);
    g_assert_cmpstr(flow.get_phase(), ==, "restarted");
    g_assert_cmpuint(flow.bytes_in_flight(), <, full / 2);
    g_assert_cmpuint(ids.size(), >, 2);
    simulation.now += paths[3].delay;
    g_assert_true(flow.pong_received(simulation.now, ids[0]));
    g_assert_cmpstr(flow.get_phase(), ==, "restarted");
    for (int i = 0; strcmp(flow.get_phase(), "restarted") == 0; ++i) {
        g_assert_cmpint(i, <, 10);
        simulation.now += paths[3].delay;
        g_assert_true(flow.pong_received(simulation.now, ids.back()));
        ids.clear();
        send_some(&flow, simulation.now, true, 1000000, &ids);
    }
    g_assert_cmpuint(flow.limit(), >=, full);
}

namespace {

/* A path on which one message at a time waits for its answer. */
struct Exchanges
{
    RedStreamFlow flow;
    uint64_t now = 1;

    void exchange(uint32_t size, uint64_t time)
    {
        const uint32_t id = flow.get_next_probe();

        flow.sent(now, size);
        flow.probe_sent(now, PROBE_SIZE);
        g_assert_true(flow.pong_received(now += time, id));
    }
};

} // namespace

/* Bytes after a pause show the rate of the path, whatever the pause. */
static void test_rate_after_pause()
{
    Exchanges path;

    path.exchange(2500, 100000);
    for (int i = 0; i < 3; ++i) {
        path.now += SECOND;
        path.flow.starved();
        path.exchange(25000, 100000);
    }
    g_assert_cmpuint(path.flow.get_rate(), ==, (25000 + PROBE_SIZE) * SECOND / 100000);
}

/* Nothing can be learnt from a pong for which the clock shows no time. */
static void test_no_time()
{
    Exchanges path;

    path.exchange(2500, 0);
    g_assert_cmpuint(path.flow.get_rate(), ==, 0);
    path.exchange(2500, 10000);
    g_assert_cmpuint(path.flow.get_rate(), ==, (2500 + PROBE_SIZE) * SECOND / 10000);
}

/* A delay that is confirmed does not become old, one that is not does. */
static void test_old_delay()
{
    const uint32_t delay = 100000;

    for (const uint32_t more : { 0, 1 }) {
        Exchanges path;

        for (int i = 0; i < 5 * RED_STREAM_FLOW_AGE / 4 / delay; ++i) {
            path.exchange(2500, delay);
            g_assert_cmpstr(path.flow.get_phase(), !=, "remeasuring");
        }
        path.now += RED_STREAM_FLOW_AGE - 2 * delay;
        path.exchange(2500, 2 * delay + more);
        g_assert_cmpstr(path.flow.get_phase(), ==, more ? "remeasuring" : "steady");
    }
}

/* When it is measured anew, it becomes longer by more than a quarter of it, and by no more than
 * the bytes themselves take. */
static void test_longer_delay()
{
    const uint32_t delay = 100000;

    for (const uint32_t more : { 0, 1 }) {
        Exchanges path;

        for (int i = 0; i < 20; ++i) {
            path.exchange(2500, delay);
        }
        path.now += RED_STREAM_FLOW_AGE - delay;
        path.exchange(2500, 2 * delay);
        g_assert_cmpstr(path.flow.get_phase(), ==, "remeasuring");
        const uint32_t own = PROBE_SIZE * SECOND / path.flow.get_rate();
        const uint32_t id = path.flow.get_next_probe();
        path.flow.probe_sent(path.now, PROBE_SIZE);
        g_assert_true(path.flow.pong_received(path.now += own + delay + delay / 4 + more, id));
        g_assert_cmpstr(path.flow.get_phase(), ==, "steady");
        g_assert_cmpuint(path.flow.get_path_delay(), ==, more ? delay + delay / 4 + 1 : delay);
    }
}

/* A pong shows a queue if it takes more than twice the time of an empty path, and
 * RED_STREAM_UNNOTICED. Then the rate does not grow. */
static void test_queued()
{
    for (const uint32_t more : { 0, 1 }) {
        Exchanges path;

        path.exchange(2500, 10000);
        path.exchange(2500, 2 * (10000 + 10000) + RED_STREAM_UNNOTICED + more);
        g_assert_true((strcmp(path.flow.get_phase(), "growing") == 0) == (more == 0));
    }
}

/* A quarter more is growth. When a path has stopped to grow it does so for good, although it
 * becomes faster later. */
static void test_growth()
{
    Exchanges path;
    uint32_t size = 1024;

    for (int i = 0; i < 5; ++i, size = size * 5 / 4) {
        for (int round = 0; round < RED_STREAM_FLOW_TRIES; ++round) {
            path.exchange(size - PROBE_SIZE, 10000);
            g_assert_cmpstr(path.flow.get_phase(), ==, "growing");
        }
    }
    for (int round = 0; round < RED_STREAM_FLOW_TRIES + 2; ++round) {
        path.exchange(size, 10000);
    }
    g_assert_cmpstr(path.flow.get_phase(), ==, "steady");
    for (int round = 0; round < RED_STREAM_FLOW_TRIES; ++round) {
        path.exchange(10 * size, 10000);
        g_assert_cmpstr(path.flow.get_phase(), ==, "steady");
    }
    g_assert_cmpuint(path.flow.get_rate(), >, 9 * size * SECOND / 10000);
}

/* When the pipe becomes empty, a queue behind RED_STREAM_FLOW_INITIAL bytes shows that the path has
 * become slower, one behind fewer bytes may be the client's. */
static void test_queue_with_empty_pipe()
{
    for (const uint32_t less : { 0, 1 }) {
        Exchanges path;

        for (int i = 0; i < 20; ++i) {
            path.exchange(100000, 100000);
        }
        const uint64_t rate = path.flow.get_rate();
        path.flow.starved();
        path.exchange(RED_STREAM_FLOW_INITIAL - PROBE_SIZE - less, SECOND);
        g_assert_cmpuint(path.flow.get_rate(), ==, less ? rate : RED_STREAM_FLOW_INITIAL);
    }
}

/* While the delay is measured anew the rate becomes no less. */
static void test_remeasuring_keeps_rate()
{
    Exchanges path;
    RedStreamFlow &flow = path.flow;
    std::vector<uint32_t> ids;

    for (int i = 0; i < 20; ++i) {
        path.exchange(100000, 100000);
    }
    const uint64_t rate = flow.get_rate();
    path.now += RED_STREAM_FLOW_AGE - 50000;
    flow.starved();
    for (int i = 0; i < 2; ++i) {
        flow.sent(path.now, RED_STREAM_FLOW_INITIAL);
        ids.push_back(flow.get_next_probe());
        flow.probe_sent(path.now, PROBE_SIZE);
    }
    g_assert_true(flow.pong_received(path.now + 150000, ids[0]));
    g_assert_cmpstr(flow.get_phase(), ==, "remeasuring");
    g_assert_true(flow.pong_received(path.now + SECOND, ids[1]));
    g_assert_cmpuint(flow.get_rate(), ==, rate);
}

/* A client on this host answers a ping at once: its rate grows again, once. */
static void test_near()
{
    Exchanges path;
    const auto settle = [&] {
        for (int i = 0; i < 20; ++i) {
            path.exchange(40000, 500);
        }
        g_assert_cmpstr(path.flow.get_phase(), ==, "steady");
    };

    settle();
    path.flow.ping_answered(RED_STREAM_FLOW_LOCAL_DELAY + 1);
    g_assert_false(path.flow.is_local());
    g_assert_cmpstr(path.flow.get_phase(), ==, "steady");
    path.flow.ping_answered(RED_STREAM_FLOW_LOCAL_DELAY);
    g_assert_true(path.flow.is_local());
    g_assert_cmpstr(path.flow.get_phase(), ==, "growing");
    settle();
    path.flow.ping_answered(RED_STREAM_FLOW_LOCAL_DELAY);
    g_assert_cmpstr(path.flow.get_phase(), ==, "steady");
}

/* The path becomes ten times as long. The time that the path needs for an image is no delay. */
static void test_delay_behind_image()
{
    Exchanges path;
    RedStreamFlow &flow = path.flow;

    for (int i = 0; i < 20; ++i) {
        path.exchange(2500, 10000);
    }
    g_assert_cmpuint(flow.get_path_delay(), ==, 10000);
    while (strcmp(flow.get_phase(), "remeasuring") != 0) {
        path.exchange(2500, 100000);
    }
    const uint64_t image = 250000;
    path.exchange(image, 100000 + image * SECOND / flow.get_rate());
    g_assert_cmpuint(flow.get_path_delay(), >, 90000);
    g_assert_cmpuint(flow.get_path_delay(), <, 110000);
}

/* Others on the line make pongs late, by less than shows a queue at first. When the delay is
 * measured anew because of that, it is at most as long as shows none. */
static void test_late_delay()
{
    const uint32_t delay = 10000;
    Exchanges path;
    RedStreamFlow &flow = path.flow;

    for (int i = 0; i < 20; ++i) {
        path.exchange(2500, delay);
    }
    while (strcmp(flow.get_phase(), "remeasuring") != 0) {
        path.exchange(2500, 4 * delay);
    }
    path.exchange(6, 8 * delay);
    g_assert_cmpstr(flow.get_phase(), ==, "steady");
    g_assert_cmpuint(flow.get_path_delay(), ==, 2 * delay + RED_STREAM_UNNOTICED);
}

/* A delay far longer than the main channel measured may be the queue of others: then no more is in
 * flight than with upstream. The end of that is an ack, for which no timer runs. */
static void doubtful_delay(uint32_t expected, uint32_t longest)
{
    for (const uint32_t delay : { longest, longest + 1 }) {
        const bool doubtful = delay > longest;
        Exchanges path;
        RedStreamFlow &flow = path.flow;

        flow.expect(250000, expected);
        for (int i = 0; i < 20; ++i) {
            path.exchange(25000, delay);
        }
        flow.probe_sent(path.now, PROBE_SIZE);
        g_assert_true(flow.may_send(true));
        g_assert_true(flow.may_send(false) == !doubtful);
        if (doubtful) {
            g_assert_cmpuint(flow.set_stopped(path.now, true), ==, 0);
        }
        /* the flow limit holds, too */
        send_some(&flow, path.now, true, 1000);
        g_assert_false(flow.may_send(true));
        g_assert_cmpuint(flow.set_stopped(path.now, true), >, 0);
    }
}

static void test_doubtful_delay()
{
    doubtful_delay(20000, 250000);
    doubtful_delay(100000, 2 * (2 * 100000 + RED_STREAM_UNNOTICED));
}

/* While a delay that would show a queue on the path as the main channel measured it is measured
 * anew, as little is in flight as causes none there. */
static void test_doubtful_delay_drains()
{
    const uint32_t expected = 20000, usual = 2 * expected + RED_STREAM_UNNOTICED;

    for (const uint32_t delay : { usual, usual + 1 }) {
        Exchanges path;
        RedStreamFlow &flow = path.flow;

        flow.expect(250000, expected);
        for (int i = 0; i < 20; ++i) {
            path.exchange(25000, delay);
        }
        path.now += RED_STREAM_FLOW_AGE - delay;
        path.exchange(25000, delay + delay / 8);
        g_assert_cmpstr(flow.get_phase(), ==, "remeasuring");
        flow.probe_sent(path.now, PROBE_SIZE);
        const uint32_t empty = delay > usual ? expected : delay;
        const uint64_t most = flow.get_rate() * empty / SECOND * 4 / 5;
        flow.sent(path.now, most - PROBE_SIZE - 1);
        g_assert_true(flow.may_send(true));
        flow.sent(path.now, 1);
        g_assert_false(flow.may_send(true));
    }
}

/* At first, what the path carries if the main channel has measured it well, and within bounds if
 * it has not. */
static void test_expected_start()
{
    static const struct {
        uint64_t rate;
        uint32_t delay;
        uint64_t limit;
    } cases[] = {
        { 0, 100000, RED_STREAM_FLOW_INITIAL },
        { 100000, 75000, 100000 / 10 },
        { 1, 0, RED_STREAM_FLOW_MIN },
        { UINT32_MAX, 100000, RED_STREAM_FLOW_INITIAL },
    };

    for (const auto &test : cases) {
        RedStreamFlow flow;

        flow.expect(test.rate, test.delay);
        g_assert_cmpuint(flow.limit(), ==, test.limit);
    }
}

/* Each exchange is a round trip: after the first, which the rate follows, three without growth. */
static void test_rounds()
{
    Exchanges path;
    int count = 0;

    while (path.flow.get_path_rate() == 0) {
        path.exchange(2500, 10000);
        g_assert_cmpint(++count, <, 100);
    }
    g_assert_cmpint(count, ==, 1 + 1 + RED_STREAM_FLOW_TRIES);
}

/* A probe with nothing in front of it measures the delay, also if the path became so slow,
 * little by little, that a BDP is no byte. */
static void test_remeasures_without_rate()
{
    Exchanges path;
    RedStreamFlow &flow = path.flow;

    for (uint64_t time = 500; time < SECOND; time *= 2) {
        for (int i = 0; i <= RED_STREAM_FLOW_ROUNDS; ++i) {
            path.exchange(6, time);
        }
    }
    g_assert_cmpstr(flow.get_phase(), ==, "steady");
    for (int i = 0; strcmp(flow.get_phase(), "remeasuring") != 0; ++i) {
        g_assert_cmpint(i, <, 100);
        path.exchange(6, SECOND);
    }
    g_assert_cmpuint(flow.get_rate() * flow.get_path_delay(), <, SECOND);
    path.exchange(6, SECOND);
    g_assert_cmpstr(flow.get_phase(), ==, "steady");
}

/* When the delay is measured, what was sent meanwhile makes it no longer. */
static void test_measured_once()
{
    Exchanges path;
    RedStreamFlow &flow = path.flow;

    for (int i = 0; i < 20; ++i) {
        path.exchange(2500, 10000);
    }
    while (strcmp(flow.get_phase(), "remeasuring") != 0) {
        path.exchange(2500, 100000);
    }
    const uint32_t first = flow.get_next_probe();
    flow.probe_sent(path.now, PROBE_SIZE);
    const uint32_t second = flow.get_next_probe();
    flow.probe_sent(path.now, PROBE_SIZE);
    const uint32_t delay = flow.get_path_delay();
    g_assert_true(flow.pong_received(path.now + delay, first));
    g_assert_cmpstr(flow.get_phase(), ==, "steady");
    g_assert_true(flow.pong_received(path.now + 3 * delay, second));
    g_assert_cmpuint(flow.get_path_delay(), ==, delay);
}

/* The limit is a BDP, and behind a probe as many bytes more as are before it. After a pause a
 * quarter of a BDP and what pongs have confirmed since, until that is a BDP. */
static void test_limit()
{
    Exchanges path;
    RedStreamFlow &flow = path.flow;

    /* more than there are probes in the ring */
    for (int i = 0; i < 200; ++i) {
        path.exchange(250000, 100000);
    }
    const uint64_t full = flow.limit();
    flow.sent(path.now, 10000);
    g_assert_cmpuint(flow.limit(), ==, full);
    const uint32_t id = flow.get_next_probe();
    flow.probe_sent(path.now, PROBE_SIZE);
    g_assert_cmpuint(flow.limit(), ==, full + 10000 + PROBE_SIZE);
    g_assert_true(flow.pong_received(path.now += 100000, id));

    path.now += RED_STREAM_FLOW_AGE + SECOND;
    path.exchange(full / 20, 100000);
    /* from the first probe on */
    uint64_t confirmed = PROBE_SIZE;
    while (strcmp(flow.get_phase(), "restarted") == 0) {
        g_assert_cmpuint(full / 4 + confirmed, <, full);
        g_assert_cmpuint(flow.limit(), ==, full / 4 + confirmed);
        path.exchange(full / 20, 100000);
        confirmed += full / 20 + PROBE_SIZE;
    }
    g_assert_cmpuint(full / 4 + confirmed, >=, full);
    g_assert_cmpuint(flow.limit(), ==, full);

    /* to the byte */
    path.now += RED_STREAM_FLOW_AGE + SECOND;
    path.exchange(1, 100000);
    path.exchange(full - full / 4 - 2 * PROBE_SIZE, 100000);
    g_assert_cmpstr(flow.get_phase(), ==, "steady");
}

/* Round trips of 2 and 60 ms in turn, all pongs of which come at once: the limit is more than two
 * BDPs, but not after a pause. */
static void test_bunches_after_pause()
{
    RedStreamFlow flow;
    std::vector<uint32_t> ids;
    uint64_t now = 1;

    for (int i = 0; i < 200; ++i) {
        ids.clear();
        send_some(&flow, now, false, 1000, &ids);
        now += i % 2 ? 60000 : 2000;
        for (uint32_t id : ids) {
            g_assert_true(flow.pong_received(now, id));
        }
    }
    g_assert_cmpstr(flow.get_phase(), ==, "steady");
    const uint64_t full = flow.limit();
    const uint32_t id = flow.get_next_probe();
    flow.probe_sent(now, PROBE_SIZE);
    g_assert_cmpuint(flow.limit(), >, 2 * full);
    g_assert_true(flow.pong_received(now += 2000, id));

    now += RED_STREAM_FLOW_AGE + 1;
    flow.probe_sent(now, PROBE_SIZE);
    g_assert_cmpstr(flow.get_phase(), ==, "restarted");
    g_assert_cmpuint(flow.limit(), <, full);

    /* the path may be another one, without jitter */
    for (int i = 0; i < 20; ++i) {
        ids.clear();
        send_some(&flow, now, false, 1000, &ids);
        for (uint32_t sent : ids) {
            now += 200;
            flow.pong_received(now, sent);
        }
    }
    g_assert_cmpstr(flow.get_phase(), ==, "steady");
    const uint64_t now_full = flow.limit();
    flow.probe_sent(now, PROBE_SIZE);
    g_assert_cmpuint(flow.limit(), <=, 2 * now_full);
}

/* A message as large as a BDP counts as a whole, and has no pace of its own. With as much in flight
 * as the limit says sending stops. */
static void test_at_limit()
{
    Exchanges path;
    RedStreamFlow &flow = path.flow;

    for (int i = 0; i < 20; ++i) {
        path.exchange(250000, 100000);
    }
    const uint64_t full = flow.limit();
    flow.expect(1, 0);
    flow.sent(path.now, 10000);
    flow.probe_sent(path.now, PROBE_SIZE);
    flow.sent(path.now, full);
    g_assert_cmpuint(flow.get_pace(), ==, 0);
    g_assert_cmpuint(flow.bytes_in_flight(), ==, flow.limit());
    g_assert_false(flow.may_send(false));
    flow.sent(path.now, full + 1);
    g_assert_cmpuint(flow.get_pace(), ==, flow.get_rate());
    g_assert_cmpuint(flow.bytes_in_flight(), ==, flow.limit() + full / 2);
}

/* A rate is old after RED_STREAM_FLOW_AGE, and no earlier. */
static void test_old_rate()
{
    for (const uint32_t more : { 0, 1 }) {
        Exchanges path;

        for (int i = 0; i < 20; ++i) {
            path.exchange(250000, 100000);
        }
        path.flow.sent(path.now + RED_STREAM_FLOW_AGE + more, 1);
        g_assert_cmpstr(path.flow.get_phase(), ==, more ? "restarted" : "steady");
    }
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

    flow.expect(200000, 0);
    simulation.send(Sizes(2000, 300), 0);
    g_assert_cmpuint(flow.get_pace(), ==, 0);
    const uint64_t rate = flow.get_rate();
    g_assert_cmpuint(rate, >, 200000);
    flow.sent(simulation.now, 1000000);
    g_assert_cmpuint(flow.get_pace(), ==, rate);

    /* a client that does not read makes the path no slower */
    flow.expect(500000, 0);
    g_assert_cmpuint(flow.get_pace(), ==, 500000);

    /* nor is anything held up for one that does not answer */
    time_out(&flow, simulation.now);
    g_assert_cmpuint(flow.get_pace(), ==, 0);
}

static void test_pace_ends()
{
    RedStreamFlow flow;

    flow.expect(200000, 0);
    g_assert_cmpuint(flow.get_pace(), ==, 0);
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

/* The pipe was empty once, as that of any desktop: the rate of a path that becomes slower later is
 * found all the same. */
static void test_slower_after_pause()
{
    /* fewer bytes than RED_STREAM_FLOW_INITIAL fill it, so no single queue shows that */
    Simulation simulation({ mbit, 100000, 0 });

    simulation.send(text(5000), 0);
    simulation.idle(SECOND);
    /* nothing is in flight now */
    simulation.idle(SECOND);
    simulation.send(text(5000), 0);
    simulation.path.rate /= 5;
    /* not only when the delay is old */
    simulation.send(text(1000), 0);
    g_assert_cmpuint(simulation.flow.get_rate(), <, simulation.path.rate * 12 / 10);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream-flow/unexpected-pongs", test_unexpected_pongs);
    g_test_add_func("/server/stream-flow/never-answered", test_never_answered);
    g_test_add_func("/server/stream-flow/probe-timeout", test_probe_timeout);
    g_test_add_func("/server/stream-flow/no-later-than-upstream", test_no_later_than_upstream);
    g_test_add_func("/server/stream-flow/timeout", test_timeout);
    g_test_add_func("/server/stream-flow/overtaken", test_overtaken);
    g_test_add_func("/server/stream-flow/busy", test_busy);
    g_test_add_func("/server/stream-flow/restart", test_restart);
    g_test_add_func("/server/stream-flow/delay-behind-image", test_delay_behind_image);
    g_test_add_func("/server/stream-flow/large-message-while-growing",
                    test_large_message_while_growing);
    g_test_add_func("/server/stream-flow/pace", test_pace);
    g_test_add_func("/server/stream-flow/pace-ends", test_pace_ends);
    g_test_add_func("/server/stream-flow/empty-pipe", test_empty_pipe);
    g_test_add_func("/server/stream-flow/late-delay", test_late_delay);
    g_test_add_func("/server/stream-flow/doubtful-delay", test_doubtful_delay);
    g_test_add_func("/server/stream-flow/doubtful-delay-drains", test_doubtful_delay_drains);
    g_test_add_func("/server/stream-flow/expected-start", test_expected_start);
    g_test_add_func("/server/stream-flow/rounds", test_rounds);
    g_test_add_func("/server/stream-flow/remeasures-without-rate", test_remeasures_without_rate);
    g_test_add_func("/server/stream-flow/measured-once", test_measured_once);
    g_test_add_func("/server/stream-flow/limit", test_limit);
    g_test_add_func("/server/stream-flow/bunches-after-pause", test_bunches_after_pause);
    g_test_add_func("/server/stream-flow/never-stuck", test_never_stuck);
    g_test_add_func("/server/stream-flow/start", test_start);
    g_test_add_func("/server/stream-flow/queue-at-start", test_queue_at_start);
    g_test_add_func("/server/stream-flow/frozen-for-long", test_frozen_for_long);
    g_test_add_func("/server/stream-flow/not-overtaken", test_not_overtaken);
    g_test_add_func("/server/stream-flow/rate-after-pause", test_rate_after_pause);
    g_test_add_func("/server/stream-flow/no-time", test_no_time);
    g_test_add_func("/server/stream-flow/old-delay", test_old_delay);
    g_test_add_func("/server/stream-flow/longer-delay", test_longer_delay);
    g_test_add_func("/server/stream-flow/queued", test_queued);
    g_test_add_func("/server/stream-flow/at-limit", test_at_limit);
    g_test_add_func("/server/stream-flow/old-rate", test_old_rate);
    g_test_add_func("/server/stream-flow/growth", test_growth);
    g_test_add_func("/server/stream-flow/queue-with-empty-pipe", test_queue_with_empty_pipe);
    g_test_add_func("/server/stream-flow/remeasuring-keeps-rate", test_remeasuring_keeps_rate);
    g_test_add_func("/server/stream-flow/near", test_near);
    g_test_add_func("/server/stream-flow/slower-after-pause", test_slower_after_pause);

    return g_test_run();
}
