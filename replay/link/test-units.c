/* SPDX-License-Identifier: LGPL-2.1-or-later */
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "units.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static const char *const never_valid[] = {
    "", "M", "ms", "-1", "+1", " 1", "1 ", "1e3", "0x10", "inf", "nan", "1.2.3", ".", "1,5", "20Q",
};

static void test_rate(void)
{
    const uint64_t max = UINT64_C(10000000000);
    uint64_t rate = 7;

    assert(parse_rate("20M", max, &rate) && rate == 20000000);
    assert(parse_rate("2.5M", max, &rate) && rate == 2500000);
    assert(parse_rate("512k", max, &rate) && rate == 512000);
    assert(parse_rate("9600", max, &rate) && rate == 9600);
    assert(parse_rate("10G", max, &rate) && rate == max);
    rate = 7;
    assert(!parse_rate("10.1G", max, &rate));
    assert(!parse_rate("20Mbit", max, &rate));
    assert(!parse_rate("20ms", max, &rate));
    assert(!parse_rate("99999999999999999999999999999G", max, &rate));
    for (size_t i = 0; i < ARRAY_SIZE(never_valid); i++) {
        assert(!parse_rate(never_valid[i], max, &rate));
    }
    assert(rate == 7);
}

static void test_duration(void)
{
    const uint64_t max = UINT64_C(10000000000);
    uint64_t ns = 7;

    assert(parse_duration("40ms", max, &ns) && ns == 40000000);
    assert(parse_duration("500us", max, &ns) && ns == 500000);
    assert(parse_duration("0.5s", max, &ns) && ns == 500000000);
    assert(parse_duration("0", max, &ns) && ns == 0);
    ns = 7;
    /* a time without a unit is as likely meant in s as in ms */
    assert(!parse_duration("40", max, &ns));
    assert(!parse_duration("11s", max, &ns));
    for (size_t i = 0; i < ARRAY_SIZE(never_valid); i++) {
        assert(!parse_duration(never_valid[i], max, &ns));
    }
    assert(ns == 7);
}

static void test_size(void)
{
    uint64_t bytes = 7;

    assert(parse_size("65536", 1 << 20, &bytes) && bytes == 65536);
    assert(parse_size("64K", 1 << 20, &bytes) && bytes == 65536);
    assert(parse_size("1M", 1 << 20, &bytes) && bytes == 1 << 20);
    bytes = 7;
    assert(!parse_size("1048577", 1 << 20, &bytes));
    for (size_t i = 0; i < ARRAY_SIZE(never_valid); i++) {
        assert(!parse_size(never_valid[i], 1 << 20, &bytes));
    }
    assert(bytes == 7);
}

static void test_share(void)
{
    double share = 7;

    assert(parse_share("1%", &share) && fabs(share - 0.01) < 1e-12);
    assert(parse_share("0.01", &share) && fabs(share - 0.01) < 1e-12);
    assert(parse_share("100%", &share) && share == 1);
    assert(parse_share("0", &share) && share == 0);
    share = 7;
    assert(!parse_share("101%", &share));
    assert(!parse_share("2", &share));
    for (size_t i = 0; i < ARRAY_SIZE(never_valid); i++) {
        assert(!parse_share(never_valid[i], &share));
    }
    assert(share == 7);
}

static void test_integer(void)
{
    uint64_t value = 7;

    assert(parse_integer("0", 10, &value) && value == 0);
    assert(parse_integer("18446744073709551615", UINT64_MAX, &value) && value == UINT64_MAX);
    value = 7;
    assert(!parse_integer("11", 10, &value));
    assert(!parse_integer("18446744073709551616", UINT64_MAX, &value));
    assert(!parse_integer("1.0", 10, &value));
    for (size_t i = 0; i < ARRAY_SIZE(never_valid); i++) {
        assert(!parse_integer(never_valid[i], 10, &value));
    }
    assert(value == 7);
}

int main(void)
{
    test_rate();
    test_duration();
    test_size();
    test_share();
    test_integer();
    return 0;
}
