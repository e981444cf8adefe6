/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test that flow control fills simulated paths, and queues little, see
 * test-stream-flow.h */
#include <config.h>

#include "test-stream-flow.h"

static void assert_fills(const Path &path, const Sizes &sizes)
{
    Simulation simulation(path);
    const Result result = simulation.send(sizes, 0);
    const uint64_t least = total(sizes) * SECOND / path.rate;

    g_test_message("%" G_GUINT64_FORMAT " B/s %" G_GUINT64_FORMAT " us: %" G_GUINT64_FORMAT
                   " us of %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT " probes",
                   path.rate, path.delay,
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
            g_assert_cmpuint(result.max_queue, <=,
                             bdp + path.rate / 100 + 2 * sizes[0] + 32 * 1024);
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

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream-paths/fills-the-link", test_fills_the_link);
    g_test_add_func("/server/stream-paths/start-is-gentle", test_start_is_gentle);
    g_test_add_func("/server/stream-paths/short-messages", test_short_messages);
    g_test_add_func("/server/stream-paths/long-messages", test_long_messages);
    g_test_add_func("/server/stream-paths/queue-is-short", test_queue_is_short);
    g_test_add_func("/server/stream-paths/probes-are-few", test_probes_are_few);
    g_test_add_func("/server/stream-paths/large-messages-are-probed",
                    test_large_messages_are_probed);
    g_test_add_func("/server/stream-paths/measures-on-the-way", test_measures_on_the_way);
    g_test_add_func("/server/stream-paths/slow-client", test_slow_client);
    g_test_add_func("/server/stream-paths/pausing-client", test_pausing_client);
    g_test_add_func("/server/stream-paths/idle", test_idle);
    g_test_add_func("/server/stream-paths/trickle", test_trickle);
    g_test_add_func("/server/stream-paths/long-path", test_long_path);
    g_test_add_func("/server/stream-paths/little-lowers-no-rate", test_little_lowers_no_rate);
    g_test_add_func("/server/stream-paths/path-changes", test_path_changes);
    g_test_add_func("/server/stream-paths/path-changes-while-idle", test_path_changes_while_idle);

    return g_test_run();
}
