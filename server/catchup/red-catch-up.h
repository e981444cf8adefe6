/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Damage tracking for a client whose path does not keep up: pure decisions.
 *
 * Drawings wait in a channel's pipe until the path takes them. If the guest draws faster than
 * the link carries, they become stale there. So a drawing that has waited too long is dropped,
 * and its area becomes damage. When the path takes data again, the client gets the current
 * pixels of that area (see dcc-catch-up.h).
 *
 * No clock, canvas or pipe here; times are microseconds of a monotonic clock. Not thread safe.
 */
#ifndef RED_CATCH_UP_H_
#define RED_CATCH_UP_H_

#include <common/region.h>

#include "red-common.h"
#include "red-stream-egress.h"

#include "push-visibility.h"

/* Whether a client whose path does not keep up gets the current screen instead of all drawings. */
extern const RedStreamSetting red_catch_up_setting;
/* Whether all lossy areas are resent without losses, not only those that a refresh has sent. */
extern const RedStreamSetting red_catch_up_exact;

/* Microseconds after which a drawing that waits for a path with a round trip of @delay (0: unknown)
 * is late and is dropped. 1.5 round trips, as a drawing made in one may be sent in the next; at
 * most RED_CATCH_UP_LATE, at least a third of that, as a client may be busy for that long. */
uint64_t red_catch_up_late(uint32_t delay);

/* Microseconds. With half, users of Wi-Fi get refreshes in place of drawings, twice the bytes; with
 * twice the value, users on slow links see each change 0.15 s later. */
#define RED_CATCH_UP_LATE (150 * 1000)
/* Microseconds after which a worker that waits for a client looks again: by then the drawings that
 * wait are late, and are dropped. */
#define RED_CATCH_UP_RETRY RED_CATCH_UP_LATE
/* Bytes: more than the output buffer takes. Less does not block the path. */
#define RED_CATCH_UP_LARGE RED_STREAM_EGRESS_MAX

/* A region of more rectangles becomes their bounds, or is cleared: each change would cost more
 * than the pixels it saves. With half, users of screens with much fine change get more pixels
 * again; twice as many cost the worker time. */
#define RED_CATCH_UP_MAX_RECTS 512

/* Measures how long the path made drawings wait. Waiting for this thread does not count: on a busy
 * host a drawing is old before the thread tries to send it, and then the path takes it at once. */
class RedCatchUpPath
{
public:
    /* At @now the socket accepted no more. @waits: items are left in the pipe; @message: the number
     * of the message that was sent in part, 0: none; @bytes: its size. */
    void pushed(uint64_t now, bool waits, uint64_t message, uint32_t bytes);

    /* How long an item queued at @since had waited when the path was last blocked. */
    uint64_t refused(uint64_t since) const;

    /* The same, less the time that the blocking message takes, which is the message that was being
     * sent when the path first blocked. No item can overtake it, and an image of the whole screen
     * takes long on any link; the few drawings behind it are sent right after it. */
    uint64_t waited(uint64_t since) const;

    /* Whether that message has RED_CATCH_UP_LARGE bytes or more. */
    bool is_passing() const;

private:
    uint64_t waited_from(uint64_t first) const;

    /* when the path was blocked first and last, 0: it is not blocked */
    uint64_t first_refused = 0;
    uint64_t last_refused = 0;
    /* the message that was partly sent at first_refused (until it is sent), and the time from which
     * waiting counts */
    uint64_t first_message = 0;
    uint64_t first_passed = 0;
    bool first_is_large = false;
};

/* The damage of a surface: where the client does not have its current pixels.
 *
 * Only ready damage is taken, piece by piece. make_ready() is called when a refresh is queued,
 * so all items that were in the pipe at that time are sent first. A sweep takes all damage that
 * was ready when it began. Pieces alternate, however: every second one is taken from the latest
 * changes, as the user looks at those. So no area waits for more than two sweeps, and an area
 * that changes all the time is sent only once per sweep.
 */
