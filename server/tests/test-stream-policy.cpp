/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test the decisions of red-stream-policy.h */
#include <config.h>

#include <cstring>
#include <vector>

#include <glib.h>

#include "test-glib-compat.h"
#include "test-stream-link.h"

static void test_modes()
{
    static const struct {
        const char *name;
        RedStreamMode mode;
        bool gather, cork, more, batch, flow;
    } rows[] = {
        { "normal", RED_STREAM_MODE_NORMAL, false, false, false, false, false },
        { "gather", RED_STREAM_MODE_GATHER, true,  false, false, false, false },
        { "cork",   RED_STREAM_MODE_CORK,   false, true,  false, false, false },
        { "more",   RED_STREAM_MODE_MORE,   false, false, true,  false, false },
        { "window", RED_STREAM_MODE_WINDOW, false, true,  false, false, false },
        { "batch",  RED_STREAM_MODE_BATCH,  false, false, true,  true,  false },
        { "flow",   RED_STREAM_MODE_FLOW,   false, false, true,  true,  true },
    };

    for (const auto &row : rows) {
        RedStreamPolicy policy = { };

        g_assert_true(red_stream_policy_parse(row.name, &policy));
        g_assert_cmpstr(policy.name, ==, row.name);
        g_assert_cmpint(policy.mode, ==, row.mode);
        g_assert_cmpint(policy.gather, ==, row.gather);
        g_assert_cmpint(policy.cork, ==, row.cork);
        g_assert_cmpint(policy.more, ==, row.more);
        g_assert_cmpint(policy.batch, ==, row.batch);
        g_assert_cmpint(policy.flow, ==, row.flow);
        g_assert_cmpuint(policy.gather_threshold, ==, 1024);
        g_assert_cmpuint(policy.record_size, ==, 0);
        /* only the mode named after it widens the window unasked */
        g_assert_cmpint(policy.window != 0, ==, row.mode == RED_STREAM_MODE_WINDOW);
    }
}

static void test_settings()
{
    RedStreamPolicy policy = { };

    g_assert_true(red_stream_policy_parse("gather,threshold=1", &policy));
    g_assert_cmpuint(policy.gather_threshold, ==, 1);
    g_assert_true(red_stream_policy_parse("gather,threshold=16384", &policy));
    g_assert_cmpuint(policy.gather_threshold, ==, 16384);

    g_assert_true(red_stream_policy_parse("batch,record=512", &policy));
    g_assert_cmpuint(policy.record_size, ==, 512);
    g_assert_true(red_stream_policy_parse("batch,record=16384", &policy));
    g_assert_cmpuint(policy.record_size, ==, 16384);
    g_assert_true(red_stream_policy_parse("batch,record=auto", &policy));
    g_assert_cmpuint(policy.record_size, ==, 0);

    g_assert_true(red_stream_policy_parse("batch,window=80", &policy));
    g_assert_cmpuint(policy.window, ==, 80);
    g_assert_true(red_stream_policy_parse("window,window=100000", &policy));
    g_assert_cmpuint(policy.window, ==, 100000);

    /* in any order, the last one counts */
    g_assert_true(red_stream_policy_parse("flow,catchup=on", &policy));
    g_assert_true(policy.catch_up);
    g_assert_true(red_stream_policy_parse("flow,catchup=on,catchup=off", &policy));
    g_assert_false(policy.catch_up);
    g_assert_true(red_stream_policy_parse("flow,window=400,record=2000,threshold=99,record=4000",
                                          &policy));
    g_assert_cmpint(policy.mode, ==, RED_STREAM_MODE_FLOW);
    g_assert_cmpuint(policy.window, ==, 400);
    g_assert_cmpuint(policy.record_size, ==, 4000);
    g_assert_cmpuint(policy.gather_threshold, ==, 99);

    /* nothing is left of an earlier text */
    g_assert_true(red_stream_policy_parse("batch", &policy));
    g_assert_cmpuint(policy.window, ==, 0);
    g_assert_cmpuint(policy.record_size, ==, 0);
    g_assert_cmpuint(policy.gather_threshold, ==, 1024);
}

