/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refinement: what a client has with losses, and upstream's client would have exactly, is resent
 * once without losses, see red-shown.h. That depends on the area only, which must not have
 * changed for one to two seconds, and on the path, which must have taken all drawings that wait:
 * nothing newer waits for a piece that was not begun. Part of catch-up, see dcc-catch-up.h,
 * which sends the pieces. */
#ifndef DCC_REFINE_H_
#define DCC_REFINE_H_

#include "dcc.h"
#include "red-shown.h"

#include "push-visibility.h"

struct Drawable;
struct RedDrawable;

/* Whether what was exact, or had losses, may still be seen in some of the area of @drawable. */
bool dcc_leaves_what_is_below(const RedDrawable *drawable);

/* To be called from the thread of the display only. */
class DccRefine
{
public:
    enum {
        /* Milliseconds after which it is looked again whether an area is still. With half, the
         * worker wakes up more often for nothing; with twice the value, an area is exact up to
         * 0.15 s later. */
        LOOK_INTERVAL = 150,
    };

    /* @dcc owns this, as part of its DccCatchUp. @lossy: see RedShown; @due: called when a refresh
     * is to be queued so that take() is called */
    DccRefine(DisplayChannelClient *dcc, RedShown::Regions *lossy,
              void (*due)(DisplayChannelClient *dcc));
    ~DccRefine() { stop(); }
    DccRefine(const DccRefine &) = delete;
    DccRefine &operator=(const DccRefine &) = delete;

    /* @drawable is queued or dropped. To be called for all drawings in their order. */
    void drawn(Drawable *drawable);

    /* @drawable becomes damage, so what it leaves of the area is sent with it in one image, which may
     * have losses where upstream sends it exactly. Where something lossy was drawn over it before it
     * was dropped, more is resent than upstream has exactly. */
    void dropped(Drawable *drawable);

    /* The display stage has replaced @drawable, which the guest has drawn on the screen, and has
     * drawn what it changes. To be called after drawn() for that. */
    void replaced(RedDrawable *drawable);

    /* Messages were made, and any of them may have losses: also one that no drawing has caused
     * just now, as the image at the end of a video. */
    void pushed();

    /* Whether losses are tracked: from the first JPEG of the display on, though a client that comes
     * later may turn that off. */
    bool is_tracking();

    /* The surface is destroyed. */
    void forget(uint32_t surface_id) { shown.forget(surface_id); }

    /* Whether the client may have to look at pixels with losses there. */
    bool is_lossy(uint32_t surface_id, const SpiceRect *area) const
    {
        return shown.is_lossy(surface_id, area);
    }

    /* Postpone refinement until the timer fires again, at most LOOK_INTERVAL. */
    void pause() { is_due = false; }

    /* No refinement from now on. */
    void stop();

    /* Whether a refresh is to be queued so that take() is called. */
    bool is_wanted() const { return is_due; }

    /* The next piece of about @pixels; the screen goes before other surfaces. False if there is
     * none, or if something waits in the pipe that is to be sent before it. */
    bool take(uint32_t pixels, uint32_t *surface_id, SpiceRect *piece);

private:
    void start();
    bool find(uint32_t pixels, uint32_t *surface_id, SpiceRect *piece);
    bool is_owed() const;
    static void look(DccRefine *self);

    DisplayChannelClient *const dcc;
    void (*const due)(DisplayChannelClient *dcc);
    RedShown shown;
    bool is_due = false;
    SpiceTimer *timer = nullptr;
    bool is_timing = false;
    bool had_jpeg = false;
};

#include "pop-visibility.h"

#endif /* DCC_REFINE_H_ */
