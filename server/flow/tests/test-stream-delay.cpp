/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test what flow control takes for the delay of a path, and for a queue, see test-stream-flow.h */
#include <config.h>

#include "red-stream-path.h"
#include "test-stream-flow.h"

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

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream-delay/delay-behind-image", test_delay_behind_image);
    g_test_add_func("/server/stream-delay/late-delay", test_late_delay);
    g_test_add_func("/server/stream-delay/doubtful-delay", test_doubtful_delay);
    g_test_add_func("/server/stream-delay/doubtful-delay-drains", test_doubtful_delay_drains);
    g_test_add_func("/server/stream-delay/old-delay", test_old_delay);
    g_test_add_func("/server/stream-delay/longer-delay", test_longer_delay);
    g_test_add_func("/server/stream-delay/queued", test_queued);

    return g_test_run();
}