static void test_bad_texts()
{
    static const char *const texts[] = {
        "", ",", " ", "Batch", "BATCH", " batch", "batch ", "batc", "batchh", "batch,", ",batch",
        "batch,,record=auto", "batch,normal", "record=auto", "batch,record", "batch,record=",
        "batch,record=Auto", "batch,record=auto ", "batch,record=511", "batch,record=16385",
        "batch,record=-1", "batch,record=+600", "batch,record= 600", "batch,record=600x",
        "batch,record=0x400", "batch,record=1e3", "batch,record=4294967896",
        "batch,record=18446744073709552216", "batch,record=99999999999999999999999999",
        "gather,threshold=0", "gather,threshold=16385", "gather,threshold=auto",
        "gather,threshold=", "batch,window=0", "batch,window=79", "batch,window=100001",
        "batch,window=auto", "batch,window=80;", "batch,unknown=1", "batch, record=auto",
        /* what comes after a good setting counts too */
        "batch,record=600,window=1", "flow,catchup=", "flow,catchup=1",
    };

    for (const char *text : texts) {
        RedStreamPolicy policy, before;

        memset(&policy, 0x5a, sizeof(policy));
        memcpy(&before, &policy, sizeof(policy));
        if (red_stream_policy_parse(text, &policy)) {
            g_error("'%s' was accepted", text);
        }
        g_assert_cmpint(memcmp(&policy, &before, sizeof(policy)), ==, 0);
    }
}

static void run_with_environment(const char *value, bool warns)
{
    if (!g_test_subprocess()) {
        if (value) {
            g_setenv("SPICE_STREAM", value, TRUE);
        } else {
            g_unsetenv("SPICE_STREAM");
        }
        g_test_trap_subprocess(nullptr, 0, (GTestSubprocessFlags) 0);
        g_test_trap_assert_passed();
        g_unsetenv("SPICE_STREAM");
        return;
    }

    if (warns) {
        g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*SPICE_STREAM=*using " RED_STREAM_DEFAULT "*");
    }
    const RedStreamPolicy *policy = red_stream_policy_get();
    g_test_assert_expected_messages();

    RedStreamPolicy expected = { };
    g_assert_true(red_stream_policy_parse(warns || !value ? RED_STREAM_DEFAULT : value, &expected));
    g_assert_cmpint(policy->mode, ==, expected.mode);
    g_assert_cmpuint(policy->record_size, ==, expected.record_size);
    g_assert_cmpuint(policy->window, ==, expected.window);
    g_assert_cmpuint(policy->gather_threshold, ==, expected.gather_threshold);

    /* read once, warned of once */
    g_setenv("SPICE_STREAM", "normal", TRUE);
    g_assert_true(red_stream_policy_get() == policy);
    g_assert_cmpint(policy->mode, ==, expected.mode);
}

static void test_environment_unset()
{
    run_with_environment(nullptr, false);
}

static void test_environment_good()
{
    run_with_environment("gather,threshold=77", false);
}

static void test_environment_bad()
{
    run_with_environment("fast,please", true);
}

static void test_environment_empty()
{
    run_with_environment("", true);
}

static void test_record_size()
{
    RedStreamLink link;

    /* LAN: 1 Gbit/s */
    link = test_make_link(40, 200, 118000000);
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, RED_STREAM_RECORD_MAX);

    /* LAN, where the server rarely has much to send */
    link = test_make_link(10, 200, 90000);
    link.app_limited = true;
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, RED_STREAM_RECORD_MAX);

    /* 20 Mbit/s, 40 ms, in full flow: 2.5 MB/s is 25 KB in the budget */
    link = test_make_link(70, 40000, 2500000);
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, RED_STREAM_RECORD_MAX);

    /* the same line, just connected: ten segments a round trip */
    link = test_make_link(10, 40000, 0);
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, 3620);

    /* 2 Mbit/s, 100 ms: 250 KB/s, however large the window grew over a deep queue */
    link = test_make_link(20, 100000, 250000);
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, 2500);
    link = test_make_link(400, 100000, 250000);
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, 2500);

    /* 2 Mbit/s with a rate that was not the path's: the window says more */
    link = test_make_link(20, 100000, 30000);
    link.app_limited = true;
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, 2896);
    /* or less */
    link = test_make_link(10, 100000, 250000);
    link.app_limited = true;
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, 2500);

    /* many small segments let the window grow further, and the channel knows better */
    link = test_make_link(400, 100000, 30000);
    link.app_limited = true;
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, RED_STREAM_RECORD_MAX);
    g_assert_cmpuint(red_stream_policy_unsent_limit(&link), >, RED_STREAM_UNSENT_MIN);
    link.path_rate = 240000;
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, 2400);
    g_assert_cmpuint(red_stream_policy_unsent_limit(&link), ==, RED_STREAM_UNSENT_MIN);
    /* but TCP knows of what is not the channel's: it shares the path */
    link = test_make_link(20, 100000, 250000);
    link.path_rate = 2400000;
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, 2500);

    /* a modem: never below a segment, less what TLS adds to it */
    link = test_make_link(4, 600000, 5000);
    g_assert_cmpuint(red_stream_policy_record_size(&link), >=, 1448 - 29);
    g_assert_cmpuint(red_stream_policy_record_size(&link), <=, 1448 - 22);

    /* with tiny segments never below the least that can be asked for */
    link = test_make_link(4, 600000, 5000);
    link.mss = 88;
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, 512);
}

