/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <glib.h>

#include "red-token-window.h"

/* microseconds by which round trips differ without a queue, and that a queue may take at least */
#define NOISE 2000
#define QUEUE 20000
/* After so many successive round trips longer than the window explains, the path is longer. */
#define LONGER_ROUNDS 3
/* A path that carried no more may carry a quarter more after so many round trips. */
#define FULL_ROUNDS 16

void RedTokenWindow::add_message(uint64_t now)
{
    ++waiting;
    longest_gap = MAX(longest_gap, now - last_message);
    last_message = now;
    if (to_come > 0 && --to_come == 0) {
        end_round(now - round_start);
    }
}

void RedTokenWindow::grow(uint32_t new_size)
{
    size_before = size;
    size = MIN(new_size, (uint32_t) MOST);
    has_grown = true;
}

void RedTokenWindow::set_full(uint32_t new_size)
{
    size = MAX(new_size, (uint32_t) INITIAL);
    size_before = size;
    has_grown = false;
    full = true;
    rounds_since_full = 0;
}

void RedTokenWindow::end_round(uint64_t duration)
{
    if (shortest_round == 0 || duration < shortest_round) {
        shortest_round = MAX(duration, 1);
    }
    const uint64_t queued = duration - MIN(duration, shortest_round);
    const bool is_behind = waiting > INITIAL;
    const bool is_queued = queued > shortest_round + QUEUE;
    /* the client had nothing to send */
    const bool paused = longest_gap > 2 * shortest_round + QUEUE;
    /* a line that carries less brings the messages one by one, a longer one in bunches */
    const bool is_longer = is_queued && !is_behind && size == INITIAL && longest_gap > duration / 4;

    longer_rounds = paused || is_longer ? longer_rounds + 1 : 0;
    if (longer_rounds >= LONGER_ROUNDS) {
        shortest_round = duration;
        longer_rounds = 0;
    } else if (paused) {
        /* which is no queue */
    } else if (is_behind || is_queued) {
        set_full(size / 2);
        /* from there on it may try again */
        full = size > INITIAL;
    } else if (has_grown) {
        has_grown = false;
    } else if (queued > shortest_round / 4 + NOISE) {
        /* the last step was too much */
        set_full(size_before);
    } else if (!full) {
        grow(size * 2);
    } else if (size > size_before || ++rounds_since_full == FULL_ROUNDS) {
        grow(size + size / 4);
    }
}

uint32_t RedTokenWindow::give(uint32_t num, uint32_t limit, uint64_t now)
{
    under_way -= MIN(num, under_way);
    waiting -= MIN(num, waiting);
    size = MIN(size, limit);
    const uint32_t tokens = size > under_way ? size - under_way : 0;

    if (tokens > 0 && to_come == 0) {
        /* those with tokens from before come first */
        to_come = under_way - MIN(waiting, under_way) + 1;
        round_start = now;
        longest_gap = 0;
    }
    under_way += tokens;
    return tokens;
}

void RedTokenWindow::restart(uint32_t tokens)
{
    *this = RedTokenWindow();
    under_way = tokens;
}
