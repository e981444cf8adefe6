/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares a new image of a screen with the old one: finds moved, equal and changed areas.
 *
 * Guests without a drawing driver send rectangles of their frame buffer. When text scrolls, the
 * whole screen is sent again, though the client has nearly all of it, some lines further down.
 *
 * A RedMotion holds two images: the screen as it is shown, and as it is to be. The result is a list
 * of copies within the screen, and then of rectangles of the new image. Copies are guessed from
 * hashes and applied to the first image, as a client will do. The pixels that differ from the
 * second image after that are the changes, whatever the hashes said: a bad guess costs bytes,
 * never a pixel.
 *
 * No clock, canvas or guest here. Not thread safe.
 */
#ifndef RED_MOTION_H_
#define RED_MOTION_H_

#include <memory>
#include <vector>

#include <common/region.h>

#include "red-catch-up.h"
#include "red-common.h"
#include "red-stream-policy.h"

#include "push-visibility.h"

/* Whether there is a display stage, see display-motion.h. */
extern const RedStreamSetting red_motion_setting;

/* Rectangles of one screen: what is drawn instead of drawings that are held, and as many of these
 * as may be passed on unchanged; where they were before; a guest's clip; what is known. A screen
 * that QEMU sends in columns of 32 pixels is about five hundred drawings. All are queued at once,
 * after up to MAX_PASSING_PIPE_SIZE others, and the display has NUM_DRAWABLES. */
#define RED_MOTION_MAX_RECTS RED_CATCH_UP_MAX_RECTS
/* Rectangles that are written before a find(). A screen of 3840x2160 full of text is half as
 * many when it scrolls by a line, as the lines between those of the text are equal. What one
 * find() has moved is no longer there for the next, so it must get all of a picture. */
#define RED_MOTION_MAX_WRITTEN (32 * RED_MOTION_MAX_RECTS)
/* Of more cells, pixels of an edge, lines or rectangles, some are looked at: so many. */
#define RED_MOTION_SAMPLES 128

/* Copy the pixels at @src, an area of the size of @dest that may overlap it, to @dest. */
struct RedMotionMove {
    SpiceRect dest;
    SpicePoint src;
};

/* How to update the screen: first @moves in order, then draw the new image in each rectangle of
 * @changed, in any order. */
struct RedMotionFound {
    std::vector<RedMotionMove> moves;
    std::vector<SpiceRect> changed;
    /* numbers of pixels: written; saved by moves; in @changed, which may include equal pixels so
     * that there are fewer rectangles */
    uint64_t written_pixels;
    uint64_t moved_pixels;
    uint64_t changed_pixels;
    /* pixels compared or hashed, and steps of searches. At most 80 per pixel of the screen,
     * whatever the guest draws: 36 for up to 36 guesses (1 each), 12 for up to 6 moves (2 each),
     * 21 for up to 7 searches in columns (3 each), 8 for the search in any direction, 2 for the
     * rectangles. More if the screen is wider than 8192 pixels */
    uint64_t looked;
};

class RedMotion
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* moves in one picture; guesses that are tried at once; places that look the same, of which
     * more would not say which became which */
    enum { MAX_MOVES = 6 };

    /* @bytes per pixel: 2 or 4. Memory: two images of this size, and two bytes per 32 pixels. At
     * first no pixel of the screen is known. */
    RedMotion(int width, int height, int bytes);
    ~RedMotion();
    RedMotion(const RedMotion &) = delete;
    RedMotion &operator=(const RedMotion &) = delete;

    /* As given to the constructor. */
    int get_width() const { return width; }
    int get_height() const { return height; }
    int get_bytes() const { return bytes; }
    /* bytes from one line to the next */
    size_t get_stride() const { return stride; }

    /* The pixel at @x, @y of the new image, which must be within it. To be written only before
     * know(). */
    uint8_t *line(int x, int y) { return at(next, x, y); }
    const uint8_t *line(int x, int y) const { return at(next, x, y); }

    /* Put @pixels into a line of the new image from @x, @y on. They are within it, and within an
     * area that is passed to wrote() afterwards. */
    void write(int x, int y, const uint8_t *pixels, int n_pixels);

    /* All pixels of @where, which is within the new image and not empty, were written. */
    void wrote(const SpiceRect &where);
    /* How often that was called since the last find(). */
    size_t count_written() const { return written.size(); }

    /* Whether an area written since the last find() overlaps @where. */
    bool is_written(const SpiceRect &where) const;

    /* The new image was written at @where, and the screen shows it. There must be no wrote() since
     * the last find(). */
    void know(const SpiceRect &where);
    /* The pixels of the screen that are known: owned by this, valid until the next call. */
    const QRegion *get_known() const { return &known; }
    /* Whether all of them are. */
    bool knows_all() const;

    /* Whether all pixels of the screen at @where are known; after a find() they are those of the
     * new image. */
    bool is_shown(const SpiceRect *where) const;

    /* Another drawing changes @where, so its pixels become unknown. Nothing may have been written
     * there since the last find(). */
    void forget(const SpiceRect *where);

    /* Returns how to update the screen with all that was written since the last find(). From now
     * on this object assumes that the screen shows it. The result is valid until the next call. If
     * all was known, it is at most RED_MOTION_MAX_RECTS rectangles, and the changed ones have no
     * more pixels than the screen. */
    const RedMotionFound &find();

