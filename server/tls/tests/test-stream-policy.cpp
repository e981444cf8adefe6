/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test the decisions of red-stream-policy.h */
#include <config.h>

#include <vector>

#include <glib.h>

#include "test-glib-compat.h"
#include "test-stream-link.h"

/* What other modules define, and a program that links them has as well. */
static const RedStreamMode other_mode("other", false, false, "number");
static const RedStreamSetting number("number", 1, UINT32_MAX - 1, 9);
static const RedStreamSetting switched("switch", "other");

static void test_modes()
{
    static const struct {
        const char *name;
        bool cork, batch;
    } rows[] = {
        { "cork",  true,  false },
        { "batch", false, true },
        { "other", false, false },
    };

    for (const auto &row : rows) {
        RedStreamPolicy policy = { };

        g_assert_true(red_stream_policy_parse(row.name, &policy));
        g_assert_cmpstr(policy.mode->name, ==, row.name);
        g_assert_cmpint(policy.mode->cork, ==, row.cork);
        g_assert_cmpint(policy.mode->batch, ==, row.batch);
        g_assert_cmpuint(red_stream_setting_record.get(&policy), ==, 0);
        g_assert_cmpuint(number.get(&policy), ==, 9);
        g_assert_cmpint(switched.get(&policy), ==, policy.mode == &other_mode);
    }
}

static void check(const char *text, const char *mode, uint32_t record, uint32_t of_number,
                  bool is_on)
{
    RedStreamPolicy policy = { };

    g_assert_true(red_stream_policy_parse(text, &policy));
    g_assert_cmpstr(policy.mode->name, ==, mode);
    g_assert_cmpuint(red_stream_setting_record.get(&policy), ==, record);
    g_assert_cmpuint(number.get(&policy), ==, of_number);
    g_assert_cmpint(switched.get(&policy), ==, is_on);
}

static void test_settings()
{
    check("batch,record=512", "batch", 512, 9, false);
    check("batch,record=16384", "batch", 16384, 9, false);
    check("batch,record=512,record=auto", "batch", 0, 9, false);
    check("batch,number=1", "batch", 0, 1, false);
    check("batch,number=4294967294", "batch", 0, UINT32_MAX - 1, false);
    check("batch,switch=on", "batch", 0, 9, true);
    check("other,switch=off", "other", 0, 9, false);
    /* in any order, the last one counts */
    check("batch,number=400,record=2000,switch=on,record=4000", "batch", 4000, 400, true);

    /* nothing is left of an earlier text, and the mode may be missing */
    RedStreamPolicy policy = { };
    g_assert_true(red_stream_policy_parse("batch,number=400", &policy));
    g_assert_true(red_stream_policy_parse("batch", &policy));
    g_assert_cmpuint(number.get(&policy), ==, 9);
    g_assert_true(red_stream_policy_parse("record=600", &policy));
    g_assert_true(policy.mode == &red_stream_mode_batch);
    g_assert_cmpuint(red_stream_setting_record.get(&policy), ==, 600);

    g_assert_true(red_stream_setting_record.get_syntax() == "auto|N");
    g_assert_true(number.get_syntax() == "N");
    g_assert_true(switched.get_syntax() == "on|off");
}

static void test_bad_texts()
{
    static const char *const texts[] = {
        "", ",", " ", "Batch", "BATCH", " batch", "batch ", "batc", "batchh", "batch,", ",batch",
        "batch,,record=auto", "batch,cork", "batch,record", "batch,record=",
        "batch,record=Auto", "batch,record=auto ", "batch,record=511", "batch,record=16385",
        "batch,record=-1", "batch,record=+600", "batch,record= 600", "batch,record=600x",
        "batch,record=0x400", "batch,record=1e3", "batch,record=4294967896",
        "batch,record=18446744073709552216", "batch,record=99999999999999999999999999",
        "batch,number=0", "batch,number=4294967295", "batch,number=auto", "batch,number=80;",
        "batch,switch", "batch,switch=", "batch,switch=1", "batch,switch=yes", "batch,switch=On",
        "batch,unknown=1", "batch, record=auto",
        /* what comes after a good setting counts too */
        "batch,record=600,number=0",
        /* a setting that the mode does not have */
        "other,number=5",
    };

    for (const char *text : texts) {
        RedStreamPolicy policy = { };
        std::string ignored;

        if (red_stream_policy_parse(text, &policy, &ignored)) {
            g_error("'%s' was accepted", text);
        }
        g_assert_cmpuint(ignored.length(), >=, 2);
    }
}

