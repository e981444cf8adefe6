/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test when TCP_INFO is read, and the record size that follows from it */
#include <config.h>

#include "red-stream-tcp-info.h"
#include "test-stream-link.h"

static RedStreamLink told;
static bool is_known = true;
static int calls;

static bool get_link(int, RedStreamLink *link)
{
    ++calls;
    *link = told;
    return is_known;
}

static RedStreamTcpInfo make_info(const char *text)
{
    RedStreamPolicy policy = { };

    g_assert_true(red_stream_policy_parse(text, &policy));
    calls = 0;
    is_known = true;
    told = test_make_link(20, 100000, 250000);
    return RedStreamTcpInfo(-1, &policy);
}

static const RedStreamSocket ops = { nullptr, nullptr, get_link, nullptr, nullptr };

static void test_period()
{
    RedStreamTcpInfo info = make_info("batch");
    RedStreamLink link = { };
    const gint64 begin = g_get_monotonic_time();

    g_assert_cmpuint(info.get_record_size(), ==, RED_STREAM_RECORD_MAX);
    g_assert_true(info.update(&ops, true, false, &link));
    g_assert_cmpuint(info.get_record_size(), ==, 2500);
    told.delivery_rate = 1000000000;
    while (g_get_monotonic_time() - begin < RED_STREAM_LINK_PERIOD) {
        info.update(&ops, true, false, &link);
    }
    g_assert_cmpint(calls, <=, 2);
    test_link_ages();
    g_assert_true(info.update(&ops, true, false, &link));
    g_assert_cmpuint(info.get_record_size(), ==, RED_STREAM_RECORD_MAX);
}

/* Without TLS, and with a size that is set, only for somebody else. */
static void test_not_wanted()
{
    RedStreamTcpInfo plain = make_info("batch"), fixed = make_info("batch,record=600");
    RedStreamLink link = { };

    g_assert_false(plain.update(&ops, false, false, &link));
    g_assert_false(fixed.update(&ops, true, false, &link));
    g_assert_cmpint(calls, ==, 0);
    g_assert_true(plain.update(&ops, false, true, &link));
    g_assert_true(fixed.update(&ops, true, true, &link));
    g_assert_cmpuint(fixed.get_record_size(), ==, 600);
}

/* If there is none, it is not asked for again. */
static void test_unknown()
{
    RedStreamTcpInfo info = make_info("batch");
    RedStreamLink link = { };

    is_known = false;
    for (int i = 0; i < 3; ++i) {
        g_assert_false(info.update(&ops, true, true, &link));
        test_link_ages();
    }
    g_assert_cmpint(calls, ==, 1);
    g_assert_cmpuint(info.get_record_size(), ==, RED_STREAM_RECORD_MAX);
}

/* What is known of the whole path stands above what TCP says of the first hop. */
static void test_path()
{
    RedStreamTcpInfo info = make_info("batch");
    RedStreamLink link = { };

    told = test_make_link(100, 60, 2000000000);
    info.set_path(300000, 100000);
    g_assert_true(info.update(&ops, true, false, &link));
    g_assert_cmpuint(link.path_rate, ==, 300000);
    g_assert_cmpuint(link.path_delay, ==, 100000);
    g_assert_cmpuint(info.get_record_size(), ==, 3000);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream/tcp-info/period", test_period);
    g_test_add_func("/server/stream/tcp-info/not-wanted", test_not_wanted);
    g_test_add_func("/server/stream/tcp-info/unknown", test_unknown);
    g_test_add_func("/server/stream/tcp-info/path", test_path);

    return g_test_run();
}