static void test_record_size_idle()
{
    /* a window grown large is not what TCP starts with after a pause */
    RedStreamLink busy = test_make_link(100, 100000, 0);
    RedStreamLink idle = busy;
    RedStreamLink fresh = test_make_link(10, 100000, 0);

    busy.idle = busy.rto;
    idle.idle = idle.rto + 1;
    g_assert_cmpuint(red_stream_policy_record_size(&busy), ==, 14480);
    g_assert_cmpuint(red_stream_policy_record_size(&idle), ==,
                     red_stream_policy_record_size(&fresh));
    g_assert_cmpuint(red_stream_policy_record_size(&idle), ==, 1448);

    /* a window smaller than the initial one stays */
    idle.cwnd = 5;
    g_assert_cmpuint(red_stream_policy_record_size(&idle), ==, 1448 - 29);
}

static void test_record_size_unknown()
{
    RedStreamLink link = { };

    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, RED_STREAM_RECORD_MAX);

    /* neither a rate nor a time to derive it from */
    link = test_make_link(10, 0, 0);
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, RED_STREAM_RECORD_MAX);
    link = test_make_link(10, 0, 250000);
    link.app_limited = true;
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, 2500);
    link = test_make_link(0, 40000, 250000);
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, RED_STREAM_RECORD_MAX);
    link = test_make_link(10, 40000, 250000);
    link.mss = 0;
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, RED_STREAM_RECORD_MAX);

    /* the largest facts there can be: 400 Gbit/s, a window of 1 GiB in 64 KiB segments */
    link = test_make_link(16384, 1, UINT64_C(50000000000));
    link.mss = 65483;
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, RED_STREAM_RECORD_MAX);
}

static void test_seen_rate()
{
    /* 20 Mbit/s: TCP has left slow start, the delivery is what is known */
    RedStreamLink link = test_make_link(70, 40000, 2400000);
    g_assert_cmpuint(red_stream_policy_seen_rate(&link), ==, 2400000);
    /* a lower bound of the link, whoever set it */
    link.app_limited = true;
    g_assert_cmpuint(red_stream_policy_seen_rate(&link), ==, 2400000);

    /* 250 KB sent, 177 segments in the window: nothing says that the path carries no more */
    link = test_make_link(177, 100000, 1250000);
    link.slow_start = true;
    g_assert_cmpuint(red_stream_policy_seen_rate(&link), ==, 177 * 1448 * 10);
    /* the round trips are those of a queue that grows, which both know */
    link = test_make_link(177, 1000000, 250000);
    link.slow_start = true;
    g_assert_cmpuint(red_stream_policy_seen_rate(&link), ==, 177 * 1448);
    link.delivery_rate = 260000;
    g_assert_cmpuint(red_stream_policy_seen_rate(&link), ==, 260000);

    link = { };
    g_assert_cmpuint(red_stream_policy_seen_rate(&link), ==, 0);
    link.slow_start = true;
    g_assert_cmpuint(red_stream_policy_seen_rate(&link), ==, 0);
}

