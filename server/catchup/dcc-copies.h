/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies within the screen (COPY_BITS, as when text scrolls) that a client still gets while it
 * is behind. A kept copy is sent after all earlier drawings of the screen that are sent, and
 * before the next piece of the screen. Part of catch-up, see dcc-catch-up.h. */
#ifndef DCC_COPIES_H_
#define DCC_COPIES_H_

#include "dcc.h"

#include "push-visibility.h"

class DccRefine;
struct Drawable;
struct RedDrawable;

/* Where the COPY_BITS @copy reads: the guest's coordinates, be they outside of the surface. */
SpiceRect dcc_copy_source(const RedDrawable *copy);

/* Whether @drawable puts pixels of a surface somewhere as they are: from the surface with the
 * number @from, from @dx pixels to the left and @dy above. */
bool dcc_get_copy(const Drawable *drawable, uint32_t *from, int *dx, int *dy);

/* If @drawable is such a copy, what is lossy at the client follows it exactly. (Upstream takes
 * all that is copied for lossy if any of it is.) Otherwise returns false. */
bool dcc_copy_lossy(DisplayChannelClient *dcc, const Drawable *drawable);

/* Whether @item is a frame of a video that does not touch @area. */
bool dcc_is_frame_beside(DisplayChannelClient *dcc, const RedPipeItem *item, const SpiceRect &area);

/* To be called from the thread of the display only. */
class DccCopies
{
public:
    /* @dcc owns this, as part of its DccCatchUp. */
    explicit DccCopies(DisplayChannelClient *init_dcc): dcc(init_dcc) {}

    /* Whether @drawable is a copy that the client can make itself, and fewer than half of
     * MAX_PIPE_SIZE copies were kept since the last refresh: as many take some 2 KB, for which a
     * refresh waits 10 ms at 2 Mbit/s. With twice as many copies alone would make the pipe count
     * as full. */
    bool can_keep(const Drawable *drawable) const;

    /* Find the refresh in the pipe in front of which the copy @drawable must be queued. False if
     * the copy would then overtake another item that draws on the screen. */
    bool find_refresh(const Drawable *drawable, RedChannelClient::Pipe::iterator *refresh) const;

    /* Whether a kept copy is in the pipe after a drawing of the screen. If that drawing is dropped,
     * the copy must be dropped, too. @before: a drawing that was taken from the front of the pipe
     * and counts as well, null: none. */
    bool is_after_screen(const RedPipeItem *before) const;

    /* Whether the client draws JPEG later than the messages that follow it: browsers do, as they
     * decode it beside. spice-html5 does not say so, but lacks capabilities that all clients with
     * spice-common's canvas have. */
    bool decodes_later() const;

    /* Whether a copy from @source would read JPEG that the client may not have decoded. */
    bool reads_undecoded(uint32_t surface_id, const SpiceRect &source,
                         const DccRefine &refinement) const;

    /* A copy is kept. */
    void kept() { ++n_kept; }

    /* A refresh has its turn. */
    void refreshed() { n_kept = 0; }

private:
    bool is_on_screen(const RedPipeItem *item) const;

    DisplayChannelClient *const dcc;
    /* since the last refresh */
    unsigned n_kept = 0;
};

#include "pop-visibility.h"

#endif /* DCC_COPIES_H_ */
