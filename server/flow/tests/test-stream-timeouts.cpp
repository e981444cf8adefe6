/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* RedStreamFlow on paths on which probes time out, against upstream's limit on the same path: a
 * relay that takes megabytes, behind it a path that is slow, becomes slow or long, or stands
 * still, and a client that acks and answers in order. An event simulation without socket and
 * clock, so every figure is the same on every machine. */
#include <config.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include <glib.h>

#include "red-stream-flow.h"

#define PROBE_SIZE (6 + 12)
#define ACK_INTERVAL 20
/* bytes that the relay takes beyond those that the path has carried */
#define RELAY_BUFFER (4 * 1024 * 1024)
/* microseconds after which catch-up drops what waits in the pipe */
#define TOO_OLD 150000
#define SECOND UINT64_C(1000000)

namespace {

typedef std::function<uint64_t(uint64_t)> AtTime;

/* Functions of time in microseconds. */
struct Path {
    /* bytes per second */
    AtTime rate;
    /* of a round trip */
    AtTime delay;
    /* when what would arrive at the time does arrive; and of answers, null: at the time */
    AtTime arrival;
    AtTime answer;
};

struct Message {
    uint32_t size;
    uint64_t time;
};

class Channel
{
public:
    Channel(const Path &init_path, bool init_by_flow): path(init_path), by_flow(init_by_flow) {}

    /* What is drawn: a message of @size(n) bytes each @interval, or, 0, whenever one may be
     * sent. */
    void start(uint64_t interval, uint32_t (*size)(unsigned n))
    {
        endless = interval ? nullptr : size;
        events.insert({ now, [=] { interval ? draw(interval, size) : push(); } });
    }

    void run(uint64_t end)
    {
        while (!events.empty() && events.begin()->first <= end) {
            const std::function<void()> event = events.begin()->second;

            now = events.begin()->first;
            events.erase(events.begin());
            event();
        }
        now = end;
    }

    /* Of the messages sent since the last call: how long the @percentile one was in the network. */
    uint64_t network_time(unsigned percentile)
    {
        std::sort(times.begin(), times.end());
        return times.empty() ? 0 : times[(times.size() - 1) * percentile / 100];
    }
    void forget() { times.clear(); most_bytes = 0; }

    /* Both send over the line of @other, which lives longer. */
    void share(Channel *other) { line_free = other->line_free; }
    /* The main channel has measured the path as it is. */
    /* as by RedSendControl, from whole milliseconds */
    void expect() { flow.expect(path.rate(0), path.delay(0) / 1000 * 1000 + 999); }

    /* relays, path and client; and the most since forget() */
    uint64_t bytes_in_network()
    {
        while (!handled.empty() && handled.front().time <= now) {
            bytes -= handled.front().size;
            handled.pop_front();
        }
        return bytes;
    }
    uint64_t get_most_bytes() const { return most_bytes; }

    Path path;
    RedStreamFlow flow;
    uint64_t now = 1;
    bool answers = true;
    uint64_t carried = 0;

private:
    void draw(uint64_t interval, uint32_t (*size)(unsigned n))
    {
        while (!pipe.empty() && now - pipe.front().time > TOO_OLD) {
            pipe.pop_front();
        }
        pipe.push_back({ size(drawn++), now });
        events.insert({ now + interval, [=] { draw(interval, size); } });
        push();
    }

    bool may_send() const
    {
        const bool below_ack_limit = messages - acked <= 2 * ACK_INTERVAL;

        return by_flow ? flow.may_send(below_ack_limit) : below_ack_limit;
    }

    bool is_blocked() const
    {
        return *line_free > now && (*line_free - now) * path.rate(now) / SECOND > RELAY_BUFFER;
    }

