/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Damage tracking: a display client whose path does not keep up gets the current screen.
 *
 * A drawing is late if it has waited for the path for longer than red_catch_up_late(). It is then
 * dropped with all others that wait in the pipe, and their areas become damage, a region per
 * surface and client. While a surface has damage, drawings on it or from it are not sent, and
 * extend the damage; other items are sent as before. An exception is a COPY_BITS on the screen,
 * as when text scrolls: it is sent ahead of the refresh, and the damage is copied with it.
 *
 * A refresh is an item in the pipe. When its turn comes, it takes a piece of the damage, reads the
 * current pixels from the surface, and is queued at the end of the pipe again if damage is left. So
 * no item in the pipe grows old, and the worker need not wait for a slow client. A path that keeps
 * up is not affected.
 *
 * Invariant, for each client: once it has received all items that are in the pipe now, each of its
 * surfaces equals the server's except in the damage.
 *  - A drawing that is sent reads and changes only surfaces without damage, so the client draws
 *    from the same pixels as the server.
 *  - A drawing that is dropped adds its destination to the damage. All others that wait are
 *    dropped with it, as they might have read that destination.
 *  - A copy that is kept is sent after all earlier drawings of the screen that are sent, and before
 *    the next piece of the screen. Where its source has damage the client copies wrong pixels, so
 *    the damage is copied, too, all of which is older than the copy: one that waits is kept only if
 *    the screen has no damage yet. If a copy is not kept, its destination becomes damage.
 *  - A piece is taken from the damage that existed when the refresh was queued. All items queued
 *    before the refresh have been sent when its turn comes. Of those queued after it, only frames
 *    of videos and images of older pixels draw on that surface. What has changed since
 *    such a frame or image was queued is damage added after the refresh, which only a later refresh
 *    sends (it is not "ready", see RedCatchUpArea).
 *
 * Videos: a frame replaces the one that waits, or becomes damage while the pipe is full. Where the
 * last frame draws, nothing is refreshed until the video ends: the next ones will draw there.
 *
 * Who does what: this file changes the pipe and has the hooks of the display channel;
 * red-catch-up.h decides; dcc-damage.h keeps the damage, dcc-copies.h finds the copies to keep,
 * dcc-backlog.h measures how long drawings and the guest wait, dcc-refine.h resends without
 * losses what red-shown.h finds that upstream's client would have exactly.
 *
 * Who calls it: dcc.cpp when a drawing is to be queued (takes) and at the end of each push()
 * (pushed), dcc-send.cpp when an item has left the pipe (overtakes, is_tracking, next, sent),
 * display-channel.cpp for the worker (backlog, guest_waits, shorten), display-motion.cpp
 * (replaced, gets_no_copy, keeps_losses).
 */
#ifndef DCC_CATCH_UP_H_
#define DCC_CATCH_UP_H_

#include "dcc.h"
#include "dcc-backlog.h"
#include "dcc-copies.h"
#include "dcc-damage.h"
#include "dcc-refine.h"
#include "red-catch-up.h"

#include "push-visibility.h"

struct Drawable;
struct RedDrawable;
struct RedDrawablePipeItem;
struct RedImageItem;
struct VideoStreamClipItem;

/* Owned by DisplayChannelClientPrivate. To be called from the thread of the display only. */
class DccCatchUp
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @dcc owns this. @lossy, which outlives this: see RedShown */
    DccCatchUp(DisplayChannelClient *dcc, RedShown::Regions *lossy);
    ~DccCatchUp();
    DccCatchUp(const DccCatchUp &) = delete;
    DccCatchUp &operator=(const DccCatchUp &) = delete;

    /* A push() ends. @waits: something is left to send, as the path accepts no more for now;
     * @delay: the round trip in microseconds, 0: unknown; @bytes: size of the message that was
     * sent in part, 0: none. */
    void pushed(bool waits, uint32_t delay, uint32_t bytes);

    /* Whether the client is behind. An image of a surface that it does not have would then only
     * delay it further: a drawing that needs one becomes damage instead. */
    bool is_behind();

    /* A drawing is about to be queued. Returns true if it became damage and must not be queued.
     * @all: the drawings that wait in the pipe may become damage as well. */
    bool takes(Drawable *drawable, bool all=true);

    /* The display stage has replaced @drawable of the guest by drawings that it has queued. */
    void replaced(RedDrawable *drawable);

    /* Whether the client draws JPEG later than what follows it, and refinement resends what JPEG
     * may have been drawn over. */
    bool decodes_later() const;

    /* Whether what is lossy at the client is to be known after each message. */
    bool is_tracking() { return refinement.is_tracking(); }

    /* Whether a copy from there on the screen would not be sent. */
    bool gets_no_copy(const SpiceRect &source) const;

    /* Whether nothing repairs what a release would have sent exactly. */
    bool leaves_lossy() const;

    /* The same, and the client may show losses on the screen, or come to do so by what waits. */
    bool keeps_losses() const;

    /* A drawing or an image was taken from the pipe to be sent. Returns true if it became damage
     * and must not be sent. */
    bool overtakes(RedPipeItem *item);

    /* The turn of a refresh has come. Returns the image to send, or null. */
    red::shared_ptr<RedImageItem> next();

    /* That image became a message of @bytes. */
    void sent(size_t bytes);

    /* Queue a refresh if there is something to send. To be called when that may have changed: when
     * a video ends or covers less, and when refinement is due. */
    void queue();

    /* Returns true if a clip of the same video waits in the pipe and now has the value of @item. */
    bool replaces_clip(VideoStreamClipItem *item);

    /* The surface is destroyed. Returns true if the client was not sent its creation yet, so that
     * it need not be told. */
    bool forgets_created(uint32_t surface_id);
    /* The same, without a look at the pipe: the damage and the losses of that number are gone. */
    void forget(uint32_t surface_id);

    /* The worker is about to wait until everything is sent: drop off-screen surfaces that have
     * damage. They are created again when something is drawn from them. */
    void shorten();

    /* The client migrates to another server: queue all damage, and drop nothing any more. */
    void finish();

    /* The client has disconnected. */
    void stop();

    /* Number of items that must be sent before the worker takes more commands from the guest. */
    uint32_t backlog() const;

    /* @waits: the worker stops taking commands, because of items that the path does not accept yet.
     * Otherwise the worker has taken all commands. */
    void guest_waits(bool waits);

private:
    void add(Drawable *drawable);
    void add(RedPipeItem *item);
    void take_all(RedPipeItem *first=nullptr);
    void keep(RedDrawablePipeItem *item);
    bool keeps(Drawable *drawable);
    bool is_unknown(const Drawable *drawable) const;
    void start();
    red::shared_ptr<RedImageItem> take_image(uint32_t surface_id, SpiceRect piece,
                                             bool can_lossy);

    DisplayChannelClient *const dcc;
    DccDamage damage;
    DccCopies copies;
    DccBacklog waiting;
    DccRefine refinement;
    RedCatchUpPace pace;
    /* a refresh is in the pipe */
    bool is_queued = false;
    bool is_finished = false;
    /* the image that is being sent refines a lossy one */
    bool is_refined = false;
    /* where @refreshed is sent over JPEG that the client may decode later */
    QRegion undecoded;
    uint32_t refreshed = 0;
};

#include "pop-visibility.h"

#endif /* DCC_CATCH_UP_H_ */