static void test_warm_up_size()
{
    /* 50 Mbit/s 100 ms */
    RedStreamLink link = test_make_link(10, 100000, 0);
    link.slow_start = true;
    g_assert_cmpuint(red_stream_policy_warm_up_size(&link, 625000), ==, 9 * 1448);
    /* the least that a path must carry: 20 Mbit/s 40 ms does, 2 Mbit/s 100 ms does not */
    g_assert_cmpuint(red_stream_policy_warm_up_size(&link, 100000), ==, 9 * 1448);
    g_assert_cmpuint(red_stream_policy_warm_up_size(&link, 4 * 10 * 1448), ==, 9 * 1448);
    g_assert_cmpuint(red_stream_policy_warm_up_size(&link, 4 * 10 * 1448 - 1), ==, 0);
    g_assert_cmpuint(red_stream_policy_warm_up_size(&link, 25000), ==, 0);

    /* whoever set a large initial window needs no help */
    link = test_make_link(100, 100000, 0);
    link.slow_start = true;
    g_assert_cmpuint(red_stream_policy_warm_up_size(&link, 6250000), ==, RED_STREAM_WARM_UP_MAX);

    /* TCP has found the end of the path, or does not say */
    link.slow_start = false;
    g_assert_cmpuint(red_stream_policy_warm_up_size(&link, 6250000), ==, 0);
    link = { };
    link.slow_start = true;
    g_assert_cmpuint(red_stream_policy_warm_up_size(&link, UINT64_MAX), ==, 0);
}

static void test_unsent_limit()
{
    /* 20 Mbit/s carries 50 KB in the budget */
    RedStreamLink link = test_make_link(70, 40000, 2500000);
    g_assert_cmpuint(red_stream_policy_unsent_limit(&link), ==, 50000);

    /* enough to keep a slow line busy, not all of the memory for a fast one */
    link = test_make_link(20, 100000, 250000);
    g_assert_cmpuint(red_stream_policy_unsent_limit(&link), ==, RED_STREAM_UNSENT_MIN);
    link = test_make_link(4000, 200, 1200000000);
    g_assert_cmpuint(red_stream_policy_unsent_limit(&link), ==, RED_STREAM_UNSENT_MAX);

    /* and while the next message, a large picture, is made */
    link = test_make_link(70, 40000, 2500000);
    link.making_time = 40000;
    g_assert_cmpuint(red_stream_policy_unsent_limit(&link), ==, 150000);
    link.making_time = 10 * RED_STREAM_MAKING_MAX;
    g_assert_cmpuint(red_stream_policy_unsent_limit(&link), ==, 300000);

    /* not known: as if fast */
    link = { };
    g_assert_cmpuint(red_stream_policy_unsent_limit(&link), ==, RED_STREAM_UNSENT_MAX);
    link = test_make_link(10, 0, 0);
    g_assert_cmpuint(red_stream_policy_unsent_limit(&link), ==, RED_STREAM_UNSENT_MAX);
}

/* The rate follows what TCP measured with enough to send, and forgets what was long ago. */
static void test_pacing()
{
    const uint64_t period = RED_STREAM_PACING_PERIOD;
    RedStreamLink link = test_make_link(20, 100000, 250000);
    RedStreamPacing pacing;

    /* not as long as hardly anything is lost */
    link.segments = 1000;
    link.retransmits = 20;
    pacing.update(1, &link);
    g_assert_cmpuint(pacing.get_rate(), ==, 0);
    link.retransmits = 40;
    pacing.update(1, &link);
    g_assert_cmpuint(pacing.get_rate(), ==, 312500);
    link.segments = 1000000;
    link.delivery_rate = 200000;
    pacing.update(2, &link);
    g_assert_cmpuint(pacing.get_rate(), ==, 312500);
    link.delivery_rate = 400000;
    pacing.update(3, &link);
    g_assert_cmpuint(pacing.get_rate(), ==, 500000);

    /* the path has become slower, which two periods with enough to send show */
    link.delivery_rate = 100000;
    pacing.update(3 + period, &link);
    g_assert_cmpuint(pacing.get_rate(), ==, 500000);
    pacing.update(3 + 2 * period, &link);
    g_assert_cmpuint(pacing.get_rate(), ==, 125000);
    /* however long nothing was sent */
    pacing.update(3 + 100 * period, &link);
    g_assert_cmpuint(pacing.get_rate(), ==, 125000);
}

