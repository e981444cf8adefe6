/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How old what a screen shows is, from what is to be seen and what was seen: nothing here knows how
 * it came there, or whether it was sent at all.
 *
 * A tile shows the newest of what it was to show by then that looks like what is there; where none
 * does, as in the middle of a drawing or with losses, the newest of those that look most like it.
 * A screen never goes back: what it looks like now is not older than what it looked like before.
 * It is stale since the next one was due. The picture is as old as its oldest stale tile.
 * Where the screen has become smaller nothing is missing, whether what was there was seen or not, and
 * whether it is there still: an X window keeps it. */
#ifndef SCREEN_STALENESS_H_
#define SCREEN_STALENESS_H_

#include <stddef.h>
#include <stdint.h>

#include "tiles.h"

#define STALENESS_STEP 2000000 /* ns: the result is as exact as this */

typedef struct Staleness {
    int64_t begin;   /* ns, of the first step */
    size_t steps;
    int64_t *since;  /* when what is not on the screen in a step was due; INT64_MAX if all is */
} Staleness;

/* due: what was to be seen; when is when. seen: what was. Both are sorted, first by time. end: the
 * last moment that is known. Steps after the last due one are left out when all is shown. */
Staleness *staleness_new(TileRecord *due, size_t n_due, TileRecord *seen, size_t n_seen,
                         int64_t end);
void staleness_free(Staleness *staleness);

#endif /* SCREEN_STALENESS_H_ */
