/* SPDX-License-Identifier: LGPL-2.1-or-later */
#undef NDEBUG
#include <assert.h>
#include <math.h>

#include "shaper.h"

#define FRAME 1514
#define MS (NS_PER_S / 1000)
#define TRIALS 200000

static const ShaperConfig lan = { .rate = 100000000, .queue = 125000, .delay = 5 * MS };

static Shaper make(ShaperConfig config, uint64_t seed)
{
    Shaper shaper;

    shaper_init(&shaper, &config, seed);
    return shaper;
}

/* For a packet that must pass. */
static uint64_t pass(Shaper *shaper, uint64_t now, uint32_t size)
{
    uint64_t due = 0;

    assert(shaper_packet(shaper, now, size, &due) == SHAPER_PASS);
    return due;
}

static void test_no_limit(void)
{
    Shaper shaper = make((ShaperConfig) { .delay = 7 }, 1);

    assert(pass(&shaper, 100, FRAME) == 107);
    assert(pass(&shaper, 100, FRAME) == 107);
    assert(shaper_backlog(&shaper, 100) == 0);
    assert(shaper.max_backlog == 0);
}

static void test_serialisation(void)
{
    Shaper shaper = make(lan, 1);

    /* 1514 bytes at 100 Mbit/s take 121.12 us */
    assert(pass(&shaper, 1000, FRAME) == 1000 + 121120 + 5 * MS);
    assert(pass(&shaper, 1000, FRAME) == 1000 + 2 * 121120 + 5 * MS);
    /* 54 bytes 4.32 us, behind those that are still being sent */
    assert(pass(&shaper, 50000, 54) == 1000 + 2 * 121120 + 4320 + 5 * MS);
    /* the line was idle: nothing is saved up */
    assert(pass(&shaper, 10 * MS, FRAME) == 10 * MS + 121120 + 5 * MS);
}

static void test_rest_of_a_nanosecond(void)
{
    Shaper shaper = make((ShaperConfig) { .rate = 3000000, .queue = 65536 }, 1);

    /* 100 bytes take 266 666 2/3 ns: never early, and exact over three */
    assert(pass(&shaper, 0, 100) == 266667);
    assert(pass(&shaper, 0, 100) == 533334);
    assert(pass(&shaper, 0, 100) == 800000);
}

static void test_no_drift(void)
{
    Shaper shaper = make((ShaperConfig) { .rate = 7777777, .queue = 65536 }, 1);
    uint64_t due = 0;

    /* each comes when the one before it has left */
    for (int i = 0; i < 1000000; i++) {
        due = pass(&shaper, due > 0 ? due - 1 : 0, FRAME);
    }
    /* not a whole number of ns, so one more */
    assert(due == UINT64_C(1000000) * FRAME * 8 * NS_PER_S / 7777777 + 1);
}

static void test_queue(void)
{
    ShaperConfig config = { .rate = 8000000, .queue = 3000 }; /* 1 us a byte */
    Shaper shaper = make(config, 1);
    uint64_t due = 0;

    assert(pass(&shaper, 0, 1000) == 1000000);
    assert(pass(&shaper, 0, 1000) == 2000000);
    assert(pass(&shaper, 0, 1000) == 3000000);
    assert(shaper_backlog(&shaper, 0) == 3000);
    assert(shaper_packet(&shaper, 0, 1, &due) == SHAPER_QUEUE_FULL);
    /* half of the first is sent */
    assert(shaper_backlog(&shaper, 500000) == 2500);
    assert(shaper_backlog(&shaper, 500001) == 2500);
    assert(shaper_packet(&shaper, 500000, 501, &due) == SHAPER_QUEUE_FULL);
    assert(pass(&shaper, 500000, 500) == 3500000);
    assert(shaper_backlog(&shaper, 3500000) == 0);
    assert(shaper.max_backlog == 3000);
    assert(pass(&shaper, 9000000, 3000) == 12000000);
}

