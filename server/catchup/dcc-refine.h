/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refinement: an area that a refresh sent as JPEG, or that was drawn from such an area, is resent once
 * without losses. Pixels that upstream would have sent with losses are left out, unless
 * RedStreamPolicy::exact is set. The area must not have changed for a second, the pipe must
 * be empty, and nothing may have been drawn anywhere for RED_CATCH_UP_LATE, which is longer than the time
 * between frames of a video and shorter than that of a blinking text cursor. Part of catch-up, see
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

    /* Something other than a refresh is sent, or @drawable is drawn: refinement is postponed. */
    void drawn();
    void drawn(const Drawable *drawable);

    /* Postpone refinement until the timer fires again. */
    void pause() { is_due = false; }

    /* No refinement from now on. */
    void stop();

    /* Whether a refresh is to be queued so that take() is called. */
    bool is_wanted() const { return is_due; }

    /* The next piece of about @pixels. False if there is none, or something waits in the pipe. */
    bool take(uint32_t pixels, uint32_t *surface_id, SpiceRect *piece);

    /* @drawable is dropped; @changed, its area, becomes damage. */
    void dropped(Drawable *drawable, const QRegion *changed);

    /* @drawable is sent to the client; not for copies, for which copied() is called. */
    void sent(const Drawable *drawable, bool is_kept);

    /* The client is sent a copy within the screen, see RedCatchUpArea::copied(). */
    void copied(const QRegion *dest, int dx, int dy);

    /* The current pixels of @piece are sent. To be called after DisplayChannelClientPrivate has
     * recorded whether they are lossy. */
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
    /* microseconds: when anything but a refresh was last drawn or sent, and when something was
     * last drawn on an off-screen surface */
    uint64_t last_drawn = 0;
    uint64_t last_off_screen = 0;
    /* still areas of the screen */
    RedCatchUpStill still;
    /* per surface, the area that a refresh sent with losses, or that was drawn from such an area;
     * parts of it may have been resent without losses */
    std::array<QRegion, NUM_SURFACES> made_lossy;
    /* the area of the screen whose last drawing was dropped, and would be lossy in upstream */
    QRegion lossy_upstream;
};

#include "pop-visibility.h"

#endif /* DCC_REFINE_H_ */