    void push()
    {
        while (!is_blocked()) {
            if (by_flow && flow.wants_probe()) {
                const uint32_t id = flow.get_next_probe();

                flow.probe_sent(now, PROBE_SIZE);
                answer(transmit(PROBE_SIZE), [=] { flow.pong_received(now, id); });
                continue;
            }
            if (!may_send() || (pipe.empty() && !endless)) {
                break;
            }
            const uint32_t size = endless ? endless(drawn++) : pipe.front().size;

            if (!endless) {
                pipe.pop_front();
            }
            flow.sent(now, size);
            times.push_back(transmit(size) - now);
        }
        most_bytes = std::max(most_bytes, bytes_in_network());
        if (is_blocked()) {
            wake_at(now + SECOND / 100);
        } else if (by_flow) {
            if (pipe.empty() && !endless) {
                flow.starved();
            }
            start_timer(flow.set_stopped(now, !may_send()));
        }
    }

    void wake_at(uint64_t time)
    {
        if (!wakes) {
            wakes = true;
            events.insert({ time, [this] { wakes = false; push(); } });
        }
    }

    void start_timer(uint32_t ms)
    {
        if (ms) {
            events.insert({ now + ms * 1000, [this] {
                bool timed_out;

                start_timer(flow.timer(now, &timed_out));
                if (timed_out) {
                    push();
                }
            } });
        }
    }

    /* Returns when the client has handled the message. */
    uint64_t transmit(uint32_t size)
    {
        *line_free = std::max(*line_free, now);
        for (uint32_t left = size; left > 0; ) {
            const uint64_t rate = path.rate(*line_free);
            const uint32_t part = std::min<uint64_t>(left, std::max<uint64_t>(rate / 1000, 1));

            *line_free += (part * SECOND + rate - 1) / rate;
            left -= part;
        }
        const uint64_t arrival = path.arrival(*line_free + path.delay(*line_free) / 2);

        handled_time = std::max(handled_time, arrival);
        handled.push_back({ size, handled_time });
        bytes += size;
        carried += size;
        if (++messages % ACK_INTERVAL == 0) {
            answer(handled_time, [this] {
                acked += ACK_INTERVAL;
                flow.acked(now, ACK_INTERVAL);
            });
        }
        return handled_time;
    }

    /* At @time the client sends an answer, which does @action. */
    void answer(uint64_t time, const std::function<void()> &action)
    {
        if (answers) {
            time += path.delay(time) / 2;
            answer_time = std::max(answer_time, path.answer ? path.answer(time) : time);
            events.insert({ answer_time, [=] { action(); push(); } });
        }
    }

    const bool by_flow;
    std::multimap<uint64_t, std::function<void()>> events;
    std::deque<Message> pipe;
    uint32_t (*endless)(unsigned n) = nullptr;
    unsigned drawn = 0;
    uint64_t path_free = 0;
    uint64_t *line_free = &path_free;
    uint64_t handled_time = 0;
    uint64_t answer_time = 0;
    std::deque<Message> handled;
    uint64_t bytes = 0;
    uint64_t most_bytes = 0;
    uint32_t messages = 0;
    uint32_t acked = 0;
    bool wakes = false;
    std::vector<uint64_t> times;
};

} // namespace

static const uint64_t kbit = 1000 / 8;

static uint64_t in_time(uint64_t time)
{
    return time;
}

static AtTime always(uint64_t value)
{
    return [=](uint64_t) { return value; };
}

/* a desktop: small messages, some larger ones, an image of 60 KB among 200 */
static uint32_t desktop(unsigned n)
{
    return n % 200 == 0 ? 60000 : n % 10 == 0 ? 3000 : 100;
}

static uint32_t photos(unsigned n)
{
    return n % 40 == 0 ? 200000 : 200;
}

static uint32_t many_photos(unsigned n)
{
    return n % 20 == 0 ? 200000 : 2000;
}

static uint32_t images(unsigned n)
{
    return n % 100 == 0 ? 60000 : n % 10 == 0 ? 4000 : 100;
}

static uint32_t small(unsigned)
{
    return 240;
}

static uint32_t large(unsigned)
{
    return 4000;
}

/* An image takes longer than the probe timeout, at the guest's pace or as fast as possible; the
 * path becomes slower while the pipe is mostly empty; or the path stands still now and then, as
 * Wi-Fi does. In each case probes time out, and the queue is no longer than with upstream's
 * limit. */
