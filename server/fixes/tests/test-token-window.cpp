/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The number of a client's messages to the agent that are under way fits the path, of which a model
 * is used here, and is bounded.
 */
#include <config.h>

#include <deque>
#include <glib.h>

#include "red-token-window.h"

#include "push-visibility.h"

enum { MESSAGE = 2048, INTERVAL = 5, SECOND = 1000000 };

/* A client, a line, and a guest. Times in microseconds. */
struct Path
{
    uint64_t delay; /* one way */
    uint64_t per_message; /* that the line takes for one */
    const uint64_t per_take; /* that the guest takes for one */
    uint32_t limit = RedTokenWindow::MOST;

    RedTokenWindow window;
    /* not when the host was started */
    uint64_t now = uint64_t{3600} * SECOND;
    uint32_t tokens = RedTokenWindow::INITIAL;
    /* what the client has to send */
    uint32_t to_send = UINT32_MAX;
    uint64_t line_free = 0, guest_free = 0;
    std::deque<uint64_t> arrivals, takes;
    std::deque<std::pair<uint64_t, uint32_t>> given;
    uint32_t num_taken = 0, num_freed = 0;
    /* the longest that a message has waited for the line since look() */
    uint64_t longest_queue = 0;
    uint32_t most = 0;

    Path(uint64_t bits_per_second, uint64_t round_trip, uint64_t init_per_take = 0):
        delay(round_trip / 2),
        per_message(uint64_t{MESSAGE} * 8 * SECOND / bits_per_second),
        per_take(init_per_take)
    {
    }

    void send()
    {
        for (; tokens > 0 && to_send > 0; --tokens, --to_send) {
            longest_queue = MAX(longest_queue, line_free - MIN(line_free, now));
            line_free = MAX(line_free, now) + per_message;
            arrivals.push_back(line_free + delay);
        }
        most = MAX(most, arrivals.size() + takes.size());
    }

    void take()
    {
        takes.pop_front();
        ++num_taken;
        if (++num_freed >= INTERVAL) {
            const uint32_t num = window.give(num_freed, limit, now);

            num_freed = 0;
            if (num > 0) {
                given.emplace_back(now + delay, num);
            }
        }
    }

    /* Until the guest has @num messages. */
    void run(uint32_t num)
    {
        send();
        while (num_taken < num) {
            const uint64_t arrives = arrivals.empty() ? UINT64_MAX : arrivals.front();
            const uint64_t taken = takes.empty() ? UINT64_MAX : takes.front();
            const uint64_t told = given.empty() ? UINT64_MAX : given.front().first;

            now = MIN(MIN(arrives, taken), told);
            g_assert_cmpuint(now, !=, UINT64_MAX);
            if (now == taken) {
                take();
            } else if (now == arrives) {
                arrivals.pop_front();
                window.add_message(now);
                guest_free = MAX(guest_free, now) + per_take;
                takes.push_back(guest_free);
            } else {
                tokens += given.front().second;
                given.pop_front();
                send();
            }
        }
    }

    /* Returns how long @num messages take. Then there is nothing to send until @pause is over. */
    uint64_t paste(uint32_t num, uint64_t pause)
    {
        const uint64_t begin = now;

        to_send = num;
        run(num_taken + num);
        const uint64_t end = now;
        for (; !given.empty(); given.pop_front()) {
            tokens += given.front().second;
        }
        now += pause;
        return end - begin;
    }
};

/* 5 MB over 50 Mbit/s and 100 ms: 25 s with ten tokens. */
static void long_fast_line()
{
    Path path(50 * 1000 * 1000, SECOND / 10);

    const uint64_t begin = path.now;

    /* the first round trip counts */
    path.run(3 * RedTokenWindow::INITIAL);
    g_assert_cmpuint(path.most, >, RedTokenWindow::INITIAL);
    path.run(5 * 1000 * 1000 / MESSAGE);
    g_test_message("%u ms, at most %u under way", unsigned((path.now - begin) / 1000), path.most);
    g_assert_cmpuint(path.now - begin, <, 3 * SECOND);
    g_assert_cmpuint(path.most, <=, RedTokenWindow::MOST);
}

/* Again and again: a pause is no queue. */
static void pastes()
{
    Path path(50 * 1000 * 1000, SECOND / 10);

    for (int i = 0; i < 10; ++i) {
        const uint64_t time = path.paste(5 * 1000 * 1000 / MESSAGE, 60 * SECOND);

        g_test_message("%u ms", unsigned(time / 1000));
        g_assert_cmpuint(time, <, 3 * SECOND);
    }
    /* a word now and then */
    for (int i = 0; i < 100; ++i) {
        path.paste(1, 7 * SECOND);
    }
    g_assert_cmpuint(path.paste(5 * 1000 * 1000 / MESSAGE, SECOND), <, 3 * SECOND);
}

