/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Damage tracking: a client of a display whose path does not keep up gets the current screen.
 *
 * A drawing that has waited for the path for longer than red_catch_up_late says is not sent any
 * more, nor is any other that waits. Where they draw becomes a region to be refreshed, one for
 * each surface of each client. As long as there is something to refresh on a surface, what is
 * drawn on it or reads it makes regions grow and is not sent either; all else is sent as ever. But
 * a COPY_BITS on the screen, as of what scrolls, is sent, ahead of the refresh, and the region is
 * copied with it. A refresh is an item in the pipe: it takes a piece of the region, reads what the surface shows by
 * then, and goes to the end of the pipe again if something is left. So nothing in the pipe grows
 * old, the worker need not wait for a slow client, and where the path keeps up none of this
 * happens.
 *
 * What holds at any time, for each client: when it has received all that is in the pipe now, each
 * surface is there as it is here, except in the region to be refreshed. For
 *  - a drawing that is sent reads and changes surfaces without such a region only, and is made
 *    there from what it is made from here;
 *  - one that is taken out of the pipe leaves its destination in the region, and takes all others
 *    along, which might have read that;
 *  - a copy that is kept comes after all drawings on the screen that were before it and are sent,
 *    and before the next piece of the screen: what the client copies is wrong where the region
 *    was, so the region is there, too. One is kept where that order can be had without looking far,
 *    and no more than MAX_KEPT between two refreshes, so that these have their turn; of others the
 *    destination is refreshed;
 *  - a piece is taken out of what was in the region when the refresh was queued. What was queued
 *    before the refresh has been sent then, and none that was queued later draws on that surface
 *    but a video's frames and pictures of what was there: what has changed since they were queued
 *    is still in the region, as it is not ready, and comes after them.
 *
 * A video goes on as one: a frame replaces the one that waits, and what is under a video is not
 * refreshed until it ends. A picture of the screen that a refresh has sent with losses is sent again
 * without them, once, where nothing has been drawn for RED_CATCH_UP_STILL and while nothing is
 * drawn anywhere or waits, as far as it shows what upstream would have sent exactly; and so is what
 * was drawn from it.
 * What upstream sends with losses stays as it is, unless RedStreamPolicy::exact.
 */
#ifndef DCC_REFRESH_H_
#define DCC_REFRESH_H_

#include "dcc.h"
#include "display-limits.h"
#include "red-catch-up.h"

#include "push-visibility.h"

struct Drawable;
struct RedDrawablePipeItem;
struct RedImageItem;
struct VideoStreamClipItem;

/* See DisplayChannelClientPrivate. All of it is for the thread of the display only. */
class DccRefresh
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    explicit DccRefresh(DisplayChannelClient *dcc);
    ~DccRefresh();
    DccRefresh(const DccRefresh &) = delete;
    DccRefresh &operator=(const DccRefresh &) = delete;

    /* What the path takes now has been sent; @waits: there is more; @delay: microseconds of its
     * round trip, 0: not known. */
    void pushed(bool waits, uint32_t delay);

    /* Pictures of surfaces that the client does not know would only make it wait longer: a drawing
     * that needs one is taken, and the client gets to see what is drawn when its turn comes. */
    bool is_behind();

    /* A drawing is about to be queued. True if it is not to be: the region has grown. With
     * @all, what waits in the pipe may go the same way. */
    bool takes(Drawable *drawable, bool all=true);

    /* A drawing or a picture was taken from the pipe to be sent. True if it is not to be. */
    bool overtakes(RedPipeItem *item);

    /* The turn of a refresh has come. Returns the picture to send, or null. */
    red::shared_ptr<RedImageItem> next();

    /* It has become a message of @bytes. */
    void sent(size_t bytes);

    /* A video that hid something may have ended, or shows through less. */
    void uncover();

    /* True if the clip of a video that waits to be sent has become the one of @item. */
    bool replaces_clip(VideoStreamClipItem *item);

    /* The surface goes. True if the client need not know, as it did not know of it yet. */
    bool forgets_created(uint32_t surface_id);
    void forget(uint32_t surface_id);

    /* The client comes from another server, and has that surface, in part with losses. */
    void restored(uint32_t surface_id);

    /* The worker is about to wait until the client has been sent everything: leave what nobody
     * sees. */
    void shorten();

    /* Queue all that is left, and take nothing any more: the client goes to another server. */
    void finish();

    /* The client has gone. */
    void stop();

    /* Messages that the worker has to wait for until it may take more from the guest. */
    uint32_t backlog() const;

    /* The worker takes no more from the guest though what could be sent has been, or it has
     * taken all that there is. */
    void guest_waits(bool waits);

