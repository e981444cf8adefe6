/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refinement: an image that a refresh sent with losses (JPEG) is resent without, once, with what was
 * drawn from it, as far as upstream would have sent the pixels exactly. The area must be still for
 * RED_CATCH_UP_STILL, nothing may wait, and nothing may be drawn anywhere for REFINE_AFTER. With
 * RedStreamPolicy::exact pixels that upstream sends with losses are resent, too. Part of catch-up, see
 * dcc-catch-up.h, which sends the pieces. */
#ifndef DCC_REFINE_H_
#define DCC_REFINE_H_

#include <array>

#include "dcc.h"
#include "display-limits.h"
#include "red-catch-up.h"

#include "push-visibility.h"

struct Drawable;

/* To be called from the thread of the display only. */
class DccRefine
{
public:
    explicit DccRefine(DisplayChannelClient *dcc);
    ~DccRefine();
    DccRefine(const DccRefine &) = delete;
    DccRefine &operator=(const DccRefine &) = delete;

    /* Something other than a refresh is sent, or @drawable is drawn: refinement is put off. */
    void drawn();
    void drawn(const Drawable *drawable);

    /* Put it off until the timer's next turn. */
    void pause() { is_due = false; }

    /* For good. */
    void stop();

    /* Whether take() would have something: DccCatchUp::queue() was called. */
    bool is_wanted() const { return is_due; }

    /* The next piece of about @pixels. False if there is none, or something waits in the pipe. */
    bool take(uint32_t pixels, uint32_t *surface_id, SpiceRect *piece);

    /* @drawable, which draws on @changed, becomes damage. */
    void dropped(Drawable *drawable, const QRegion *changed);

    /* The client is sent @drawable, and not as a copy for which copied() is called. */
    void sent(const Drawable *drawable, bool is_kept);

    /* The client is sent a copy within the screen, see RedCatchUpArea::copied(). */
    void copied(const QRegion *dest, int dx, int dy);

    /* The client is sent the current pixels of @piece; DisplayChannelClientPrivate knows by then
     * whether with losses. */
    void refreshed(uint32_t surface_id, const SpiceRect *piece);

    /* The client was migrated from another server and has that surface, parts of it lossy. */
    void restored(uint32_t surface_id);

    void forget(uint32_t surface_id) { region_clear(&made_lossy[surface_id]); }

private:
    bool reads_made_lossy(const Drawable *drawable) const;
    bool get_lossy(uint32_t surface_id, QRegion *region) const;
    bool is_lossy() const;
    bool find_still(uint32_t pixels, uint32_t *surface_id, SpiceRect *piece);
    static void look(DccRefine *self);

    DisplayChannelClient *const dcc;
    bool is_due = false;
    SpiceTimer *timer = nullptr;
    bool is_timing = false;
    /* microseconds: when anything other than a refresh was last drawn or sent, and when
     * something was last drawn on another surface than the screen */
    uint64_t last_drawn = 0;
    uint64_t last_off_screen = 0;
    /* still areas of the screen */
    RedCatchUpStill still;
    /* of each surface, the area that was sent with losses here, or drawn from such an area; parts
     * of it may have been sent without losses since */
    std::array<QRegion, NUM_SURFACES> made_lossy;
    /* the area of the screen where dropped drawings are ones that upstream sends with losses */
    QRegion lossy_upstream;
};

#include "pop-visibility.h"

#endif /* DCC_REFINE_H_ */