/* A word that can't be used is named, and the others count. */
static void test_the_rest_counts()
{
    static const struct {
        const char *text, *same_as, *ignored;
    } rows[] = {
        { "batch,record=600,unknown=1,number=400", "batch,record=600,number=400", "'unknown=1'" },
        { "batch,unknown=1,number=0", "batch", "'unknown=1', 'number=0'" },
        { "batch,record=600,record=1", "batch,record=600", "'record=1'" },
        { "batch,,number=90,x", "batch,number=90", "'', 'x'" },
        /* the mode that was there */
        { "fast,record=600", "cork,record=600", "'fast'" },
        { "", "cork", "''" },
    };

    for (const auto &row : rows) {
        RedStreamPolicy policy = { }, expected = { };
        std::string ignored;

        g_assert_true(red_stream_policy_parse("cork", &policy));
        g_assert_false(red_stream_policy_parse(row.text, &policy, &ignored));
        g_assert_true(red_stream_policy_parse(row.same_as, &expected));
        g_assert_cmpstr(ignored.c_str(), ==, row.ignored);
        g_assert_true(policy.mode == expected.mode);
        g_assert_cmpmem(policy.values, sizeof(policy.values),
                        expected.values, sizeof(expected.values));
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
        g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING,
                              "*SPICE_STREAM=*using " RED_STREAM_DEFAULT "*");
    }
    const RedStreamPolicy *policy = red_stream_policy_get();
    g_test_assert_expected_messages();

    RedStreamPolicy expected = { };
    g_assert_true(red_stream_policy_parse(warns || !value ? RED_STREAM_DEFAULT : value, &expected));
    g_assert_true(policy->mode == expected.mode);
    g_assert_cmpmem(policy->values, sizeof(policy->values),
                    expected.values, sizeof(expected.values));

    /* read once, warned of once */
    g_setenv("SPICE_STREAM", "cork,record=700", TRUE);
    g_assert_true(red_stream_policy_get() == policy);
    g_assert_true(policy->mode == expected.mode);
}

static void test_environment_unset()
{
    run_with_environment(nullptr, false);
}

static void test_environment_good()
{
    run_with_environment("cork,record=777", false);
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

    /* many small segments let the window grow further */
    link = test_make_link(400, 100000, 30000);
    link.app_limited = true;
    g_assert_cmpuint(red_stream_policy_record_size(&link), ==, RED_STREAM_RECORD_MAX);

    /* a modem: never below a segment, less what TLS adds to it */
    link = test_make_link(4, 600000, 5000);
    g_assert_cmpuint(red_stream_policy_record_size(&link), >=, 1448 - 29);
    g_assert_cmpuint(red_stream_policy_record_size(&link), <=, 1448 - 22);

    /* with tiny segments no less than record= takes */
    link = test_make_link(4, 600000, 1);
    for (uint32_t mss : { 1, 29, 30, 88 }) {
        link.mss = mss;
        g_assert_cmpuint(red_stream_policy_record_size(&link), ==, 512);
    }
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
    g_test_add_func("/server/stream/policy/the-rest-counts", test_the_rest_counts);
    g_test_add_func("/server/stream/policy/environment/unset", test_environment_unset);
    g_test_add_func("/server/stream/policy/environment/good", test_environment_good);
    g_test_add_func("/server/stream/policy/environment/bad", test_environment_bad);
    g_test_add_func("/server/stream/policy/environment/empty", test_environment_empty);
    g_test_add_func("/server/stream/policy/record-size", test_record_size);
    g_test_add_func("/server/stream/policy/record-size/idle", test_record_size_idle);
    g_test_add_func("/server/stream/policy/record-size/unknown", test_record_size_unknown);
    g_test_add_func("/server/stream/policy/next-record", test_next_record);

    return g_test_run();
}