private:
    enum {
        /* pixels per cell (a part of a line), lines of cells per block */
        CELL = 32,
        BLOCK_LINES = 16,
        /* pixels that cost as much as a message, which has 80 to 120 bytes without them: a move
         * saves more or it is none, and so many equal ones are sent to have one rectangle
         * instead of two */
        MIN_GAIN = 2048,
    };
    struct Shift { int dx, dy; };
    /* a changed cell: its first pixel, and how many it has */
    struct Sample { int x, y, pixels; };

    uint8_t *at(const std::unique_ptr<uint8_t[]> &picture, int x, int y) const
    {
        return picture.get() + y * stride + static_cast<size_t>(x) * bytes;
    }
    static uint64_t count_pixels(const SpiceRect &rect)
    {
        return static_cast<uint64_t>(rect.right - rect.left) * (rect.bottom - rect.top);
    }
    void show(const SpiceRect &where);
    int cell_end(int cell) const { return MIN((cell + 1) * CELL, width); }
    bool is_equal(int x, int y, int from_x, int from_y, int pixels) const;
    bool is_equal_pixel(int x, int y, int from_x, int from_y) const;
    void mark(const SpiceRect &where, bool is_written);
    bool is_wanted(const SpiceRect *where) const;
    void add_unknown(const QRegion *where);
    void take_written();
    void want_written();
    bool find_bounds();
    template <typename Use> void for_changed(uint64_t step, Use use);
    void know_cells();
    bool is_known_cell(int x, int y, int pixels) const;

    /* red-motion-guess.cpp: by how much something may have moved, up or down and in any
     * direction */
    void vote_lines(std::vector<Shift> *shifts);
    void guess(std::vector<Shift> *shifts);
    std::vector<int> choose_columns() const;
    template <typename Pixel, typename Use> void for_features(int y, Use use);
    template <typename Pixel> void vote(std::vector<Shift> *shifts);
    static void add_most(std::vector<Shift> *seen, std::vector<Shift> *shifts);
    void take_samples();

    /* red-motion-move.cpp: find(), and found.moves, done to the first image */
    void find_moves();
    void find_next(uint64_t all);
    bool is_in_vain();
    /* fewer pixels than two moves are worth are sent rather than searched for */
    bool is_worth_search() const { return changed_cells * CELL >= 2 * MIN_GAIN; }
    void try_shifts(const std::vector<Shift> &shifts, uint64_t least);
    void try_shift(Shift shift, uint64_t least);
    uint64_t estimate(Shift shift);
    void score(Shift shift);
    void score_line(Shift shift, int y, int left, int right, int *score) const;
    bool is_possible(Shift shift, int cell, int top, int bottom) const;
    bool find_best(SpiceRect *dest);
    int strip_gain(Shift shift, const SpiceRect &strip);
    template <typename Pixel>
    int count_gain(const SpiceRect &strip, const SpiceRect &from, int step_x, int step_y) const;
    void fit(Shift shift, SpiceRect *dest);
    void move(Shift shift, const SpiceRect &dest);

    /* red-motion-rects.cpp: found.changed */
    void find_changed();
    int next_run(int cell, int top, int bottom, SpiceRect *span, uint64_t *filled) const;
    void trim(SpiceRect *span) const;
    void add_changed(const SpiceRect &span, uint64_t filled);
    void merge_most();
    void merge_pairs();
    bool merge_changed(size_t into, size_t other);

    const int width;
    const int height;
    const int bytes;
    const size_t stride;
    const int cells;

    std::unique_ptr<uint8_t[]> shown;
    std::unique_ptr<uint8_t[]> next;
    /* where the first image equals the screen */
    QRegion known;
    /* areas written and not yet compared */
    std::vector<SpiceRect> written;
    /* per cell: whether one of them has a part of it */
    std::vector<uint8_t> has_written;
    /* where the second image is the screen as it is to be */
    QRegion wanted;

    /* per cell: whether it differs on the screen. The images are equal where known, but for such
     * cells. */
    std::vector<uint8_t> is_changed;
    /* per cell: all of it is known. Empty if all cells are known. */
    std::vector<uint8_t> known_cells;
    /* bounds of the changed cells, in pixels */
    SpiceRect bounds;
    uint64_t changed_cells = 0;
    /* some of them, evenly distributed; empty until they are needed */
    std::vector<Sample> samples;

    /* per block within bounds: pixels that a move makes right less those that it makes wrong */
    std::vector<int> scores;
    /* per rectangle in found.changed: pixels of changed cells */
    std::vector<uint64_t> filled_pixels;
    /* so many equal pixels are sent to have one rectangle instead of two */
    uint64_t min_gain = MIN_GAIN;
    RedMotionFound found;
    /* the last shifts that saved pixels */
    Shift lately[2] = {};
    /* searches in a row that were in vain, where the last one was made, and how many were left
     * out since */
    unsigned in_vain = 0;
    SpiceRect vain_bounds = {};
    unsigned left_out = 0;
};

/* How many of these bytes, of 0 or 1, are 1. */
unsigned red_motion_count_ones(const uint8_t *bytes, int n);

/* Calls @use with each @step-th cell that has changed, and its line. An even @step becomes the
 * next odd one: on a screen of 2^n columns it would select few of them. */
template <typename Use>
void RedMotion::for_changed(uint64_t step, Use use)
{
    const int first = bounds.left / CELL, end = (bounds.right + CELL - 1) / CELL;
    uint64_t skip = 0;

    found.looked += count_pixels(bounds) / CELL;
    for (int y = bounds.top; y < bounds.bottom; ++y) {
        const uint8_t *changed = &is_changed[static_cast<size_t>(y) * cells];
        const unsigned ones = red_motion_count_ones(changed + first, end - first);

        if (skip >= ones) {
            skip -= ones;
            continue;
        }
        for (int cell = first; cell < end; ++cell) {
            if (!changed[cell]) {
                continue;
            }
            if (skip > 0) {
                --skip;
                continue;
            }
            skip = (step | 1) - 1;
            use(cell, y);
        }
    }
}

#include "pop-visibility.h"

#endif /* RED_MOTION_H_ */
