/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Test the decisions of red-stream-policy.h */
#include <config.h>

#include <cstring>

#include <glib.h>

#include "test-glib-compat.h"
#include "red-stream-policy.h"

static void test_modes()
{
    static const struct {
        const char *name;
        bool cork;
    } rows[] = {
        { "normal", false },
        { "cork",   true },
    };

    for (const auto &row : rows) {
        RedStreamPolicy policy = { };

        g_assert_true(red_stream_policy_parse(row.name, &policy));
        g_assert_cmpstr(policy.name, ==, row.name);
        g_assert_cmpint(policy.cork, ==, row.cork);
    }
}

static void test_bad_texts()
{
    static const char *const texts[] = {
        "", ",", " ", "Normal", "NORMAL", " normal", "normal ", "norma", "normall", "normal,", ",normal",
        "normal,cork",
    };

    for (const char *text : texts) {
        RedStreamPolicy policy = { };
        std::string ignored;

        g_assert_true(red_stream_policy_parse("cork", &policy));
        if (red_stream_policy_parse(text, &policy, &ignored)) {
            g_error("'%s' was accepted", text);
        }
        g_assert_true(ignored == "'" + std::string(text) + "'");
        g_assert_cmpstr(policy.name, ==, "cork");
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
    g_assert_cmpstr(policy->name, ==, expected.name);

    /* read once, warned of once */
    g_setenv("SPICE_STREAM", "cork", TRUE);
    g_assert_true(red_stream_policy_get() == policy);
    g_assert_cmpstr(policy->name, ==, expected.name);
}

static void test_environment_unset()
{
    run_with_environment(nullptr, false);
}

static void test_environment_good()
{
    run_with_environment("normal", false);
}

static void test_environment_bad()
{
    run_with_environment("fast,please", true);
}

static void test_environment_empty()
{
    run_with_environment("", true);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/server/stream/policy/modes", test_modes);
    g_test_add_func("/server/stream/policy/bad-texts", test_bad_texts);
    g_test_add_func("/server/stream/policy/environment/unset", test_environment_unset);
    g_test_add_func("/server/stream/policy/environment/good", test_environment_good);
    g_test_add_func("/server/stream/policy/environment/bad", test_environment_bad);
    g_test_add_func("/server/stream/policy/environment/empty", test_environment_empty);

    return g_test_run();
}
