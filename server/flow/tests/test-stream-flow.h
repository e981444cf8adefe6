/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* RedStreamFlow against a simulated path and client: TCP in slow start, a line with a
 * rate, a delay and an endless queue, a client that decodes one message after the other
 * and pongs probes. No socket and no clock, so every figure below is the same on
 * every machine. */
#ifndef TEST_STREAM_FLOW_H_
#define TEST_STREAM_FLOW_H_

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <numeric>
#include <vector>

#include <glib.h>

#include "red-stream-flow.h"

#include "push-visibility.h"

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

/* What the channel does while the limit has stopped it: RedStreamFlow's timer runs. */
class StopTimer
{
public:
    explicit StopTimer(RedStreamFlow *init_flow): flow(init_flow) {}

    void stopped(uint64_t now) { start(now, flow->set_stopped(now, true)); }
    void goes_on() { flow->set_stopped(0, false); }
    /* when it fires, UINT64_MAX: it does not run */
    uint64_t time() const { return end; }
    /* It fires at @now, which is not before time(). */
    void fire(uint64_t now)
    {
        bool timed_out;

        end = UINT64_MAX;
        start(now, flow->timer(now, &timed_out));
    }

private:
    void start(uint64_t now, uint32_t ms) { end = ms ? now + ms * 1000 : end; }

    RedStreamFlow *const flow;
    uint64_t end = UINT64_MAX;
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
        take_answers(end);
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

    /* when the next pong or ack comes */
    uint64_t next_answer() const
    {
        return std::min(pongs_coming.empty() ? UINT64_MAX : pongs_coming.front().time,
                        acks_coming.empty() ? UINT64_MAX : acks_coming.front());
    }

    /* Pongs and acks that come until @end. */
    void take_answers(uint64_t end)
    {
        while (next_answer() <= end) {
            now = std::max(now, next_answer());
            if (!acks_coming.empty() && acks_coming.front() == next_answer()) {
                acks_coming.pop_front();
                acked_messages += ACK_INTERVAL;
                flow.acked(now, ACK_INTERVAL);
                g_assert_cmpstr(flow.get_phase(), !=, "off");
            } else {
                const uint32_t id = pongs_coming.front().id;

                pongs_coming.pop_front();
                g_assert_true(flow.pong_received(now, id));
            }
        }
    }

    void wait_until_allowed()
    {
        take_answers(now);
        while (!flow.may_send(client_count - acked_messages <= 2 * ACK_INTERVAL)) {
            timer.stopped(now);
            /* a stop without an answer on its way would last for ever */
            g_assert_cmpuint(next_answer(), !=, UINT64_MAX);
            if (timer.time() < next_answer()) {
                now = std::max(now, timer.time());
                timer.fire(now);
            } else {
                take_answers(next_answer());
            }
        }
        timer.goes_on();
    }

    /* The end of a message is taken when the socket has room for it. */
    void wait_for_socket()
    {
        const uint64_t room = (path.rate * path.delay / SECOND + socket) * SECOND / path.rate;

        if (line_free / 1000 > now + room) {
            const uint64_t end = line_free / 1000 - room;

            take_answers(end);
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
    StopTimer timer{&flow};
    std::deque<Pong> pongs_coming;
    uint64_t client_count = 0;
    uint64_t acked_messages = 0;
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

static const uint64_t mbit = 1000000 / 8;

static const Path paths[] = {
    { 1000 * mbit, 200, 0 },
    { 100 * mbit, 10000, 0 },
    { 50 * mbit, 100000, 0 },
    { 20 * mbit, 40000, 0 },
    { 2 * mbit, 100000, 0 },
};

static inline uint64_t total(const Sizes &sizes)
{
    uint64_t bytes = 0;

    for (uint32_t size : sizes) {
        bytes += size;
    }
    return bytes;
}

static inline Sizes text(size_t count)
{
    return Sizes(count, 240);
}

/* Many small messages and some large ones, as a desktop has. */
static inline Sizes desktop(size_t count)
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

static inline Sizes images(size_t count)
{
    return Sizes(count, 20000);
}

/* Sends messages and probes as far as it goes, @count messages at the most. */
static inline int send_some(RedStreamFlow *flow, uint64_t now, bool slack, int count,
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

#include "pop-visibility.h"

#endif /* TEST_STREAM_FLOW_H_ */
