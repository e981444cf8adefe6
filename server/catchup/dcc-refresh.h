/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Damage tracking: a display client whose path does not keep up gets the current screen.
 *
 * A drawing is late if it has waited for the path for longer than red_catch_up_late(). It is then
 * dropped with all others that wait in the pipe, and their areas become damage, a region per
 * surface and client. While a surface has damage, drawings on it or from it are not sent, and
 * extend the damage; other items are sent as before. An exception is a COPY_BITS on the screen,
 * as when text scrolls: it is sent ahead of the refresh, and the damage is copied with it.
 *
 * A refresh is an item in the pipe. In its turn it takes a piece of the damage, reads the current
 * pixels from the surface, and is queued at the end of the pipe again if damage is left. So no
 * item in the pipe grows old, and the worker need not wait for a slow client. A path that keeps
 * up is not affected.
 *
 * Invariant, for each client: once it has received all items that are in the pipe now, each of its
 * surfaces equals the server's except in the damage.
 *  - A drawing that is sent reads and changes only surfaces without damage, so the client draws
 *    from the same pixels as the server.
 *  - A drawing that is dropped adds its destination to the damage. All others that wait are
 *    dropped with it, as they might have read that destination.
 *  - A copy that is kept comes after all drawings of the screen that were before it and are sent,
 *    and before the next piece of the screen. The client copies wrong pixels where there was
 *    damage, so the damage is copied, too. A copy is kept if that order needs no long
 *    search of the pipe, and at most MAX_KEPT between two refreshes, so that these have their
 *    turn. The destination of any other copy becomes damage.
 *  - A piece is taken from the damage that there was when the refresh was queued. All items queued
 *    before the refresh have been sent then. Of those queued later only frames of videos and
 *    images of older pixels draw on that surface. Changes since they were queued are damage
 *    that is not ready yet, and are sent after them.
 *
 * Videos: a frame replaces the one that waits, and the area under a video is not refreshed until
 * the video ends.
 *
 * Refinement: an image that a refresh sent with losses is resent without them, once, with what was
 * drawn from it, as far as upstream would have sent the pixels exactly. The area must be still
 * for RED_CATCH_UP_STILL, and nothing may be drawn anywhere or wait. Pixels that upstream sends
 * with losses stay lossy, unless RedStreamPolicy::exact is set.
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

/* Owned by DisplayChannelClientPrivate. To be called from the thread of the display only. */
class DccRefresh
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    explicit DccRefresh(DisplayChannelClient *dcc);
    ~DccRefresh();
    DccRefresh(const DccRefresh &) = delete;
    DccRefresh &operator=(const DccRefresh &) = delete;

    /* All that the path takes now has been sent; @waits: more is waiting; @delay: the round trip
     * in microseconds, 0: unknown; @bytes: of the message that was sent in part, 0: none. */
    void pushed(bool waits, uint32_t delay, uint32_t bytes);

    /* Whether the client is behind. An image of a surface that it does not have would then only
     * delay it further: a drawing that needs one becomes damage instead. */
    bool is_behind();

    /* A drawing is about to be queued. Returns true if it became damage and must not be queued.
     * With @all the drawings that wait in the pipe may become damage, too. */
    bool takes(Drawable *drawable, bool all=true);

    /* A drawing or an image was taken from the pipe to be sent. Returns true if it became damage
     * and must not be sent. */
    bool overtakes(RedPipeItem *item);

    /* The turn of a refresh has come. Returns the image to send, or null. */
    red::shared_ptr<RedImageItem> next();

    /* That image became a message of @bytes. */
    void sent(size_t bytes);

    /* A video may have ended, or cover less: damage that it hid may be sent. */
    void uncover();

    /* Returns true if a clip of the same video waits in the pipe and now has the value of @item. */
    bool replaces_clip(VideoStreamClipItem *item);

    /* The surface is destroyed. Returns true if the client was not sent its creation yet, so that
     * it need not be told. */
    bool forgets_created(uint32_t surface_id);
    void forget(uint32_t surface_id);

    /* The client was migrated from another server and has that surface, parts of it lossy. */
    void restored(uint32_t surface_id);

    /* The worker is about to wait until everything is sent: drop off-screen surfaces that have
     * damage. They are created again when something is drawn from them. */
    void shorten();

    /* The client migrates to another server: queue all damage, and drop nothing any more. */
    void finish();

    /* The client has disconnected. */
    void stop();

    /* Number of items that must be sent before the worker takes more commands from the guest. */
    uint32_t backlog() const;

    /* @waits: the worker stops taking commands although all that the path takes has been sent.
     * Not @waits: it has taken all commands. */
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
    /* microseconds after which a drawing that waits for the path is late */
    uint64_t late_after = RED_CATCH_UP_LATE;
    /* a refresh is in the pipe */
    bool is_queued = false;
    /* copies kept since the last refresh */
    unsigned n_kept = 0;
    bool is_finished = false;
    /* nothing is drawn, so lossy areas are resent */
    bool is_refining = false;
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
    /* surface and area of the image that is being sent */
    uint32_t piece_surface = 0;
    SpiceRect piece_area = { 0, 0, 0, 0 };
    /* the image that is being sent refines a lossy one; and the time of its oldest change */
    bool is_refined = false;
    uint64_t piece_since = UINT64_MAX;
    /* how long the guest has waited since the worker had last taken all commands, and since when
     * it waits, 0: it does not. Elapsed time, as one pong may end a wait during which the path
     * was tried only once. */
    uint64_t waited = 0;
    uint64_t waiting_since = 0;
};

#include "pop-visibility.h"

#endif /* DCC_REFRESH_H_ */