class RedCatchUpArea
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    RedCatchUpArea();
    ~RedCatchUpArea();
    RedCatchUpArea(const RedCatchUpArea &) = delete;
    RedCatchUpArea &operator=(const RedCatchUpArea &) = delete;

    /* The surface changed in @changed. */
    void add(const QRegion *changed);

    /* Whether there is damage outside of @hidden. */
    bool is_dirty(const QRegion *hidden) const;

    /* Whether there is no damage at all. */
    bool is_empty() const;

    /* The client is sent a copy onto @dest from @dx pixels to the left and @dy above. The damage
     * moves with it: @dest becomes damaged where the source is, and undamaged elsewhere. The copy
     * must be sent before the next piece is taken. */
    void copied(const QRegion *dest, int dx, int dy);

    /* Drop the damage outside of @bounds. */
    void keep(const SpiceRect *bounds);

    /* All damage so far becomes ready, except in @hidden. */
    void make_ready(const QRegion *hidden);
    /* Whether there is ready damage. */
    bool is_ready() const;

    /* Take a piece of about @pixels from the ready damage. Returns false if there is none. */
    bool take(uint32_t pixels, SpiceRect *piece);

    /* Adds all damage, ready or not, to @all. */
    void get_all(QRegion *all) const;

private:
    QRegion waiting;
    /* ready damage: of changes after the current sweep began, and before */
    QRegion newer;
    QRegion older;
    /* bounds of the latest changes, if these are near each other */
    SpiceRect latest;
    bool latest_is_next = true;
};

/* Follows copied pixels: inside @dest @region becomes what @from, which may be the same, is @dx
 * pixels to the left and @dy above. */
void red_catch_up_copied(QRegion *region, const QRegion *from, const QRegion *dest, int dx, int dy);

/* Intersects @region with @bounds. */
void red_catch_up_keep(QRegion *region, const SpiceRect *bounds);

/* A box of at most about @pixels at the start of @region, which is not empty. Small rectangles
 * share a box if they cover half of it. */
SpiceRect red_catch_up_piece(const QRegion *region, uint32_t pixels);

/* Finds areas that have not changed for a while, so that it is worth resending lossy images
 * there. */
class RedCatchUpStill
{
public:
    /* @time: for so long, in microseconds, an area must not have changed. */
    explicit RedCatchUpStill(uint64_t time);
    ~RedCatchUpStill();
    RedCatchUpStill(const RedCatchUpStill &) = delete;
    RedCatchUpStill &operator=(const RedCatchUpStill &) = delete;

    /* Something was drawn at @now. */
    void drawn(uint64_t now, const QRegion *where);

    /* Removes from @region all areas on which something was drawn in the last @time to twice
     * that. */
    void keep_still(uint64_t now, QRegion *region);

private:
    void turn(uint64_t now);

    const uint64_t time;
    /* areas drawn on since @turned, and in @time before that */
    QRegion latest;
    QRegion before;
    uint64_t turned = 0;
};

/* The piece size: how many pixels the path carries in RED_CATCH_UP_PIECE_TIME. It is measured on
 * the pieces sent, as their compression ratio varies more than the rate of a link. */
class RedCatchUpPace
{
public:
    /* The first estimate: the path carries @rate bytes per second, 0: unknown. */
    void start(uint64_t rate);
    /* Whether start() was called. */
    bool is_started() const { return started; }

    /* A piece of @pixels is sent at @now; the path was busy until then. */
    void sent(uint64_t now, uint32_t pixels);

    /* No damage is left, so the time to the next piece is not measured. */
    void pause() { since = 0; }

    /* How many the next piece should have, at least RED_CATCH_UP_PIECE_MIN. */
    uint32_t get_pixels() const { return pixels; }

private:
    void set_pixels(uint64_t wanted);

    bool started = false;
    uint32_t pixels = RED_CATCH_UP_PIECE_MIN;
    uint64_t since = 0;
    uint64_t pixels_since = 0;

public:
    enum {
        /* Pixels: the smallest piece is a square of this side, and no piece has fewer lines unless
         * the damage has. With half, slow links get more and smaller images, which compress worse;
         * with twice the value, a letter waits behind a piece four times as long. */
        RED_CATCH_UP_PIECE_SIDE = 96,
        RED_CATCH_UP_PIECE_MIN = RED_CATCH_UP_PIECE_SIDE * RED_CATCH_UP_PIECE_SIDE,
        /* Microseconds. With half, as with half the side; with twice the value, what the user types
         * is shown 40 ms later while the rest of the screen is refreshed. */
        RED_CATCH_UP_PIECE_TIME = 40 * 1000,
        /* Microseconds: how long to measure. In less a busy client counts as a slow path. */
        RED_CATCH_UP_PACE_TIME = 150 * 1000,
    };
};

#include "pop-visibility.h"

#endif /* RED_CATCH_UP_H_ */