static void test_no_more_than_upstream()
{
    const AtTime stalls = [](uint64_t time) {
        const uint64_t round = 10 * SECOND, begin = time / round * round;
        const uint64_t length = SECOND / 4 + time / round * 37 % 13 * (SECOND / 20);

        return std::max(time, time < begin + length ? begin + length : 0);
    };
    const auto falls = [](uint64_t time) { return (time < 20 * SECOND ? 100000 : 500) * kbit; };
    const struct {
        const char *name;
        Path path;
        uint64_t interval;
        uint32_t (*size)(unsigned);
    } cases[] = {
        { "photos", { always(1000 * kbit), always(100000), in_time, nullptr }, 50000, photos },
        { "many photos", { always(500 * kbit), always(20000), in_time, nullptr }, 0, many_photos },
        { "falls", { falls, always(20000), in_time, nullptr }, 2000, desktop },
        { "falls, long", { falls, always(100000), in_time, nullptr }, 2000, desktop },
        { "stalls", { always(2000 * kbit), always(40000), stalls, nullptr }, 0, images },
    };

    for (const auto &test : cases) {
        Channel by_upstream(test.path, false), by_flow(test.path, true);

        for (Channel *channel : { &by_upstream, &by_flow }) {
            channel->start(test.interval, test.size);
            channel->run(25 * SECOND);
            channel->forget();
            channel->run(200 * SECOND);
        }
        g_test_message("%s: p50 %" G_GUINT64_FORMAT " ms, upstream %" G_GUINT64_FORMAT "; p95 %"
                       G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT "; bytes %" G_GUINT64_FORMAT ", %"
                       G_GUINT64_FORMAT "; %u timeouts", test.name, by_flow.network_time(50) / 1000,
                       by_upstream.network_time(50) / 1000, by_flow.network_time(95) / 1000,
                       by_upstream.network_time(95) / 1000, by_flow.get_most_bytes(),
                       by_upstream.get_most_bytes(), by_flow.flow.get_probe_timeouts());
        g_assert_cmpuint(by_flow.flow.get_probe_timeouts(), >, 0);
        for (unsigned percentile : { 50, 95 }) {
            g_assert_cmpuint(by_flow.network_time(percentile), <=,
                             by_upstream.network_time(percentile) * 11 / 10 + SECOND / 100);
        }
        g_assert_cmpuint(by_flow.get_most_bytes(), <=, by_upstream.get_most_bytes() * 11 / 10);
        /* and it is no slower for that */
        g_assert_cmpuint(by_flow.carried, >=, by_upstream.carried * 9 / 10);
    }
}

/* Under load a path becomes slower by 50, so that probes time out while the delay is to be
 * measured anew. The estimate follows, and the queue is that of the slower path. */
static void test_rate_follows()
{
    for (const uint64_t delay : { 20000, 100000 }) {
        const auto falls = [](uint64_t time) {
            return (time < 20 * SECOND ? 100000 : 2000) * kbit;
        };
        Channel channel({ falls, always(delay), in_time, nullptr }, true);

        channel.start(0, images);
        channel.run(20 * SECOND);
        g_assert_cmpuint(channel.flow.get_rate(), >, 90000 * kbit);
        channel.run(50 * SECOND);
        g_assert_cmpuint(channel.flow.get_probe_timeouts(), >, 0);
        g_assert_cmpuint(channel.flow.get_rate(), <, 2200 * kbit);
        channel.forget();
        channel.run(60 * SECOND);
        g_assert_cmpuint(channel.get_most_bytes(), <, 2000 * kbit * delay / SECOND + 128 * 1024);
        g_assert_cmpuint(channel.network_time(50), <, SECOND / 2);
    }
}

/* A path becomes much longer than the probe timeout. It is full again after some round trips,
 * and the limit does not stay that of the longer path when it is short again. */
