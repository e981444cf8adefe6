/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rate is a serialisation clock, not a bucket of tokens: a link has no burst allowance, two
 * packets sent together arrive one packet time apart.
 *
 * Loss is a chain of two states, the last packet lost or not (Gilbert). With independent losses
 * both states lead to a loss with the same chance; with bursts of a mean length b the lost state
 * is left with 1/b, and entered as often as gives the same share of losses over time.
 */
#include <string.h>

#include "shaper.h"

#define NS_BITS_PER_BYTE (8 * NS_PER_S)

/* splitmix64: small, sufficient, and the same on every machine (unlike rand_r). */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 <= x < 1 */
static double random_unit(uint64_t *state)
{
    return (double) (random_next(state) >> 11) / (double) (UINT64_C(1) << 53);
}

void shaper_init(Shaper *shaper, const ShaperConfig *config, uint64_t seed)
{
    memset(shaper, 0, sizeof(*shaper));
    shaper->config = *config;
    shaper->begun = SHAPER_NEVER;
    shaper->loss_enter = config->loss;
    shaper->loss_stay = config->loss;
    if (config->loss_burst > 0) {
        shaper->loss_stay = 1 - 1 / config->loss_burst;
        shaper->loss_enter = config->loss / (config->loss_burst * (1 - config->loss));
    }
    /* two streams, so that adding jitter to a link does not change which packets it loses */
    shaper->loss_random = random_next(&seed);
    shaper->jitter_random = random_next(&seed);
}

void shaper_begin(Shaper *shaper, uint64_t now)
{
    shaper->begun = now;
}

/* An interval in which the link does not change. */
typedef struct Stretch {
    uint64_t rate; /* during an outage the rate before it: packets are sent, and lost */
    bool out;
    uint64_t end; /* the first ns after it */
} Stretch;

static Stretch stretch_at(const Shaper *shaper, uint64_t when)
{
    Stretch stretch = { .rate = shaper->config.rate, .end = SHAPER_NEVER };

    if (shaper->begun == SHAPER_NEVER) {
        return stretch;
    }
    for (unsigned i = 0; i < shaper->config.n_changes; i++) {
        const ShaperChange *change = &shaper->config.changes[i];
        if (when < shaper->begun + change->at) {
            stretch.end = shaper->begun + change->at;
            break;
        }
        stretch.out = change->rate == 0;
        stretch.rate = change->rate ? change->rate : stretch.rate;
    }
    return stretch;
}

uint64_t shaper_backlog(const Shaper *shaper, uint64_t now)
{
    uint64_t bits_ns = 0;

    if (shaper->config.rate == 0) {
        return 0;
    }
    while (now < shaper->free_at) {
        Stretch stretch = stretch_at(shaper, now);
        uint64_t until = stretch.end < shaper->free_at ? stretch.end : shaper->free_at;
        bits_ns += (until - now) * stretch.rate;
        now = until;
    }
    return (bits_ns + NS_BITS_PER_BYTE - 1) / NS_BITS_PER_BYTE;
}

/* Drawn for every packet, also for one the queue has no room for: which packets are lost is then
 * a matter of their number and the seed only, not of timing. */
static bool loses_next(Shaper *shaper)
{
    double chance = shaper->losing ? shaper->loss_stay : shaper->loss_enter;

    shaper->losing = random_unit(&shaper->loss_random) < chance;
    return shaper->losing;
}

/* Sends size bytes and returns when the last of them has left; sets *out if the link is out at that time. */
static uint64_t serialise(Shaper *shaper, uint64_t now, uint32_t size, bool *out)
{
    uint64_t left = size * NS_BITS_PER_BYTE;

    if (shaper->config.rate == 0) {
        return now;
    }
    if (shaper->free_at < now) {
        shaper->free_at = now;
        shaper->free_at_rest = 0;
    }
    Stretch stretch = stretch_at(shaper, shaper->free_at);
    left += shaper->free_at_rest;
    while (left / stretch.rate >= stretch.end - shaper->free_at) {
        left -= (stretch.end - shaper->free_at) * stretch.rate;
        shaper->free_at = stretch.end;
        stretch = stretch_at(shaper, shaper->free_at);
    }
    shaper->free_at += left / stretch.rate;
    shaper->free_at_rest = left % stretch.rate;
    *out = stretch.out;
    return shaper->free_at + (shaper->free_at_rest > 0);
}

static uint64_t draw_delay(Shaper *shaper)
{
    uint64_t jitter = shaper->config.jitter;

    if (jitter == 0) {
        return shaper->config.delay;
    }
    return shaper->config.delay - jitter +
           (uint64_t) (random_unit(&shaper->jitter_random) * (double) (2 * jitter + 1));
}

ShaperVerdict shaper_packet(Shaper *shaper, uint64_t now, uint32_t size, uint64_t *due)
{
    bool lost = loses_next(shaper);
    bool out = false;
    uint64_t backlog = shaper_backlog(shaper, now) + size;

    if (shaper->config.rate > 0) {
        if (backlog > shaper->config.queue) {
            return SHAPER_QUEUE_FULL;
        }
        if (backlog > shaper->max_backlog) {
            shaper->max_backlog = backlog;
        }
    }
    uint64_t arrival = serialise(shaper, now, size, &out) + draw_delay(shaper);
    if (lost || out) {
        return SHAPER_LOST;
    }
    if (arrival < shaper->last_due) { /* packets do not overtake */
        arrival = shaper->last_due;
    }
    shaper->last_due = arrival;
    *due = arrival;
    return SHAPER_PASS;
}
