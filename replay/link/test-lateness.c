/* SPDX-License-Identifier: LGPL-2.1-or-later */
#undef NDEBUG
#include <assert.h>

#include "lateness.h"

static void test_empty(void)
{
    static Lateness lateness;

    assert(lateness_percentile(&lateness, 0.5) == 0);
    assert(lateness_percentile(&lateness, 0.99) == 0);
    assert(lateness_max(&lateness) == 0);
}

static void test_one(void)
{
    static Lateness lateness;

    lateness_add(&lateness, 2500);
    assert(lateness_max(&lateness) == 2.5);
    /* a step ends at 3 us, but nothing was later than 2.5 */
    assert(lateness_percentile(&lateness, 0.01) == 2.5);
    assert(lateness_percentile(&lateness, 1) == 2.5);
}

static void test_percentiles(void)
{
    static Lateness lateness;

    /* 0, 1, ... 999 us */
    for (uint64_t i = 0; i < 1000; i++) {
        lateness_add(&lateness, (i * 7 % 1000) * 1000);
    }
    assert(lateness_percentile(&lateness, 0.5) == 500);
    assert(lateness_percentile(&lateness, 0.99) == 990);
    assert(lateness_percentile(&lateness, 1) == 999);
    assert(lateness_max(&lateness) == 999);
}

static void test_beyond_the_histogram(void)
{
    static Lateness lateness;

    for (int i = 0; i < 90; i++) {
        lateness_add(&lateness, 0);
    }
    for (int i = 0; i < 10; i++) {
        lateness_add(&lateness, 70000000);
    }
    assert(lateness_percentile(&lateness, 0.9) == 1);
    assert(lateness_percentile(&lateness, 0.91) == 70000);
    assert(lateness_max(&lateness) == 70000);
}

int main(void)
{
    test_empty();
    test_one();
    test_percentiles();
    test_beyond_the_histogram();
    return 0;
}
