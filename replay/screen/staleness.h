/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Staleness of a screen, from the ground truth (what was due) and a log of what was seen. It does
 * not depend on how the pixels were sent, or whether they were.
 *
 * A tile shows the newest due state that looks like it. If none does (half of a drawing, losses), it
 * shows the newest of those that look most like it, but none older than before. It is stale since
 * the next state was due. The screen is as stale as its stalest tile.
 * When the screen shrinks, nothing outside it is missing, whatever is shown there: an X window keeps
 * its old pixels. */
#ifndef SCREEN_STALENESS_H_
#define SCREEN_STALENESS_H_

#include <stddef.h>
#include <stdint.h>

#include "tiles.h"

#define STALENESS_STEP 2000000 /* ns: the result is as exact as this */

typedef struct Staleness {
    int64_t begin;   /* ns, of the first step */
    size_t steps;
    int64_t *since;  /* per step: when the oldest missing change was due; INT64_MAX: none is missing */
} Staleness;

/* due: the ground truth, with the time at which each state is due. seen: what was shown. Both get
 * sorted by time. end: the last known moment. Steps after the last due state are left out once
 * everything is shown. */
Staleness *staleness_new(TileRecord *due, size_t n_due, TileRecord *seen, size_t n_seen,
                         int64_t end);
void staleness_free(Staleness *staleness);

#endif /* SCREEN_STALENESS_H_ */
