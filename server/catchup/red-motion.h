/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds in a new picture of a screen what has moved, what is equal and what has changed.
 *
 * Guests without a drawing driver send rectangles of their frame buffer. When text scrolls, all of
 * it comes again, though the client has nearly all of it on its screen, some lines further down.
 *
 * A RedMotion holds two pictures: what the screen shows, and what it is to show. What is found are
 * copies from one place of the screen to another, and then rectangles of the new picture. Copies
 * are guessed from hashes and done to the first picture, as a client will do them; what differs
 * from the second one after that has changed, whatever the hashes said. So a bad guess costs
 * bytes, never a pixel.
 *
 * No clock, canvas or guest here. Not thread safe.
 */
#ifndef RED_MOTION_H_
#define RED_MOTION_H_

#include <memory>
#include <vector>

#include <common/region.h>

#include "red-common.h"

#include "push-visibility.h"

/* The screen at @dest becomes what is at @src, which has its size and may overlap it. */
struct RedMotionMove {
    SpiceRect dest;
    SpicePoint src;
};

/* What makes the screen show the new picture: first @moves in order, then the new picture in each
 * of @changed, in any order. */
struct RedMotionFound {
    std::vector<RedMotionMove> moves;
    std::vector<SpiceRect> changed;
    /* pixels: of what was written, of what need not be sent thanks to moves, and in @changed,
     * some of which are equal and only there to have few rectangles */
    uint64_t written_pixels;
    uint64_t moved_pixels;
    uint64_t changed_pixels;
};

class RedMotion
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @bytes of a pixel are 2 or 4. Memory: two pictures of this size, and one byte for each 32
     * pixels. Of the screen nothing is known. */
    RedMotion(int width, int height, int bytes);
    ~RedMotion();
    RedMotion(const RedMotion &) = delete;
    RedMotion &operator=(const RedMotion &) = delete;

    int get_width() const { return width; }
    int get_height() const { return height; }
    int get_bytes() const { return bytes; }
    /* bytes from a line to the next */
    size_t get_stride() const { return stride; }

    /* Where to write a line of the new picture: @x and @y are within it, and what follows up to
     * its right edge may be written, where wrote() says so afterwards. */
    uint8_t *line(int x, int y) { return at(next, x, y); }
    const uint8_t *line(int x, int y) const { return at(next, x, y); }

    /* The new picture has been written at @where, which is within it and not empty. */
    void wrote(const SpiceRect &where) { written.push_back(where); }

    /* Something that was written since the last find() is in @where. */
    bool is_written(const SpiceRect &where) const;

    /* The screen shows all that was written to the new picture, which is all of it; nothing was
     * said to wrote() since the last find(). */
    void know_all();
    bool knows_all() const;

    /* What the screen shows at @where is known: after a find(), it is the new picture. */
    bool is_shown(const SpiceRect *where) const;

    /* Something else is drawn at @where, where nothing was written since the last find(). */
    void forget(const SpiceRect *where);

    /* What to do for the screen to show all that was written since the last time. It is taken to
     * do so from now on, by these means or any other. */
    const RedMotionFound &find();

private:
    enum {
        /* a cell is so many pixels of a line, a block so many lines of cells */
        CELL = 32,
        BLOCK_LINES = 8,
    };
    struct Shift { int dx, dy; };
    struct Vote { Shift shift; unsigned count; };

    uint8_t *at(const std::unique_ptr<uint8_t[]> &picture, int x, int y) const
    {
        return picture.get() + y * stride + static_cast<size_t>(x) * bytes;
    }
    int cell_end(int cell) const { return MIN((cell + 1) * CELL, width); }
    bool is_equal(int x, int y, int from_x, int from_y, int pixels) const;
    bool is_equal_pixel(int x, int y, int from_x, int from_y) const;
    uint64_t estimate(Shift shift) const;
    bool is_wanted(const SpiceRect *where) const;
    void compare_written(QRegion *where);
    void compare(const SpiceRect &where);
    bool find_bounds();
    void know_cells();
    bool is_known_cell(int x, int y, int pixels) const;
    template <typename Pixel> void vote(std::vector<Shift> *shifts);
    void try_shift(Shift shift, bool is_guess);
    void score(Shift shift);
    bool find_best(SpiceRect *dest) const;
    int strip_gain(Shift shift, const SpiceRect &strip) const;
    void fit(Shift shift, SpiceRect *dest) const;
    void move(Shift shift, const SpiceRect &dest);
    void find_moves();
    void find_changed();
    int next_run(int cell, int top, int bottom, SpiceRect *span, uint64_t *filled) const;
    void trim(SpiceRect *span) const;
    void add_changed(const SpiceRect &span, uint64_t filled);
    void merge_pairs();
    bool merge_changed(size_t into, size_t other);

    const int width;
    const int height;
    const int bytes;
    const size_t stride;
    const int cells;

    std::unique_ptr<uint8_t[]> shown;
    std::unique_ptr<uint8_t[]> next;
    /* where the first picture is what the screen shows */
    QRegion known;
    /* what was written and not yet looked at */
    std::vector<SpiceRect> written;
    /* where the second picture is what the screen is to show */
    QRegion wanted;

    /* of each cell: whether the screen has to change there */
    std::vector<uint8_t> is_changed;
    /* of each cell: all of it is known. Empty if that is so of all of them. */
    std::vector<uint8_t> known_cells;
    /* in pixels, where cells have changed */
    SpiceRect bounds;
    uint64_t changed_cells = 0;

    /* of blocks within bounds, pixels that a move saves, less those that it spoils */
    std::vector<int> scores;
    /* of each rectangle in found.changed, pixels of cells that have changed */
    std::vector<uint64_t> filled_pixels;
    RedMotionFound found;
    /* the last moves that were good for something */
    Shift lately[2] = {};
    /* finds without a search, as those before were in vain, and so far */
    unsigned searches_left_out = 0;
    unsigned in_vain = 0;
};

#include "pop-visibility.h"

#endif /* RED_MOTION_H_ */