private:
    void add(Drawable *drawable);
    void add(RedSurface *surface, const QRegion *changed, uint64_t since);
    void add(RedPipeItem *item);
    void take_all(const RedPipeItem *before=nullptr);
    bool is_on_screen(const RedPipeItem *item) const;
    bool is_kept_after_screen(const RedPipeItem *before) const;
    bool can_keep(const Drawable *drawable) const;
    void copied(const Drawable *drawable);
    bool keeps(Drawable *drawable);
    void queue();
    bool is_dirty() const;
    bool is_unknown(const Drawable *drawable) const;
    bool is_dirty(const RedSurface *surface) const;
    bool is_frame(const Drawable *drawable) const;
    bool is_drawing(const RedPipeItem *item) const;
    bool is_late(const Drawable *drawable) const;
    bool waits_too_long() const;
    bool holds_up_others() const;
    void get_hidden(QRegion *hidden) const;
    void went(const RedDrawablePipeItem *item);
    bool is_lossy_upstream(Drawable *drawable) const;
    bool reads_made_lossy(const Drawable *drawable) const;
    bool get_lossy(uint32_t surface_id, QRegion *region) const;
    bool is_lossy() const;
    bool find_still(uint32_t *surface_id, SpiceRect *piece);
    uint64_t get_oldest() const;
    red::shared_ptr<RedImageItem> take_image(uint32_t surface_id, SpiceRect piece,
                                             bool can_lossy);
    red::shared_ptr<RedImageItem> next_lossless();
    void drawn();
    void drawn(const Drawable *drawable);
    static void refine(DccRefresh *self);

    DisplayChannelClient *const dcc;
    /* of each surface, or null */
    std::array<RedCatchUpArea *, NUM_SURFACES> areas;
    uint32_t n_areas = 0;
    RedCatchUpPace pace;
    RedCatchUpPath path;
    /* microseconds after which what waits for the path is late */
    uint64_t late_after = RED_CATCH_UP_LATE;
    /* a refresh is in the pipe */
    bool is_queued = false;
    /* copies that were kept since a refresh had its turn */
    unsigned n_kept = 0;
    bool is_finished = false;
    /* nothing is drawn, so what was sent with losses is sent again */
    bool is_refining = false;
    SpiceTimer *timer = nullptr;
    bool is_timing = false;
    /* microseconds: when anything was drawn or sent but a refresh, and when on another surface
     * than the screen */
    uint64_t last_drawn = 0;
    uint64_t last_off_screen = 0;
    /* the screen */
    RedCatchUpStill still;
    /* of each surface, what has been sent with losses here, or was made from that; some of it may have
     * been sent without since */
    std::array<QRegion, NUM_SURFACES> made_lossy;
    /* on the screen, where what was taken is what upstream sends with losses */
    QRegion lossy_upstream;
    /* of which the picture is that is being sent */
    uint32_t piece_surface = 0;
    SpiceRect piece_area = { 0, 0, 0, 0 };
    /* the piece that is being sent was there already, with losses, and how old it is */
    bool is_refined = false;
    uint64_t piece_since = UINT64_MAX;
    /* how long the guest has waited since the worker had last taken all that it drew, and since
     * when it does, 0: it does not. By the clock: one answer of the client may end a wait, and
     * the path has then been asked but once. */
    uint64_t waited = 0;
    uint64_t waiting_since = 0;
};

#include "pop-visibility.h"

#endif /* DCC_REFRESH_H_ */
