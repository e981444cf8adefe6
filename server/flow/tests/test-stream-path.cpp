/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test the decisions of red-stream-path.h, and the mode flow */
#include <config.h>

#include "red-stream-path.h"
#include "test-glib-compat.h"
#include "test-stream-link.h"

static void test_mode()
{
    RedStreamPolicy policy = { };
    std::string ignored;

    g_assert_true(red_stream_policy_parse("flow", &policy));
    g_assert_true(policy.mode == &red_stream_mode_flow);
    g_assert_true(policy.mode->batch && !policy.mode->cork);
    g_assert_cmpuint(red_stream_setting_record.get(&policy), ==, 0);

    /* flow has no window of its own, even where other modes have one */
    g_assert_false(red_stream_policy_parse("flow,window=400,record=600", &policy, &ignored));
    g_assert_cmpstr(ignored.c_str(), ==, "'window=400'");
    g_assert_cmpuint(red_stream_setting_record.get(&policy), ==, 600);
}

/* What TCP says of a link, and what the channel knows of the path. */
static void test_link_rate()
{
    RedStreamLink link;

    /* many small segments let the window grow further, and the channel knows better */
    link = test_make_link(400, 100000, 30000);
    link.app_limited = true;
    g_assert_cmpuint(red_stream_path_unsent_limit(&link), >, 250000);
    link.path_rate = 240000;
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, 2400);
    g_assert_cmpuint(red_stream_path_unsent_limit(&link), ==, 12000);
    /* but TCP knows of what is not the channel's: it shares the path */
    link = test_make_link(20, 100000, 250000);
    link.path_rate = 2400000;
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, 2500);
}

static void test_unsent_limit()
{
    /* 20 Mbit/s carries 125 KB in the budget */
    RedStreamLink link = test_make_link(70, 40000, 2500000);
    g_assert_cmpuint(red_stream_path_unsent_limit(&link), ==, 125000);

    /* enough to keep a slow line busy */
    link = test_make_link(20, 100000, 50000);
    g_assert_cmpuint(red_stream_path_unsent_limit(&link), ==, RED_STREAM_FLOW_MIN);
    link = test_make_link(4000, 200, 1200000000);
    g_assert_cmpuint(red_stream_path_unsent_limit(&link), ==, 60000000);
    link = test_make_link(4000, 200, UINT64_C(1) << 40);
    g_assert_cmpuint(red_stream_path_unsent_limit(&link), ==, UINT32_MAX);

    /* not known */
    link = { };
    g_assert_cmpuint(red_stream_path_unsent_limit(&link), ==, UINT32_MAX);
    link = test_make_link(10, 0, 0);
    g_assert_cmpuint(red_stream_path_unsent_limit(&link), ==, UINT32_MAX);
}

/* 25 KB fill the path. */
static void test_pace()
{
    RedStreamLink link = test_make_link(100, 100000, 0);

    link.path_delay = 100000;
    link.unacked = 10;
    g_assert_cmpuint(red_stream_path_pace(&link, 0), ==, 0);
    const uint64_t up = red_stream_path_pace(&link, 250000);
    g_assert_cmpuint(up, >, 250000);
    g_assert_cmpuint(up, <, 300000);
    link.unacked = 30;
    link.rtt = 120000;
    const uint64_t down = red_stream_path_pace(&link, 250000);
    g_assert_cmpuint(down, >, 125000);
    g_assert_cmpuint(down, <, 200000);

    /* the client's answers come later than TCP's */
    link.min_rtt = 60000;
    link.unacked = 13;
    g_assert_cmpuint(red_stream_path_pace(&link, 250000), ==, down);

    /* the path became longer, and TCP's minimum has not: nothing waits */
    link.path_delay = 110000;
    link.unacked = 60;
    g_assert_cmpuint(red_stream_path_pace(&link, 250000), ==, up);
    link.rtt = 130000;
    g_assert_cmpuint(red_stream_path_pace(&link, 250000), ==, down);

    /* the path takes more than was known: nothing waits, though as much is under way */
    link.unacked = 30;
    link.delivery_rate = 1000000;
    g_assert_cmpuint(red_stream_path_pace(&link, 250000), ==, 4 * up);

    /* a short path, and a relay */
    link.path_delay = RED_STREAM_UNNOTICED - 1;
    g_assert_cmpuint(red_stream_path_pace(&link, 250000), ==, 0);
    link.path_delay = 100000;
    link.rtt = 60;
    g_assert_cmpuint(red_stream_path_pace(&link, 250000), ==, 0);
}

/* A relay on the server's host takes gigabits a second in no time, whatever comes behind it. */
static void test_first_hop()
{
    RedStreamLink relay = test_make_link(100, 60, 2000000000);

    /* nothing else is known yet */
    g_assert_false(red_stream_policy_is_first_hop(&relay));
    g_assert_cmpuint(red_stream_policy_record_size(&relay), ==, RED_STREAM_RECORD_MAX);

    relay.path_delay = 100000;
    g_assert_true(red_stream_policy_is_first_hop(&relay));
    relay.path_rate = 250000;
    g_assert_cmpuint(red_stream_policy_record_size(&relay), ==, 2500);
    g_assert_cmpuint(red_stream_path_unsent_limit(&relay), ==, 12500);

    /* the same path without it */
    RedStreamLink direct = test_make_link(20, 100000, 250000);
    direct.path_rate = 250000;
    direct.path_delay = 100000;
    g_assert_false(red_stream_policy_is_first_hop(&direct));
    g_assert_cmpuint(red_stream_policy_record_size(&direct), ==,
                     red_stream_policy_record_size(&relay));
    g_assert_cmpuint(red_stream_path_unsent_limit(&direct), ==,
                     red_stream_path_unsent_limit(&relay));

    /* a client on the LAN that takes some milliseconds to answer is no relay */
    RedStreamLink lan = test_make_link(40, 200, 118000000);
    lan.path_delay = 5000;
    g_assert_false(red_stream_policy_is_first_hop(&lan));
    /* nor is a TCP that has seen a queue which the shortest answer has not */
    direct.rtt = 2000000000;
    g_assert_false(red_stream_policy_is_first_hop(&direct));
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream/path/mode", test_mode);
    g_test_add_func("/server/stream/path/link-rate", test_link_rate);
    g_test_add_func("/server/stream/path/unsent-limit", test_unsent_limit);
    g_test_add_func("/server/stream/path/pace", test_pace);
    g_test_add_func("/server/stream/path/first-hop", test_first_hop);

    return g_test_run();
}