static void test_delay_follows()
{
    for (const auto size : { images, many_photos }) {
        const auto longer = [](uint64_t time) {
            return uint64_t{time < 20 * SECOND || time > 60 * SECOND ? 20000u : 500000u};
        };
        Channel channel({ always(20000 * kbit), longer, in_time, nullptr }, true);

        channel.start(0, size);
        channel.run(20 * SECOND);
        const uint64_t usual = channel.network_time(95);
        channel.run(40 * SECOND);
        const uint64_t before = channel.carried;
        channel.run(60 * SECOND);
        g_assert_cmpuint(channel.carried - before, >, 20 * 20000 * kbit * 9 / 10);
        channel.run(150 * SECOND);
        channel.forget();
        channel.run(160 * SECOND);
        g_test_message("%" G_GUINT64_FORMAT " us, before %" G_GUINT64_FORMAT,
                       channel.network_time(95), usual);
        g_assert_cmpuint(channel.network_time(95), <=, 3 * usual);
    }
}

/* A path becomes somewhat longer: by more than the BDP allows for, and by less than shows a queue.
 * It is full again after some round trips, also if it is as short as before for a moment now and
 * then. */
static void test_delay_follows_little()
{
    const struct {
        uint32_t before, after;
    } delays[] = { { 2000, 20000 }, { 20000, 35000 }, { 40000, 80000 }, { 100000, 200000 } };
    uint32_t (*const sizes[])(unsigned) = {
        small, large, images,
    };

    for (const auto &test : delays) {
        for (const auto size : sizes) {
            for (const uint64_t again : { uint64_t{0}, SECOND / 10 }) {
                const auto longer = [=](uint64_t time) {
                    const bool is_short = time < 10 * SECOND || time % (10 * SECOND) < again;

                    return uint64_t{is_short ? test.before : test.after};
                };
                Channel channel({ always(20000 * kbit), longer, in_time, nullptr }, true);

                channel.start(0, size);
                channel.run(15 * SECOND);
                channel.carried = 0;
                channel.run(35 * SECOND);
                g_test_message("%u to %u us, short for %" G_GUINT64_FORMAT " us: %" G_GUINT64_FORMAT
                               " %%", test.before, test.after, again,
                               channel.carried * 100 / (20 * 20000 * kbit));
                g_assert_cmpuint(channel.carried, >=, 20 * 20000 * kbit * 8 / 10);
            }
        }
    }
}

