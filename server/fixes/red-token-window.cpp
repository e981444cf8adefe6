/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <glib.h>

#include "red-token-window.h"

/* microseconds by which round trips differ without a queue, and that a queue may take at least */
#define NOISE 2000
#define QUEUE 20000

void RedTokenWindow::add_message(uint64_t now)
{
    ++waiting;
    if (to_come > 0 && --to_come == 0) {
        end_round(now - round_start);
    }
}

void RedTokenWindow::end_round(uint64_t duration)
{
    if (shortest_round == 0 || duration < shortest_round) {
        shortest_round = MAX(duration, 1);
    }
    const uint64_t queued = duration - MIN(duration, shortest_round);

    if (waiting > INITIAL || queued > shortest_round + QUEUE) {
        size = MAX(size / 2, (uint32_t) INITIAL);
        /* from there on it may try again */
        full = size > INITIAL;
    } else if (full) {
        return;
    } else if (queued > shortest_round / 4 + NOISE) {
        /* the last step was too much */
        size = MAX(size / 2, (uint32_t) INITIAL);
        full = true;
    } else {
        size = MIN(size * 2, (uint32_t) MOST);
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
    }
    under_way += tokens;
    return tokens;
}

void RedTokenWindow::restart(uint32_t tokens)
{
    *this = RedTokenWindow();
    under_way = tokens;
}
