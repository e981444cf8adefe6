/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a display client shows: which areas have losses, and which of these are resent. Pure.
 *
 * Each pixel of a surface is in one of four states at a client:
 *
 *   damaged            a refresh sends it: DccDamage
 *   lossy, owed        refinement resends it without losses, when it has not changed for a while
 *   lossy, not owed    stays: upstream's client would have losses there as well
 *   exact
 *
 * Two facts decide about losses. What is lossy at the client follows the messages: dcc-send.cpp
 * records it as each message is made (surface_client_lossy_region). What upstream would leave
 * lossy follows the guest's drawings, in their order: it does not matter when a drawing is sent,
 * or whether it is dropped, replaced by a refresh, or found to change no pixel. All that is
 * lossy and that upstream would have exact is owed.
 *
 * dcc-refine.h feeds it, and resends what it finds. No clock, canvas or pipe here; times are
 * microseconds of a monotonic clock. Not thread safe.
 */
#ifndef RED_SHOWN_H_
#define RED_SHOWN_H_

#include <array>

#include "display-limits.h"
#include "red-catch-up.h"

#include "push-visibility.h"

class RedShown
{
public:
    using Regions = std::array<QRegion, NUM_SURFACES>;

    /* @lossy, which outlives this: what is lossy at the client, per surface. An area of the screen
     * is still if it was not drawn on for @time to twice that (microseconds), another surface as a
     * whole. @exact: all losses are owed. */
    RedShown(Regions *lossy, uint64_t time, bool exact);
    ~RedShown();
    RedShown(const RedShown &) = delete;
    RedShown &operator=(const RedShown &) = delete;

    /* The guest has drawn on @changed; upstream sends that with losses, or exactly. */
    void drawn(uint32_t surface_id, const QRegion *changed, bool is_lossy);

    /* The guest has copied pixels of the surface @from to @dest from @dx to the left and @dy
     * above. */
    void copied(uint32_t surface_id, const QRegion *dest, uint32_t from, int dx, int dy);

    /* Pixels have changed. */
    void changed(uint64_t now, uint32_t surface_id, const QRegion *where);

    /* The guest has destroyed the surface. */
    void forget(uint32_t surface_id) { region_clear(&left[surface_id]); }

    /* Whether any pixel of @area is lossy at the client. */
    bool is_lossy(uint32_t surface_id, const SpiceRect *area) const;

    /* Whether any part of the surface is owed. */
    bool is_owed(uint32_t surface_id) const;

    /* Find a piece of about @pixels of the surface, which has @bounds, that is owed and still.
     * What a client said to be lossy beside the surface, when it was migrated, is forgotten.
     * Returns false if there is none. */
    bool find(uint64_t now, uint32_t surface_id, const SpiceRect *bounds, uint32_t pixels,
              SpiceRect *piece);

private:
    void get_owed(uint32_t surface_id, QRegion *owed) const;

    Regions &lossy;
    /* of each surface, where upstream would leave losses */
    Regions left;
    /* of the screen; of other surfaces, when they were drawn on last, 0 for the screen */
    RedCatchUpStill still;
    std::array<uint64_t, NUM_SURFACES> last_changed = { };
    const uint64_t time;
    const bool exact;
};

#include "pop-visibility.h"

#endif /* RED_SHOWN_H_ */
