/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Damage tracking for a client whose path does not keep up: pure decisions.
 *
 * Drawings wait in a channel's pipe until the path takes them. On a line that is slower than
 * the guest draws they would grow old there, and nobody wants to see what was on the screen
 * seconds ago. So what has waited too long is forgotten, and where it drew becomes a region of
 * which the client is shown what is there when its turn comes (see dcc-refresh.h).
 *
 * No clock, canvas or pipe here; times are microseconds of a monotonic clock. Not thread safe.
 */
#ifndef RED_CATCH_UP_H_
#define RED_CATCH_UP_H_

#include <common/region.h>

#include "red-common.h"

#include "push-visibility.h"

/* Microseconds: a drawing that waits longer for a path whose round trip takes @delay (0: not known)
 * is not sent any more. One and a half of them: what is drawn in one may leave in the next; at least
 * RED_CATCH_UP_LATE_MIN, for a client may be busy for that long, and at most RED_CATCH_UP_LATE. */
uint64_t red_catch_up_late(uint32_t delay);

#define RED_CATCH_UP_LATE_MIN (50 * 1000)
#define RED_CATCH_UP_LATE (150 * 1000)

/* Tells waiting for the path from waiting for this thread, which may not have run: on a busy host
 * a drawing is old before anybody tries to send it, and then the path takes it at once. */
class RedCatchUpPath
{
public:
    /* The path has been given all that it takes at @now; @waits: that was not all there is;
     * @message: the number of the one that it has taken a part of, 0: of none. */
    void pushed(uint64_t now, bool waits, uint64_t message);

    /* How long what is there since @since had waited for the path when that last took no more. */
    uint64_t refused(uint64_t since) const;

    /* The same, but for the one message that the path was not through with when it first did not
     * take all. Nothing overtakes that, and a photograph of the screen takes a while on any line:
     * what is drawn meanwhile may be little, and gone as soon as it has its turn. */
    uint64_t waited(uint64_t since) const;

private:
    uint64_t waited_from(uint64_t first) const;

    /* when the path has first not taken all, and last, 0: it has taken all */
    uint64_t first_refused = 0;
    uint64_t last_refused = 0;
    /* the message then, until it has gone, and when that was */
    uint64_t first_message = 0;
    uint64_t first_gone = 0;
};

/* Where a surface is not what the client has been shown.
 *
 * Changes become ready when asked for, so that all that was in the pipe before is sent before
 * them. What is ready is taken piece by piece: in turn of what has changed last, for that is
 * what the user looks at, and of what was ready when the sweep began, so that nothing waits for
 * longer than two sweeps, nor is much shown twice in one while it changes on and on.
 */
class RedCatchUpArea
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    RedCatchUpArea();
    ~RedCatchUpArea();
    RedCatchUpArea(const RedCatchUpArea &) = delete;
    RedCatchUpArea &operator=(const RedCatchUpArea &) = delete;

    /* It changed at @since. */
    void add(const QRegion *changed, uint64_t since);

    /* Whether there is something to show outside of @hidden. */
    bool is_dirty(const QRegion *hidden) const;

    /* Nothing at all is left. */
    bool is_empty() const;

    /* The client is told to copy onto @dest what is by so much to the left and above: what it
     * gets there is wrong where that was, and right otherwise. It must do so before a piece is
     * taken. */
    void copied(const QRegion *dest, int dx, int dy);

    /* Forget what is not within @bounds. */
    void keep(const SpiceRect *bounds);

    /* What has changed by now may be taken from now on, except in @hidden. */
    void make_ready(const QRegion *hidden);
    bool is_ready() const;

    /* Take a piece of what is ready, of about @pixels. False if nothing is. */
    bool take(uint32_t pixels, SpiceRect *piece);

    /* All of it, ready or not. */
    void get_all(QRegion *all) const;

    /* Since when the oldest change is there that was not taken and is not hidden, UINT64_MAX:
     * there is none. */
    uint64_t get_oldest() const;

private:
    QRegion waiting;
    /* ready: changed since the last sweep over everything began, and before */
    QRegion newer;
    QRegion older;
    /* the oldest change in each */
    uint64_t waiting_since = UINT64_MAX;
    uint64_t newer_since = UINT64_MAX;
    uint64_t older_since = UINT64_MAX;
    /* the latest changes, if they are near each other */
    SpiceRect latest;
    bool latest_is_next = true;
};

/* What @region tells of pixels is copied onto @dest with them, from so much to the left and above. */
void red_catch_up_copied(QRegion *region, const QRegion *dest, int dx, int dy);

/* Leave of @region what is within @bounds. */
void red_catch_up_keep(QRegion *region, const SpiceRect *bounds);

/* A box of at most about @pixels that holds the beginning of @region, which is not empty. Small
 * rectangles share a box if that does not hold much else. */
SpiceRect red_catch_up_piece(const QRegion *region, uint32_t pixels);

/* What is not drawn on any more, so that it is worth while to show it exactly. */
class RedCatchUpStill
{
public:
    RedCatchUpStill();
    ~RedCatchUpStill();
    RedCatchUpStill(const RedCatchUpStill &) = delete;
    RedCatchUpStill &operator=(const RedCatchUpStill &) = delete;

    void drawn(uint64_t now, const QRegion *where);

    /* Leave of @region what was not drawn on for RED_CATCH_UP_STILL or half as long again. */
    void keep_still(uint64_t now, QRegion *region);

private:
    void turn(uint64_t now);

    /* what was drawn on in the latest part of RED_CATCH_UP_STILL, and in those before it */
    enum { PARTS = 3 };
    QRegion drawn_on[PARTS];
    uint64_t turned = 0;
};

/* microseconds */
#define RED_CATCH_UP_STILL (1000 * 1000)

/* How many pixels make a piece that the path carries in RED_CATCH_UP_PIECE_TIME. It is seen from
 * the pieces themselves: how well they compress differs more than lines do. */
class RedCatchUpPace
{
public:
    /* The path is said to carry @rate bytes a second, 0: not known. */
    void start(uint64_t rate);
    bool is_started() const { return started; }

    /* A piece of @pixels is sent at @now; until then the path had no time for it. */
    void sent(uint64_t now, uint32_t pixels);

    /* There is nothing left to send: the time to the next piece says nothing. */
    void pause() { since = 0; }

    uint32_t get_pixels() const { return pixels; }

private:
    bool started = false;
    uint32_t pixels = RED_CATCH_UP_PIECE_MIN;
    uint64_t since = 0;
    uint64_t pixels_since = 0;

public:
    enum {
        /* a square of 96 */
        RED_CATCH_UP_PIECE_MIN = 96 * 96,
        RED_CATCH_UP_PIECE_MAX = 2 * 1024 * 1024,
        /* microseconds */
        RED_CATCH_UP_PIECE_TIME = 40 * 1000,
        RED_CATCH_UP_PACE_TIME = 200 * 1000,
    };
};

#include "pop-visibility.h"

#endif /* RED_CATCH_UP_H_ */
