/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stage between a guest's drawings and the display: what moved is copied on the screen, what
 * is equal is not drawn, and what has changed is drawn in few pieces.
 *
 * The worker hands all drawings to draw() and calls flush() before it does anything else. Opaque
 * DRAW_COPYs of bitmaps onto the screen are held until then, or for a millisecond, or until one
 * draws where another has; see red-motion.h for what is found in them. What comes out are COPY_BITS
 * and DRAW_COPYs as a guest would send them, whose bitmaps are the server's own: the guest has its
 * own back at once. Where that gains little the drawings go on as they came, and all others do,
 * untouched and in order.
 *
 * What has changed and has few colours is drawn as pictures of two (red-planes.h), if all clients
 * are known to decode such.
 *
 * Videos are passed on as they are: what is drawn where one plays, and what is drawn again and
 * again at one place and might be found to be one, see video-stream.cpp.
 *
 * Memory, for each display: twice the pixels of the screen, only while a client is there and
 * bitmaps are most of what is drawn on it, and at most DISPLAY_MOTION_BITMAPS of bitmaps that wait
 * to be sent. A screen of more pixels than 7680 x 4320 is left alone. All of it is for the thread
 * of the display only.
 */
#ifndef DISPLAY_MOTION_H_
#define DISPLAY_MOTION_H_

#include <memory>

#include "red-motion.h"
#include "red-parse-qxl.h"
#include "red-planes.h"

#include "push-visibility.h"

struct DisplayChannel;

/* bytes */
#define DISPLAY_MOTION_BITMAPS (64 * 1024 * 1024)

/* What has been found, in pixels but for the moves. */
struct DisplayMotionCounters {
    uint64_t moves;
    uint64_t moved;
    uint64_t equal;
    uint64_t sent;
};

class DisplayMotion
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    explicit DisplayMotion(DisplayChannel *display);
    ~DisplayMotion();
    DisplayMotion(const DisplayMotion &) = delete;
    DisplayMotion &operator=(const DisplayMotion &) = delete;

    /* @generation: see display_channel_process_draw */
    void draw(red::shared_ptr<RedDrawable> &&drawable, uint32_t generation);

    /* Draw all that is held. */
    void flush();

    /* There is another screen, of which nothing is known. Nothing is held. */
    void new_screen();

    const DisplayMotionCounters &get_counters() const { return counters; }

private:
    /* where something was drawn that could have been a frame of a video */
    struct Trace {
        SpiceRect where;
        uint64_t time;
        /* drawings since one that was no text, or more than is looked back */
        unsigned since_gradual;
    };
    enum { TRACES = 64 };

    bool is_fit(const RedDrawable *drawable, int *bytes) const;
    bool find_lines(const SpiceBitmap *bitmap);
    bool plays(const RedDrawable *drawable) const;
    bool may_play(const RedDrawable *drawable, uint64_t now);
    void know(const RedDrawable *drawable, bool is_fit);
    bool overlaps(const RedDrawable *drawable) const;
    void look();
    void forget(SpiceRect where);
    bool hold(red::shared_ptr<RedDrawable> &&drawable, int bytes);
    void pass(red::shared_ptr<RedDrawable> &&drawable);
    void flush(bool may_play);
    bool is_worth(const RedMotionFound &found, bool may_play) const;
    bool takes_planes() const;
    bool find_planes(const SpiceRect &where, const SpiceRect *rects, size_t n_rects);
    bool find_planes(const std::vector<SpiceRect> &changed);
    void emit(const RedMotionMove &move);
    void emit(const SpiceRect &where);
    void emit_planes(const SpiceRect &where);
    void emit(const SpiceRect &where, SpiceBitmap *bitmap, uint16_t rop);
    void drop();

    DisplayChannel *const display;
    std::unique_ptr<RedMotion> motion;
    /* in the order in which they came, since when, and of the last one */
    std::vector<red::shared_ptr<RedDrawable>> held;
    uint64_t held_since = 0;
    uint32_t generation = 0;
    /* rises with what is no bitmap, falls with what is one */
    int others = 0;
    bool is_off = false;
    /* what others have drawn is worth to be looked at */
    bool looks = false;
    std::vector<Trace> traces;
    size_t next_trace = 0;
    /* of the bitmap that is being read, from its top */
    std::vector<const uint8_t *> lines;
    /* bytes of bitmaps, which may be there for longer than this */
    const std::shared_ptr<size_t> bitmaps;
    DisplayMotionCounters counters = {};
    /* what find_planes() has found */
    std::vector<RedPlane> planes;
};

#include "pop-visibility.h"

#endif /* DISPLAY_MOTION_H_ */
