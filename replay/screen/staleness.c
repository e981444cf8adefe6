/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "staleness.h"

#include <stdlib.h>

#define FRESH INT64_MAX

static int by_tile(const void *one, const void *other)
{
    const TileRecord *a = one, *b = other;

    if (a->tile != b->tile) {
        return a->tile < b->tile ? -1 : 1;
    }
    return a->when < b->when ? -1 : a->when > b->when;
}

/* Which of the first n looks like that, from the one that was shown last on: see staleness.h. */
static size_t shown_of(const TileRecord *due, size_t last, size_t n, uint32_t means)
{
    int least = 256;

    for (size_t i = n; i-- > last;) {
        int distance = tile_distance(due[i].means, means);
        if (distance <= TILE_ALIKE) {
            return i;
        }
        least = distance < least ? distance : least;
    }
    for (size_t i = n; i-- > last;) {
        if (tile_distance(due[i].means, means) <= least + TILE_ALIKE) {
            return i;
        }
    }
    return last;
}

static void paint(Staleness *staleness, int64_t from, int64_t to, int64_t since)
{
    if (since == FRESH) {
        return;
    }
    for (int64_t step = (from - staleness->begin) / STALENESS_STEP;
         step < (to - staleness->begin) / STALENESS_STEP && step < (int64_t) staleness->steps; step++) {
        if (since < staleness->since[step]) {
            staleness->since[step] = since;
        }
    }
}

/* All of one tile. */
static void follow(Staleness *staleness, const TileRecord *due, size_t n_due,
                   const TileRecord *seen, size_t n_seen, int64_t end)
{
    size_t come = 0, looked = 0, shown = 0;
    int64_t now = staleness->begin, since = FRESH;

    while (come < n_due || looked < n_seen) {
        int64_t next;
        if (looked == n_seen || (come < n_due && due[come].when <= seen[looked].when)) {
            next = due[come++].when;
        } else {
            next = seen[looked++].when;
        }
        if (next > now) {
            paint(staleness, now, next, since);
            now = next;
        }
        if (come == 0) {
            continue;
        }
        if (looked) {
            shown = shown_of(due, shown, come, seen[looked - 1].means);
        }
        size_t unseen = looked ? shown + 1 : 0;
        for (size_t i = unseen; i < come; i++) {
            unseen = due[i].means == TILE_OUTSIDE ? i + 1 : unseen;
        }
        since = unseen < come ? due[unseen].when : FRESH;
    }
    paint(staleness, now, end, since);
}

static size_t tile_end(const TileRecord *records, size_t n, size_t at, uint32_t tile)
{
    while (at < n && records[at].tile == tile) {
        at++;
    }
    return at;
}

Staleness *staleness_new(TileRecord *due, size_t n_due, TileRecord *seen, size_t n_seen,
                         int64_t end)
{
    Staleness *staleness = calloc(1, sizeof(*staleness));
    int64_t last = n_due ? due[n_due - 1].when : 0;

    staleness->begin = n_due ? due[0].when : 0;
    end = end > last ? end : last;
    staleness->steps = n_due ? (size_t) ((end - staleness->begin) / STALENESS_STEP + 1) : 0;
    staleness->since = malloc((staleness->steps + 1) * sizeof(*staleness->since));
    for (size_t i = 0; i < staleness->steps; i++) {
        staleness->since[i] = FRESH;
    }
    if (n_due) {
        qsort(due, n_due, sizeof(*due), by_tile);
    }
    if (n_seen) {
        qsort(seen, n_seen, sizeof(*seen), by_tile);
    }
    for (size_t i = 0, j = 0; i < n_due;) {
        uint32_t tile = due[i].tile;
        while (j < n_seen && seen[j].tile < tile) {
            j++;
        }
        size_t next_i = tile_end(due, n_due, i, tile), next_j = tile_end(seen, n_seen, j, tile);
        follow(staleness, due + i, next_i - i, seen + j, next_j - j, end);
        i = next_i;
        j = next_j;
    }
    while (staleness->steps > 0 && staleness->since[staleness->steps - 1] == FRESH &&
           staleness->begin + (int64_t) (staleness->steps - 1) * STALENESS_STEP > last) {
        staleness->steps--;
    }
    return staleness;
}

void staleness_free(Staleness *staleness)
{
    free(staleness->since);
    free(staleness);
}
