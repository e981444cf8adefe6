/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test the probe timeout of a connection, and what follows MIGRATE, without a server. */
#include <config.h>

#include <glib.h>

#include "red-stream-flow.h"

#define PROBE_BYTES 18
#define DELAY 10000

/* Send messages of 1000 bytes until a probe is due, and the probe. Returns its id. */
static uint32_t send_to_probe(RedStreamFlow *flow, uint64_t now)
{
    while (!flow->wants_probe()) {
        flow->sent(now, 1000);
    }
    const uint32_t id = flow->get_next_probe();

    flow->probe_sent(now, PROBE_BYTES);
    return id;
}

static void answer_probes(RedStreamFlow *flow, uint64_t *now, int count)
{
    for (int i = 0; i < count; ++i) {
        const uint32_t id = send_to_probe(flow, *now);

        *now += DELAY;
        g_assert_true(flow->pong_received(*now, id));
    }
}

/* Nothing follows MIGRATE. */
static void test_migrate()
{
    RedStreamFlow flow;
    uint64_t now = 1;

    answer_probes(&flow, &now, RED_STREAM_FLOW_PROBES);
    while (!flow.wants_probe()) {
        flow.sent(now, 1000);
    }
    flow.migrate();
    g_assert_false(flow.wants_probe());
}

/* The timer runs while sending is stopped, once, and a pong or a send begins the wait anew. */
static void test_timeout()
{
    RedStreamFlow flow;
    uint64_t now = 1;
    bool timed_out = true;

    answer_probes(&flow, &now, 4);
    const uint32_t first = send_to_probe(&flow, now);
    const uint32_t timeout = flow.get_probe_timeout();
    g_assert_cmpuint(flow.set_stopped(0, false), ==, 0);
    g_assert_cmpuint(flow.set_stopped(now, true), ==, timeout / 1000);
    g_assert_cmpuint(flow.set_stopped(now + 1000, true), ==, 0);

    /* a pong in between: the rest of the time, from then on */
    now += DELAY;
    g_assert_true(flow.pong_received(now, first));
    const uint32_t again = flow.timer(now + 5000, &timed_out);
    g_assert_false(timed_out);
    g_assert_cmpuint(again, ==, (flow.get_probe_timeout() - 5000) / 1000 + 1);

    /* sending goes on: the timer ends */
    flow.set_stopped(0, false);
    g_assert_cmpuint(flow.timer(now + timeout, &timed_out), ==, 0);
    g_assert_false(timed_out);
    g_assert_cmpuint(flow.get_probe_timeouts(), ==, 0);

    send_to_probe(&flow, now);
    g_assert_cmpuint(flow.set_stopped(now, true), >, 0);
    g_assert_cmpuint(flow.timer(now + flow.get_probe_timeout(), &timed_out), ==, 0);
    g_assert_true(timed_out);
    g_assert_cmpuint(flow.get_probe_timeouts(), ==, 1);
    g_assert_true(flow.may_send(true));
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/channel-flow-state/migrate", test_migrate);
    g_test_add_func("/server/channel-flow-state/timeout", test_timeout);

    return g_test_run();
}
