/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test the decisions of red-stream-coalescing.h */
#include <config.h>

#include <glib.h>

#include "red-stream-coalescing.h"
#include "red-stream-path.h"
#include "test-glib-compat.h"

/* The setting, as red_stream_coalescing_delay shows it. */
static uint32_t parse_hold(const char *text, bool is_good)
{
    RedStreamPolicy policy = { };

    g_assert_cmpint(red_stream_policy_parse(text, &policy), ==, is_good);
    g_assert_true(red_stream_policy_parse("batch", &policy));
    red_stream_policy_parse(text, &policy);
    return red_stream_coalescing_delay(&policy, 0);
}

static void test_setting()
{
    for (const char *text : { "batch,hold=", "batch,hold=-1", "batch,hold=1000001",
                              "batch,hold=4294967295" }) {
        g_assert_cmpuint(parse_hold(text, false), ==, RED_STREAM_COALESCING_DELAY);
    }
    g_assert_cmpuint(parse_hold("batch,hold=2500", true), ==, 2500);
    g_assert_cmpuint(parse_hold("batch,hold=1000000", true), ==, 1000000);
    g_assert_cmpuint(parse_hold("batch,hold=2500,hold=auto", true), ==,
                     RED_STREAM_COALESCING_DELAY);
}

static void test_hold_budget()
{
    RedStreamPolicy policy = { };

    g_assert_true(red_stream_policy_parse("batch", &policy));
    g_assert_cmpuint(red_stream_coalescing_delay(&policy, 0), ==, RED_STREAM_COALESCING_DELAY);
    g_assert_cmpuint(red_stream_coalescing_delay(&policy, RED_STREAM_UNNOTICED), ==,
                     RED_STREAM_COALESCING_DELAY);
    g_assert_cmpuint(red_stream_coalescing_delay(&policy, UINT32_MAX), ==,
                     2 * RED_STREAM_COALESCING_DELAY);
    g_assert_true(red_stream_policy_parse("batch,hold=700", &policy));
    g_assert_cmpuint(red_stream_coalescing_delay(&policy, 40000), ==, 700);
    g_assert_true(red_stream_policy_parse("batch,hold=0", &policy));
    g_assert_cmpuint(red_stream_coalescing_delay(&policy, 40000), ==, 0);
    /* nothing is gathered there */
    g_assert_true(red_stream_policy_parse("cork", &policy));
    g_assert_cmpuint(red_stream_coalescing_delay(&policy, 40000), ==, 0);
}

static void test_hold()
{
    const uint64_t start = 1000000000;
    RedStreamCoalescing hold;

    /* what comes after a pause leaves at once */
    g_assert_false(hold.begin(start, 1000));
    g_assert_cmpuint(hold.deadline(), ==, 0);
    hold.left(start);
    /* what follows waits, and what follows that does not wait longer */
    g_assert_true(hold.begin(start + 3000, 1000));
    g_assert_cmpuint(hold.deadline(), ==, start + 4000);
    g_assert_true(hold.begin(start + 3900, 1000));
    g_assert_cmpuint(hold.deadline(), ==, start + 4000);
    /* also if the budget changes meanwhile */
    g_assert_true(hold.begin(start + 3950, 0));
    g_assert_cmpuint(hold.deadline(), ==, start + 4000);
    hold.left(start + 4010);
    g_assert_false(hold.active());
    g_assert_true(hold.begin(start + 4020, 1000));
    g_assert_cmpuint(hold.deadline(), ==, start + 5020);
    hold.left(start + 5020);
    g_assert_false(hold.begin(start + 5020 + RED_STREAM_COALESCING_PAUSE * 1000, 1000));
    /* no budget */
    g_assert_false(hold.begin(start + 5030, 0));
}

/* Something urgent is urgent until the stream is flushed; a key or click makes what follows so. */
static void test_urgent()
{
    RedStreamCoalescing coalescing;

    coalescing.see_inputs(0);
    g_assert_false(coalescing.is_urgent());
    coalescing.see_inputs(1);
    g_assert_true(coalescing.is_urgent());
    coalescing.see_inputs(1);
    g_assert_true(coalescing.is_urgent());
    coalescing.clear_urgent();
    coalescing.see_inputs(1);
    g_assert_false(coalescing.is_urgent());
    coalescing.set_urgent();
    g_assert_true(coalescing.is_urgent());
}

/* One timer serves a delay that begins while it runs for one that is over. */
static void test_timer()
{
    const uint64_t start = 1000000000;
    RedStreamCoalescing coalescing;
    bool over = true;

    coalescing.left(start);
    g_assert_true(coalescing.begin(start + 100, 3000));
    g_assert_cmpuint(coalescing.start_timer(start + 100), ==, 3);
    coalescing.left(start + 1000);
    g_assert_true(coalescing.begin(start + 2000, 3000));
    g_assert_cmpuint(coalescing.start_timer(start + 2000), ==, 0);

    g_assert_cmpuint(coalescing.timer(start + 3100, &over), ==, 1);
    g_assert_false(over);
    g_assert_cmpuint(coalescing.timer(start + 4600, &over), ==, 0);
    g_assert_true(over);
    g_assert_false(coalescing.active());

    /* nothing waits any more */
    g_assert_true(coalescing.begin(start + 5000, 300));
    g_assert_cmpuint(coalescing.start_timer(start + 5000), ==, 1);
    coalescing.left(start + 5100);
    g_assert_cmpuint(coalescing.timer(start + 6000, &over), ==, 0);
    g_assert_false(over);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream/coalescing/setting", test_setting);
    g_test_add_func("/server/stream/coalescing/budget", test_hold_budget);
    g_test_add_func("/server/stream/coalescing/hold", test_hold);
    g_test_add_func("/server/stream/coalescing/urgent", test_urgent);
    g_test_add_func("/server/stream/coalescing/timer", test_timer);

    return g_test_run();
}