static void test_largest(void)
{
    ShaperConfig config = { .rate = SHAPER_RATE_MAX, .queue = SHAPER_QUEUE_MAX };
    uint64_t due = 0;

    for (config.rate = SHAPER_RATE_MAX; config.rate > 0; config.rate /= 1000) {
        Shaper shaper = make(config, 1);
        uint64_t packets = 0;
        while (shaper_packet(&shaper, 0, FRAME, &due) == SHAPER_PASS) {
            packets++;
        }
        assert(packets == SHAPER_QUEUE_MAX / FRAME);
        assert(shaper.max_backlog == packets * FRAME);
    }
}

/* Share of TRIALS packets that is lost, and the mean length of a run of them. */
static void lose(Shaper *shaper, double *share, double *run)
{
    uint64_t due = 0;
    int lost = 0;
    int runs = 0;
    bool losing = false;

    for (int i = 0; i < TRIALS; i++) {
        bool loses = shaper_packet(shaper, 0, FRAME, &due) == SHAPER_LOST;
        lost += loses;
        runs += loses && !losing;
        losing = loses;
    }
    *share = (double) lost / TRIALS;
    *run = runs > 0 ? (double) lost / runs : 0;
}

static void test_independent_loss(void)
{
    static const double losses[] = { 0, 0.001, 0.01, 0.2, 0.9, 1 };

    for (unsigned i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
        Shaper shaper = make((ShaperConfig) { .loss = losses[i] }, i);
        double share, run;
        lose(&shaper, &share, &run);
        assert(fabs(share - losses[i]) <= 5 * sqrt(losses[i] * (1 - losses[i]) / TRIALS));
        if (losses[i] > 0 && losses[i] < 1) {
            assert(fabs(run * (1 - losses[i]) - 1) < 0.1);
        }
    }
}

static void test_loss_in_bursts(void)
{
    Shaper shaper = make((ShaperConfig) { .loss = 0.02, .loss_burst = 5 }, 3);
    double share, run;

    lose(&shaper, &share, &run);
    assert(fabs(share - 0.02) < 0.004);
    assert(fabs(run - 5) < 0.5);
}

/* Whether both lose the same of 1000 packets; those with no room in the queue count neither way. */
static bool lose_alike(Shaper a, Shaper b)
{
    uint64_t due = 0;

    for (int i = 0; i < 1000; i++) {
        ShaperVerdict verdict_a = shaper_packet(&a, 0, FRAME, &due);
        ShaperVerdict verdict_b = shaper_packet(&b, 0, FRAME, &due);
        if (verdict_a != verdict_b && verdict_a != SHAPER_QUEUE_FULL &&
            verdict_b != SHAPER_QUEUE_FULL) {
            return false;
        }
    }
    return true;
}

static void test_seed(void)
{
    ShaperConfig plain = { .loss = 0.1 };
    ShaperConfig jittery = { .loss = 0.1, .delay = MS, .jitter = MS };
    ShaperConfig narrow = { .loss = 0.1, .rate = 1000000, .queue = 500 * FRAME };

    assert(lose_alike(make(plain, 1), make(plain, 1)));
    assert(!lose_alike(make(plain, 1), make(plain, 2)));
    assert(lose_alike(make(plain, 1), make(jittery, 1)));
    assert(lose_alike(make(plain, 1), make(narrow, 1)));
}

static void test_lost_packets_use_the_line(void)
{
    Shaper shaper = make((ShaperConfig) { .rate = 8000000, .queue = 65536, .loss = 1 }, 1);
    uint64_t due = 0;

    assert(shaper_packet(&shaper, 0, 1000, &due) == SHAPER_LOST);
    assert(shaper_backlog(&shaper, 0) == 1000);
}

/* Of packets that come so often. */
static double mean_delay(uint64_t interval)
{
    Shaper shaper = make((ShaperConfig) { .delay = 20 * MS, .jitter = 5 * MS }, 1);
    uint64_t last = 0;
    double sum = 0;

    for (uint64_t i = 0; i < 10000; i++) {
        uint64_t due = pass(&shaper, i * interval, FRAME);
        assert(due - i * interval >= 15 * MS && due - i * interval <= 25 * MS);
        assert(due >= last);
        last = due;
        sum += (double) (due - i * interval);
    }
    return sum / 10000;
}

