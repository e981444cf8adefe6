/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The display stage, between a guest's drawings and the display channel: moved areas become copies,
 * equal areas are not drawn, changed areas become few drawings.
 *
 * The worker passes all drawings to draw(), and calls flush() before it does anything else; both
 * by way of display-channel.cpp (display_channel_take_draw, display_channel_draw_held).
 * Opaque DRAW_COPYs of bitmaps onto the screen are held until flush(), until two of them overlap,
 * or until there are RED_MOTION_MAX_RECTS (RED_MOTION_MAX_WRITTEN, if all of the screen is known
 * and catch-up is on). red-motion.h finds moves and changes in them. The output is COPY_BITS and
 * DRAW_COPYs as a guest would send them, with bitmaps owned by the server, given to
 * display_channel_process_draw(): the guest's resources are released at once. The held drawings
 * are passed on unchanged if the gain is small (where most pixels differ from their neighbours, as
 * in photos and video, fewer drawings are no gain); if a client would get no copy of them
 * (DccCatchUp::gets_no_copy); or if it would keep losses there (DccCatchUp::keeps_losses). All
 * other drawings are passed on unchanged and in order.
 *
 * A changed area of few colours is drawn as images of two colours (red-planes.h), if all clients
 * are known to decode them.
 *
 * Videos are passed on unchanged: drawings where a video plays, and drawings repeated at one place
 * that may be detected as a video, see video-stream.cpp.
 *
 * Memory per display: two screens of pixels, and at most DISPLAY_MOTION_BITMAPS of bitmaps that
 * wait to be sent or rendered, or that GLZ dictionaries keep. There is no mirror while no client
 * is connected, nor from when other drawings have drawn a screen more than bitmaps until bitmaps
 * have drawn as much. To be used from the thread of the display.
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

/* Totals: the number of moves, and pixels moved, equal, sent, and read from the canvas. */
struct DisplayMotionCounters {
    uint64_t moves;
    uint64_t moved;
    uint64_t equal;
    uint64_t sent;
    uint64_t read;
};

class DisplayMotion
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @display owns this. */
    explicit DisplayMotion(DisplayChannel *display);
    ~DisplayMotion();
    DisplayMotion(const DisplayMotion &) = delete;
    DisplayMotion &operator=(const DisplayMotion &) = delete;

    /* Takes a drawing of the guest. @generation: how often the worker has begun to take commands,
     * for display_channel_process_draw(). */
    void draw(red::shared_ptr<RedDrawable> &&drawable, uint32_t generation);

    /* Draw all held drawings. */
    void flush();
    /* How many there are. */
    size_t holds() const { return held.size(); }

    /* There is a new primary surface of unknown content. No drawing may be held. */
    void new_screen();

    const DisplayMotionCounters &get_counters() const { return counters; }
    /* bytes, see DISPLAY_MOTION_BITMAPS */
    size_t get_bitmaps() const { return *bitmaps; }

private:
    /* an earlier drawing that could have been a frame of a video */
    struct Trace {
        SpiceRect where;
        uint64_t time;
        /* number of drawings since the last one with smooth content (not text); limited to the
         * number that video detection takes into account */
        unsigned since_gradual;
    };

    using Drawings = std::vector<red::shared_ptr<RedDrawable>>;

    bool is_fit(const RedDrawable *drawable, int *bytes) const;
    bool find_lines(const SpiceBitmap *bitmap);
    bool plays(const RedDrawable *drawable) const;
    Trace *find_trace(const RedDrawable *drawable);
    bool may_play(const RedDrawable *drawable);
    bool note_frames(const RedMotionFound &found, bool is_text);
    void know(const RedDrawable *drawable, bool is_fit);
    void doubt(const RedDrawable *drawable, bool is_fit);
    bool overlaps(const RedDrawable *drawable) const;
    bool is_full();
    void look(const SpiceRect *covered);
    void forget(SpiceRect where);
    void forget_videos();
    bool hold(red::shared_ptr<RedDrawable> &&drawable, int bytes);
    void pass(red::shared_ptr<RedDrawable> &&drawable);
    bool is_noise(const RedMotionFound &found) const;
    bool has_room(size_t bytes);
    bool is_worth(const RedMotionFound &found) const;
    bool takes_planes() const;
    bool find_planes(const SpiceRect &where, const SpiceRect *rects, size_t n_rects);
    bool find_planes(const RedMotionFound &found);
    static void find_smooth(const Drawings &drawn, QRegion *smooth);
    bool gets_no_copy(const RedMotionFound &found) const;
    bool keeps_losses() const;
    void emit_changed(const RedMotionFound &found, const Drawings &drawn, bool can_plane);
    void emit(const RedMotionMove &move);
    void emit(const SpiceRect &where);
    void emit_planes(const SpiceRect &where);
    void emit(const SpiceRect &where, SpiceBitmap *bitmap, uint16_t rop);
    void drop();

    DisplayChannel *const display;
    std::unique_ptr<RedMotion> motion;
    /* held drawings in order, and the generation of the last one */
    Drawings held;
    uint32_t generation = 0;
    /* pixels that other drawings drew less those that bitmaps drew; from 0 to those of the
     * screen */
    uint64_t others = 0;
    bool is_off = false;
    /* before the next drawing is held, fill unknown parts of the mirror from the canvas */
    bool looks = false;
    /* where clients may show something else than the canvas, and whether they may on other surfaces */
    QRegion doubtful;
    bool doubts_surfaces = false;
    std::vector<Trace> traces;
    size_t next_trace = 0;
    /* lines of the bitmap that is being read, from its top */
    std::vector<const uint8_t *> lines;
    /* bytes of the server's bitmaps; shared with them, as they may outlive this object */
    const std::shared_ptr<size_t> bitmaps;
    DisplayMotionCounters counters = {};
    /* the result of find_planes() */
    std::vector<RedPlane> planes;
};

#include "pop-visibility.h"

#endif /* DISPLAY_MOTION_H_ */