/* What says nothing about the path changes nothing. */
static void test_not_paced()
{
    RedStreamPacing pacing;
    RedStreamLink lossy = test_make_link(20, 100000, 250000);

    lossy.segments = 1000;
    lossy.retransmits = 100;
    RedStreamLink link = lossy;
    link.app_limited = true;
    pacing.update(1, &link);
    link = lossy;
    link.slow_start = true;
    pacing.update(1, &link);
    link = lossy;
    link.delivery_rate = 0;
    pacing.update(1, &link);
    g_assert_cmpuint(pacing.get_rate(), ==, 0);
}

/* Cut @messages, which are here at a flush, in records of at most @limit bytes as the
 * egress does, and check the rules. */
static void check_records(const std::vector<size_t> &messages, size_t limit)
{
    std::vector<size_t> ends, records;
    size_t pending = 0;

    for (size_t size : messages) {
        pending += size;
        ends.push_back(pending);
    }

    const size_t total = pending;
    size_t last_message = total - messages.back();
    while (pending) {
        const size_t n = red_stream_policy_next_record(pending, last_message, limit);

        g_assert_cmpuint(n, >, 0);
        g_assert_cmpuint(n, <=, MIN(pending, limit));
        records.push_back(n);
        pending -= n;
        last_message -= MIN(last_message, n);
    }

    size_t ends_in_last = 0;
    for (size_t end : ends) {
        ends_in_last += end > total - records.back();
    }
    g_assert_cmpuint(ends_in_last, ==, 1);

    const size_t least = (total + limit - 1) / limit;
    g_assert_cmpuint(records.size(), >=, least);
    g_assert_cmpuint(records.size(), <=, least + 1);
    if (messages.size() == 1) {
        g_assert_cmpuint(records.size(), ==, least);
    }
}

/* All lists of messages of at most 5 bytes each that hold at most @room bytes. */
static void check_lists(std::vector<size_t> *messages, size_t room)
{
    for (size_t size = 1; size <= MIN(room, 5); ++size) {
        messages->push_back(size);
        for (size_t limit = 1; limit <= 13; ++limit) {
            check_records(*messages, limit);
        }
        check_lists(messages, room - size);
        messages->pop_back();
    }
}

static void test_next_record()
{
    std::vector<size_t> messages;

    check_lists(&messages, 12);

    /* around the real limit */
    for (size_t first = RED_STREAM_RECORD_MAX - 3; first <= RED_STREAM_RECORD_MAX + 3; ++first) {
        for (size_t second = 1; second <= 5; ++second) {
            check_records({ first }, RED_STREAM_RECORD_MAX);
            check_records({ first, second }, RED_STREAM_RECORD_MAX);
            check_records({ second, first }, RED_STREAM_RECORD_MAX);
            check_records({ first, second, first }, RED_STREAM_RECORD_MAX);
        }
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream/policy/modes", test_modes);
    g_test_add_func("/server/stream/policy/settings", test_settings);
    g_test_add_func("/server/stream/policy/bad-texts", test_bad_texts);
    g_test_add_func("/server/stream/policy/environment/unset", test_environment_unset);
    g_test_add_func("/server/stream/policy/environment/good", test_environment_good);
    g_test_add_func("/server/stream/policy/environment/bad", test_environment_bad);
    g_test_add_func("/server/stream/policy/environment/empty", test_environment_empty);
    g_test_add_func("/server/stream/policy/record-size", test_record_size);
    g_test_add_func("/server/stream/policy/record-size/idle", test_record_size_idle);
    g_test_add_func("/server/stream/policy/record-size/unknown", test_record_size_unknown);
    g_test_add_func("/server/stream/policy/seen-rate", test_seen_rate);
    g_test_add_func("/server/stream/policy/warm-up-size", test_warm_up_size);
    g_test_add_func("/server/stream/policy/unsent-limit", test_unsent_limit);
    g_test_add_func("/server/stream/policy/pacing", test_pacing);
    g_test_add_func("/server/stream/policy/not-paced", test_not_paced);
    g_test_add_func("/server/stream/policy/next-record", test_next_record);

    return g_test_run();
}