/* Each time another number below @below, but the same in each run. */
static uint64_t any(uint64_t time, uint64_t below)
{
    time = (time ^ time >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    time = (time ^ time >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (time ^ time >> 32) % below;
}

/* The delay varies, and the rate by a half, as on Wi-Fi. */
static void test_varies()
{
    for (const uint64_t delay : { 2000, 20000, 100000 }) {
        for (const uint64_t most : { 5000, 20000 }) {
            const auto rate = [](uint64_t time) {
                return 20000 * kbit * (50 + any(time / 50000, 101)) / 100;
            };
            const auto later = [=](uint64_t time) { return time + any(time / 5000, most); };
            Channel channel({ rate, always(delay), later, nullptr }, true);

            channel.start(0, [](unsigned) { return 1400u; });
            channel.run(10 * SECOND);
            channel.forget();
            channel.carried = 0;
            channel.run(60 * SECOND);
            g_test_message("%" G_GUINT64_FORMAT " us and up to %" G_GUINT64_FORMAT ": %"
                           G_GUINT64_FORMAT " %%, p95 %" G_GUINT64_FORMAT " us", delay, most,
                           channel.carried * 100 / (50 * 20000 * kbit), channel.network_time(95));
            g_assert_cmpuint(channel.carried, >=, 50 * 20000 * kbit * 2 / 3);
            g_assert_cmpuint(channel.network_time(95), <=, 2 * delay + 2 * most + 50000);
        }
    }
}

/* Most round trips take many times as long as the shortest: each packet is delivered up to 60 ms
 * late, in order. Nothing but the bunches tells that from a queue. The path is filled well, and
 * no less than by upstream's limit, and the queue is shorter than another such delay. Both
 * end with the jitter. */
static void test_jitter()
{
    uint32_t (*const sizes[])(unsigned) = {
        small, large, images,
    };
    const uint64_t packet = 1448 * SECOND / (20000 * kbit);
    const auto later = [=](uint64_t time) {
        return time < 60 * SECOND ? time + any(time / packet, 60000) : time;
    };

    for (const bool answers : { false, true }) {
        for (const auto size : sizes) {
            const Path path = { always(20000 * kbit), always(2000), in_time, nullptr };
            Channel by_upstream(path, false), by_flow(path, true);

            for (Channel *channel : { &by_upstream, &by_flow }) {
                (answers ? channel->path.answer : channel->path.arrival) = later;
                channel->start(0, size);
                channel->run(10 * SECOND);
                channel->forget();
                channel->carried = 0;
                channel->run(60 * SECOND);
            }
            g_test_message("%s late: %" G_GUINT64_FORMAT " %%, upstream %" G_GUINT64_FORMAT
                           ", p95 %" G_GUINT64_FORMAT " us", answers ? "answers" : "data",
                           by_flow.carried * 100 / (50 * 20000 * kbit),
                           by_upstream.carried * 100 / (50 * 20000 * kbit),
                           by_flow.network_time(95));
            g_assert_cmpuint(by_flow.carried, >=, 50 * 20000 * kbit * 6 / 10);
            g_assert_cmpuint(by_flow.carried, >=, by_upstream.carried * 9 / 10);
            g_assert_cmpuint(by_flow.network_time(95), <=, 2000 + 2 * 60000);
            by_flow.run(65 * SECOND);
            by_flow.forget();
            by_flow.run(75 * SECOND);
            g_test_message("later p95 %" G_GUINT64_FORMAT " us", by_flow.network_time(95));
            g_assert_cmpuint(by_flow.network_time(95), <=, 45000);
        }
    }
}

/* A client that pauses now and then gets a bunch each time. That is no reason to have one in the
 * network at all times. */
static void test_pauses()
{
    for (const uint64_t delay : { 2000, 20000 }) {
        const auto pauses = [](uint64_t time) {
            return std::max(time, time / 200000 * 200000 + 50000);
        };
        Channel channel({ always(20000 * kbit), always(delay), pauses, nullptr }, true);

        channel.start(0, [](unsigned) { return 240u; });
        channel.run(10 * SECOND);
        channel.forget();
        channel.carried = 0;
        channel.run(30 * SECOND);
        g_test_message("%" G_GUINT64_FORMAT " us: %" G_GUINT64_FORMAT " %%, p50 %" G_GUINT64_FORMAT
                       " us", delay, channel.carried * 100 / (20 * 20000 * kbit),
                       channel.network_time(50));
        g_assert_cmpuint(channel.carried, >=, 20 * 20000 * kbit * 3 / 4);
        g_assert_cmpuint(channel.network_time(50), <=, delay * 5 / 4 + 10000);
    }
}

/* Five channels over one line. */
class SharedLine
{
public:
    SharedLine(const Path &path, bool by_flow, uint32_t (*size)(unsigned n))
    {
        while (channels.size() < 5) {
            channels.emplace_back(path, by_flow);
            channels.back().share(&channels.front());
            channels.back().start(0, size);
        }
    }

    /* forgets what was before @begin */
    void run(uint64_t begin, uint64_t end)
    {
        for (Channel &channel : channels) {
            channel.forget();
            channel.carried = 0;
        }
        for (uint64_t time = begin; time < end; time += 100) {
            for (Channel &channel : channels) {
                channel.run(time);
            }
        }
    }

    uint64_t carried() const
    {
        return std::accumulate(channels.begin(), channels.end(), uint64_t{0},
                               [](uint64_t sum, const Channel &c) { return sum + c.carried; });
    }

    /* of the channel that is delayed most */
    uint64_t network_time(unsigned percentile)
    {
        uint64_t longest = 0;

        for (Channel &channel : channels) {
            longest = std::max(longest, channel.network_time(percentile));
        }
        return longest;
    }

    std::deque<Channel> channels;
};

/* If each channel took the queue of the others for a longer path, the queue would grow for minutes
 * (to 8 s in the first case). It is no longer than with upstream's limit. */
static void test_shared_line()
{
    static const struct {
        uint64_t rate, delay;
        uint32_t (*size)(unsigned n);
    } cases[] = {
        { 1000 * kbit, 100000, small },
        { 1000 * kbit, 20000, small },
        { 20000 * kbit, 20000, large },
        { 20000 * kbit, 500, large },
    };

    for (const auto &test : cases) {
        const Path path = { always(test.rate), always(test.delay), in_time, nullptr };
        SharedLine by_upstream(path, false, test.size), by_flow(path, true, test.size);

        for (Channel &channel : by_flow.channels) {
            channel.expect();
        }
        for (SharedLine *line : { &by_upstream, &by_flow }) {
            line->run(0, 100 * SECOND);
            line->run(100 * SECOND, 300 * SECOND);
        }
        g_test_message("%" G_GUINT64_FORMAT " B/s %" G_GUINT64_FORMAT " us: p50 %" G_GUINT64_FORMAT
                       " us, upstream %" G_GUINT64_FORMAT ", p95 %" G_GUINT64_FORMAT ", %"
                       G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT " %%", test.rate, test.delay,
                       by_flow.network_time(50), by_upstream.network_time(50),
                       by_flow.network_time(95), by_upstream.network_time(95),
                       by_flow.carried() * 100 / (200 * test.rate));
        g_assert_cmpuint(by_flow.network_time(50), <=, by_upstream.network_time(50));
        g_assert_cmpuint(by_flow.network_time(95), <=, by_upstream.network_time(95) * 11 / 10);
        g_assert_cmpuint(by_flow.carried(), >=, 200 * test.rate * 95 / 100);
    }
}

/* A path that became far longer, or that others fill, carries as much as it can; from 250 ms on
 * little less than with upstream, whose window has no probes in it. When that ends, it carries as
 * much as before. */
static void test_far_longer()
{
    for (const uint64_t delay : { 200000, 300000 }) {
        const auto longer = [=](uint64_t time) {
            return time < 20 * SECOND || time > 40 * SECOND ? 20000 : delay;
        };
        const Path path = { always(20000 * kbit), longer, in_time, nullptr };

        for (const auto size : { small, large }) {
            Channel by_upstream(path, false), by_flow(path, true);

            by_flow.expect();
            for (Channel *channel : { &by_upstream, &by_flow }) {
                channel->start(0, size);
                channel->run(22 * SECOND);
                channel->carried = 0;
                channel->run(40 * SECOND);
            }
            g_test_message("%" G_GUINT64_FORMAT " us: %" G_GUINT64_FORMAT " bytes, upstream %"
                           G_GUINT64_FORMAT, delay, by_flow.carried, by_upstream.carried);
            g_assert_cmpuint(by_flow.carried, >=, delay > 250000 ? by_upstream.carried * 3 / 4 :
                                                  18 * 20000 * kbit * 9 / 10);
            by_flow.run(42 * SECOND);
            by_flow.carried = 0;
            by_flow.run(52 * SECOND);
            g_assert_cmpuint(by_flow.carried, >=, 10 * 20000 * kbit * 9 / 10);
        }
    }
}

/* A new client on a slow path: until its rate is known, the first bytes do not wait for longer than
 * with upstream. */
static void test_slow_start()
{
    for (const uint64_t delay : { 20000, 100000 }) {
        const Path path = { always(250 * kbit), always(delay), in_time, nullptr };
        Channel by_upstream(path, false), by_flow(path, true);

        by_flow.expect();
        for (Channel *channel : { &by_upstream, &by_flow }) {
            channel->start(0, small);
            channel->run(SECOND);
        }
        g_test_message("p50 %" G_GUINT64_FORMAT " us, upstream %" G_GUINT64_FORMAT ", p95 %"
                       G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT, by_flow.network_time(50),
                       by_upstream.network_time(50), by_flow.network_time(95),
                       by_upstream.network_time(95));
        for (unsigned percentile : { 50, 95 }) {
            g_assert_cmpuint(by_flow.network_time(percentile), <=,
                             by_upstream.network_time(percentile));
        }
    }
}

/* The main channel was wrong, the path is far faster: the rate is found in two round trips more
 * than if it had measured nothing. */
static void test_wrong_expectation()
{
    for (const uint64_t delay : { 2000, 100000 }) {
        uint64_t found[2];

        for (const bool wrong : { false, true }) {
            Channel channel({ always(100000 * kbit), always(delay), in_time, nullptr }, true);

            channel.flow.expect(wrong ? 250 * kbit : 0, wrong ? delay : 0);
            channel.start(0, [](unsigned) { return 1400u; });
            while (channel.flow.get_rate() < 90000 * kbit) {
                g_assert_cmpuint(channel.now, <, 5 * SECOND);
                channel.run(channel.now + delay / 10);
            }
            found[wrong] = channel.now;
        }
        g_test_message("%" G_GUINT64_FORMAT " us: %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT,
                       delay, found[0], found[1]);
        g_assert_cmpuint(found[1], <=, found[0] + 2 * delay);
    }
}

/* Five channels over one line that delivers in bunches. Those of each grow with what all have in
 * flight: if the limits followed without a bound, the queue would grow until the relay is full. It
 * is longer by a bunch at most than if the limits did not follow, which is @usual (p95). */
static void test_bunches_of_all()
{
    static const struct {
        uint64_t bunch, delay, usual;
    } cases[] = {
        { 1, 2000, 158000 }, { 20000, 2000, 219000 }, { 50000, 2000, 299000 },
        { 50000, 20000, 290000 }, { 50000, 100000, 200000 },
    };

    for (const auto &test : cases) {
        const auto next = [=](uint64_t time) { return (time / test.bunch + 1) * test.bunch; };
        const Path path = { always(20000 * kbit), always(test.delay), next, nullptr };
        SharedLine line(path, true, small);

        line.run(0, 10 * SECOND);
        line.run(10 * SECOND, 30 * SECOND);
        const uint64_t carried = line.carried(), longest = line.network_time(95);
        g_test_message("each %" G_GUINT64_FORMAT " us, %" G_GUINT64_FORMAT " us: %" G_GUINT64_FORMAT
                       " %%, p95 %" G_GUINT64_FORMAT " us, usual %" G_GUINT64_FORMAT, test.bunch,
                       test.delay, carried * 100 / (20 * 20000 * kbit), longest, test.usual);
        g_assert_cmpuint(carried, >=, 20 * 20000 * kbit * 9 / 10);
        g_assert_cmpuint(longest, <=, test.usual + test.bunch + SECOND / 100);
    }
}

/* Wi-Fi and mobile networks deliver in bunches, what the client gets or what it answers. The path
 * is full all the same, with little more in the network than comes in a bunch. */
static void test_bunches()
{
    for (const uint64_t bunch : { 5000, 20000, 50000, 100000, 200000 }) {
        const auto next = [=](uint64_t time) { return (time / bunch + 1) * bunch; };

        for (const bool answers : { false, true }) {
            Channel channel({ always(50000 * kbit), always(10000), in_time, nullptr }, true);

            (answers ? channel.path.answer : channel.path.arrival) = next;
            channel.start(0, [](unsigned) { return 240u; });
            channel.run(10 * SECOND);
            channel.forget();
            channel.carried = 0;
            channel.run(30 * SECOND);
            g_test_message("%s each %" G_GUINT64_FORMAT " us: %" G_GUINT64_FORMAT " of %"
                           G_GUINT64_FORMAT " bytes, most %" G_GUINT64_FORMAT " in the network, "
                           "%u timeouts", answers ? "answers" : "data", bunch, channel.carried,
                           20 * 50000 * kbit, channel.get_most_bytes(),
                           channel.flow.get_probe_timeouts());
            g_assert_cmpuint(channel.carried, >=, 20 * 50000 * kbit * 9 / 10);
            g_assert_cmpuint(channel.get_most_bytes(), <=,
                             50000 * kbit * (10000 + 2 * bunch) / SECOND + 160 * 1024);
        }
    }
}

/* A client that stands still for a minute, as a laptop that sleeps, is sent little more than one
 * BDP, and soon all that the path carries when it goes on. */
static void test_stands_still()
{
    for (const uint64_t rate : { 20000 * kbit, 1000000 * kbit }) {
        for (const uint64_t delay : { 20000, 100000, 500000 }) {
            const auto sleeps = [](uint64_t time) {
                return time > 20 * SECOND && time < 80 * SECOND ? 80 * SECOND : time;
            };
            Channel channel({ always(rate), always(delay), sleeps, nullptr }, true);

            channel.start(0, [](unsigned) { return 1400u; });
            channel.run(20 * SECOND);
            channel.forget();
            channel.run(79 * SECOND);
            g_test_message("%" G_GUINT64_FORMAT " B/s %" G_GUINT64_FORMAT " us: %" G_GUINT64_FORMAT
                           " bytes", rate, delay, channel.get_most_bytes());
            g_assert_cmpuint(channel.get_most_bytes(), <=,
                             rate * (delay * 3 / 2 + 5000) / SECOND + 128 * 1024);
            channel.run(85 * SECOND);
            channel.carried = 0;
            channel.run(90 * SECOND);
            g_assert_cmpuint(channel.carried, >=, 5 * rate * 9 / 10);
        }
    }
}

/* A client that stops answering is sent no more than with upstream's limit, however long it
 * takes: of large messages, too, of which flow control had allowed less. When it answers again,
 * flow control goes on. */
static void test_frozen()
{
    Channel by_upstream({ always(100000 * kbit), always(20000), in_time, nullptr }, false);
    Channel by_flow({ always(100000 * kbit), always(20000), in_time, nullptr }, true);

    for (Channel *channel : { &by_upstream, &by_flow }) {
        channel->start(0, [](unsigned) { return 70000u; });
        channel->run(5 * SECOND);
        channel->answers = false;
        channel->run(6 * SECOND);
        channel->carried = 0;
        channel->run(60 * SECOND);
    }
    g_assert_cmpstr(by_flow.flow.get_phase(), ==, "timeout");
    g_assert_cmpuint(by_flow.flow.get_probe_timeouts(), ==, 1);
    g_assert_cmpuint(by_flow.carried, <=, by_upstream.carried);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream-timeouts/no-more-than-upstream", test_no_more_than_upstream);
    g_test_add_func("/server/stream-timeouts/rate-follows", test_rate_follows);
    g_test_add_func("/server/stream-timeouts/delay-follows", test_delay_follows);
    g_test_add_func("/server/stream-timeouts/delay-follows-little", test_delay_follows_little);
    g_test_add_func("/server/stream-timeouts/varies", test_varies);
    g_test_add_func("/server/stream-timeouts/jitter", test_jitter);
    g_test_add_func("/server/stream-timeouts/pauses", test_pauses);
    g_test_add_func("/server/stream-timeouts/bunches", test_bunches);
    g_test_add_func("/server/stream-timeouts/bunches-of-all", test_bunches_of_all);
    g_test_add_func("/server/stream-timeouts/shared-line", test_shared_line);
    g_test_add_func("/server/stream-timeouts/far-longer", test_far_longer);
    g_test_add_func("/server/stream-timeouts/slow-start", test_slow_start);
    g_test_add_func("/server/stream-timeouts/wrong-expectation", test_wrong_expectation);
    g_test_add_func("/server/stream-timeouts/stands-still", test_stands_still);
    g_test_add_func("/server/stream-timeouts/frozen", test_frozen);

    return g_test_run();
}