/* A line that becomes longer is filled again. */
static void longer_line()
{
    for (const uint64_t ms : { 35, 60, 100, 300 }) {
        Path path(50 * 1000 * 1000, 20 * 1000);

        path.paste(5 * 1000 * 1000 / MESSAGE, SECOND);
        path.delay = ms * 1000 / 2;
        path.paste(5 * 1000 * 1000 / MESSAGE, SECOND);
        const uint64_t time = path.paste(5 * 1000 * 1000 / MESSAGE, SECOND);

        g_test_message("%u ms: %u ms", unsigned(ms), unsigned(time / 1000));
        /* it carries the window, or 50 Mbit/s */
        g_assert_cmpuint(time, <, 2 * SECOND + 10 * 2 * ms * 1000);
    }
}

/* A line that carries more than at first is filled, too. */
static void faster_line()
{
    Path path(10 * 1000 * 1000, SECOND / 10);

    path.paste(5 * 1000 * 1000 / MESSAGE, SECOND);
    path.per_message /= 4;
    path.paste(5 * 1000 * 1000 / MESSAGE, SECOND);
    const uint64_t time = path.paste(5 * 1000 * 1000 / MESSAGE, SECOND);

    g_test_message("%u ms", unsigned(time / 1000));
    g_assert_cmpuint(time, <, 2 * SECOND);
}

/* On a line that carries less than before, not even ten: no more than those wait. */
static void slower_line()
{
    for (const uint64_t ms : { 1, 10, 100, 300 }) {
        Path path(1000 * 1000, ms * 1000);

        path.run(1000);
        path.per_message *= 8;
        path.run(1200);
        path.longest_queue = 0;
        path.run(1400);
        g_test_message("%u ms: queue %u ms", unsigned(ms), unsigned(path.longest_queue / 1000));
        g_assert_cmpuint(path.longest_queue, <=, RedTokenWindow::INITIAL * path.per_message);
    }
}

/* What else uses a slow line does not wait much longer: ten tokens are 82 ms of it already. */
static void slow_line()
{
    Path path(2 * 1000 * 1000, SECOND / 10);

    path.run(1000);
    path.longest_queue = 0;
    path.run(2000);
    g_test_message("queue %u ms", unsigned(path.longest_queue / 1000));
    g_assert_cmpuint(path.longest_queue, <, SECOND / 5);
}

static void middling_lines()
{
    for (const uint64_t megabits : { 5, 10, 20, 30 }) {
        for (const uint64_t ms : { 10, 40, 100, 300 }) {
            Path path(megabits * 1000 * 1000, ms * 1000);

            path.run(2000);
            path.longest_queue = 0;
            path.run(4000);
            /* ten, which were always sent, may take longer than a round trip */
            const uint64_t round_trip =
                MAX(ms * 1000, RedTokenWindow::INITIAL * path.per_message);
            g_assert_cmpuint(path.longest_queue, <=, round_trip + 20000);
        }
    }
}

/* A mouse event of the server waits behind what the guest has not taken. */
static void slow_guest()
{
    Path path(100 * 1000 * 1000, SECOND / 100, SECOND / 100);

    path.run(1000);
    path.most = 0;
    path.run(2000);
    g_assert_cmpuint(path.most, <=, 4 * RedTokenWindow::INITIAL);
}

/* As before a migration: the server that comes next may know of ten only. */
static void limited()
{
    Path path(50 * 1000 * 1000, SECOND / 10);

    path.run(2000);
    g_assert_cmpuint(path.most, >, RedTokenWindow::MOST - INTERVAL);
    path.limit = RedTokenWindow::INITIAL;
    path.run(2000 + RedTokenWindow::MOST + INTERVAL);
    path.most = 0;
    path.run(3000);
    g_assert_cmpuint(path.most, <=, RedTokenWindow::INITIAL);
}

/* Whatever the device says, the client is never left without tokens, nor has too many. */
static void any_order()
{
    RedTokenWindow window;
    uint32_t with_client = RedTokenWindow::INITIAL, waiting = 0;
    uint64_t now = 0;

    for (int i = 0; i < 100000; ++i) {
        now += g_random_int_range(0, SECOND / 10);
        if (with_client > 0 && (waiting == 0 || g_random_boolean())) {
            --with_client;
            ++waiting;
            window.add_message(now);
        } else {
            const uint32_t num = g_random_int_range(1, waiting + 1);

            waiting -= num;
            with_client += window.give(num, RedTokenWindow::MOST, now);
        }
        g_assert_cmpuint(with_client + waiting, >, 0);
        g_assert_cmpuint(with_client + waiting, <=, RedTokenWindow::MOST);
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/token-window/long-fast-line", long_fast_line);
    g_test_add_func("/server/token-window/pastes", pastes);
    g_test_add_func("/server/token-window/longer-line", longer_line);
    g_test_add_func("/server/token-window/faster-line", faster_line);
    g_test_add_func("/server/token-window/slower-line", slower_line);
    g_test_add_func("/server/token-window/slow-line", slow_line);
    g_test_add_func("/server/token-window/middling-lines", middling_lines);
    g_test_add_func("/server/token-window/slow-guest", slow_guest);
    g_test_add_func("/server/token-window/limited", limited);
    g_test_add_func("/server/token-window/any-order", any_order);
    return g_test_run();
}