static void test_jitter(void)
{
    assert(fabs(mean_delay(11 * MS) - 20.0 * MS) < 0.2 * MS);
    /* held up by those before them */
    assert(mean_delay(MS) > 21.0 * MS);
}

/* 1000 bytes: 1 ms at 8 Mbit/s, 8 ms at 1 Mbit/s */
static const ShaperConfig changing = {
    .rate = 8000000, .queue = 100000, .delay = MS, .n_changes = 2,
    .changes = { { 10 * MS, 1000000 }, { 26 * MS, 8000000 } },
};

static void test_changes(void)
{
    Shaper shaper = make(changing, 1);

    /* not begun: as it is */
    assert(pass(&shaper, 100 * MS, 1000) == 102 * MS);
    shaper_begin(&shaper, 200 * MS);
    /* half of the second is sent at the old rate, half at the new */
    assert(pass(&shaper, 200 * MS + MS / 2 + 8 * MS, 1000) == 211 * MS - MS / 2);
    assert(pass(&shaper, 209 * MS, 1000) == 210 * MS + 4 * MS + MS);
    assert(pass(&shaper, 209 * MS, 1000) == 222 * MS + MS);
    /* 4 ms at 1 Mbit/s are half of it, the rest takes half a ms */
    assert(pass(&shaper, 209 * MS, 1000) == 226 * MS + MS / 2 + MS);
    /* bytes, whatever rate each will leave with: three and a half packets, less what is sent */
    assert(shaper_backlog(&shaper, 214 * MS) == 2000);
    assert(shaper_backlog(&shaper, 224 * MS) == 750);
    assert(pass(&shaper, 300 * MS, 1000) == 302 * MS);
}

/* What leaves meanwhile is lost, what waits behind it is sent. */
static void test_outage(void)
{
    ShaperConfig config = changing;

    config.changes[0] = (ShaperChange) { 10 * MS, 0 };
    config.changes[1] = (ShaperChange) { 20 * MS, 8000000 };
    Shaper shaper = make(config, 1);
    uint64_t due = 0;

    shaper_begin(&shaper, 0);
    for (int i = 0; i < 30; i++) {
        ShaperVerdict verdict = shaper_packet(&shaper, 0, 1000, &due);
        /* the tenth has left just when the cable comes out: it never arrives; the twentieth does */
        assert(verdict == (i < 9 || i >= 19 ? SHAPER_PASS : SHAPER_LOST));
        assert(verdict == SHAPER_LOST || due == (uint64_t) (i + 2) * MS);
    }
}

/* The fastest line and the largest queue, a slow time in the middle: no overflow, not a bit lost. */
static void test_largest_changes(void)
{
    ShaperConfig config = {
        .rate = SHAPER_RATE_MAX, .queue = SHAPER_QUEUE_MAX, .n_changes = 2,
        .changes = { { MS, 1000 }, { 3600 * NS_PER_S, SHAPER_RATE_MAX } },
    };
    Shaper shaper = make(config, 1);
    uint64_t last = 0;

    shaper_begin(&shaper, 0);
    for (int i = 0; i < 10000; i++) {
        last = pass(&shaper, 0, FRAME);
    }
    /* 10 Gbit in the first ms, 3.6 Mbit in the hour less that, and the rest, rounded up */
    assert(shaper_backlog(&shaper, 0) == 10000 * FRAME);
    assert(last - 3600 * NS_PER_S == (10000 * FRAME * 8 - 10000000 - 3599999 + 9) / 10);
}

int main(void)
{
    test_changes();
    test_outage();
    test_largest_changes();
    test_no_limit();
    test_serialisation();
    test_rest_of_a_nanosecond();
    test_no_drift();
    test_queue();
    test_largest();
    test_independent_loss();
    test_loss_in_bursts();
    test_seed();
    test_lost_packets_use_the_line();
    test_jitter();
    return 0;
}
