/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Moves: guesses are tried, and what gains by one is copied. */
#include <config.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include <common/rect.h>

#include "red-motion.h"

/* A move saves more than this part of what has changed, as it has to be looked for among that. */
#define MIN_GAIN_PART 64
/* A move in any direction has to be right for this part of it, going by samples, as has a vertical
 * one before these: what is by chance would break up the next ones. */
#define SURE_PART 4
/* After searches in vain at most so many are left out, so that video and noise do not pay for
 * what never comes. Where something scrolls after a video the client gets so many frames of it
 * as pixels; the last moves are tried in every frame. */
#define MAX_LEFT_OUT 7u

/* Pixels that this would save, as far as some of the cells that have changed can tell. */
uint64_t RedMotion::estimate(Shift shift)
{
    uint64_t right = 0;

    if (changed_cells == 0) {
        return 0;
    }
    take_samples();
    for (const auto &cell : samples) {
        const int from_x = cell.x - shift.dx, from_y = cell.y - shift.dy;

        right += from_y >= 0 && from_y < height && from_x >= 0 && from_x + cell.pixels <= width &&
                 is_equal(cell.x, cell.y, from_x, from_y, cell.pixels);
    }
    found.looked += samples.size() * CELL;
    return right * changed_cells * CELL / samples.size();
}

/* What would be there if all within the bounds had moved: pixels, of each block. */
void RedMotion::score(Shift shift)
{
    const int first = bounds.left / CELL;
    const int columns = (bounds.right + CELL - 1) / CELL - first;
    const int rows = (bounds.bottom - bounds.top + BLOCK_LINES - 1) / BLOCK_LINES;
    /* outweighs any screen full of blocks that match: its bytes are no more than INT_MAX */
    const int never = INT_MIN;

    /* what is copied must be on the screen */
    int left = first, right = first + columns;
    while (left < right && left * CELL < shift.dx) {
        ++left;
    }
    while (left < right && cell_end(right - 1) - shift.dx > width) {
        --right;
    }

    found.looked += count_pixels(bounds) / 2;
    scores.assign(static_cast<size_t>(columns) * rows, never);
    for (int row = 0; row < rows && left < right; ++row) {
        const int top = bounds.top + row * BLOCK_LINES;
        const int bottom = MIN(top + BLOCK_LINES, bounds.bottom);
        /* of a column of cells of the screen */
        int *score = &scores[static_cast<size_t>(row) * columns] - first;

        if (top < shift.dy || bottom - shift.dy > height) {
            continue;
        }
        std::fill(score + left, score + right, 0);
        /* every second line tells enough; all pixels are compared once they have moved */
        for (int y = top; y < bottom; y += 2) {
            score_line(shift, y, left, right, score);
        }
        for (int cell = left; !known_cells.empty() && cell < right; ++cell) {
            if (!is_possible(shift, cell, top, bottom)) {
                score[cell] = never;
            }
        }
    }
}

/* Whether what is copied there is known, and so is what it is copied onto. */
bool RedMotion::is_possible(Shift shift, int cell, int top, int bottom) const
{
    const int x = cell * CELL, pixels = cell_end(cell) - x;

    for (int y = top; y < bottom; ++y) {
        if (!is_known_cell(x - shift.dx, y - shift.dy, pixels) || !is_known_cell(x, y, pixels)) {
            return false;
        }
    }
    return true;
}

void RedMotion::score_line(Shift shift, int y, int left, int right, int *score) const
{
    const uint8_t *changed = &is_changed[static_cast<size_t>(y) * cells];
    const int from_y = y - shift.dy;

    if (is_equal(left * CELL, y, left * CELL - shift.dx, from_y,
                 cell_end(right - 1) - left * CELL)) {
        for (int cell = left; cell < right; ++cell) {
            score[cell] += changed[cell] * CELL * 2;
        }
        return;
    }
    for (int cell = left; cell < right; ++cell) {
        const int x = cell * CELL;

        if (is_equal(x, y, x - shift.dx, from_y, cell_end(cell) - x)) {
            score[cell] += changed[cell] * CELL * 2;
        } else {
            score[cell] -= !changed[cell] * CELL * 2;
        }
    }
}

/* The rectangle of blocks with the highest sum of scores. False if that is none. */
bool RedMotion::find_best(SpiceRect *dest)
{
    const int first = bounds.left / CELL;
    const int columns = (bounds.right + CELL - 1) / CELL - first;
    const int rows = scores.size() / columns;
    int64_t best = std::max<int64_t>(MIN_GAIN, changed_cells * CELL / MIN_GAIN_PART);
    bool is_found = false;

    /* the time grows with the square of the width */
    if (columns > RED_MOTION_MAX_RECTS) {
        return false;
    }
    std::vector<int64_t> sums(rows);
    /* of all blocks from a column on, what the best ones may come to */
    std::vector<int64_t> most(columns + 1);

    for (int column = columns; column-- > 0; ) {
        most[column] = most[column + 1];
        for (int row = 0; row < rows; ++row) {
            most[column] += MAX(scores[static_cast<size_t>(row) * columns + column], 0);
        }
    }
    for (int left = 0; left < columns && most[left] > best; ++left) {
        if (most[left] == most[left + 1]) {
            continue;
        }
        found.looked += static_cast<uint64_t>(columns - left) * rows;
        std::fill(sums.begin(), sums.end(), 0);
        for (int right = left; right < columns; ++right) {
            int64_t sum = 0;
            int top = 0;

            for (int row = 0; row < rows; ++row) {
                sums[row] += scores[static_cast<size_t>(row) * columns + right];
                if (sum <= 0) {
                    sum = 0;
                    top = row;
                }
                sum += sums[row];
                if (sum > best) {
                    best = sum;
                    is_found = true;
                    dest->left = (first + left) * CELL;
                    dest->right = cell_end(first + right);
                    dest->top = bounds.top + top * BLOCK_LINES;
                    dest->bottom = MIN(bounds.top + (row + 1) * BLOCK_LINES, bounds.bottom);
                }
            }
        }
    }
    return is_found;
}

/* Pixels that become right there less those that become wrong, of some; INT_MIN: it must not be. */
int RedMotion::strip_gain(Shift shift, const SpiceRect &strip)
{
    SpiceRect from = strip;

    rect_offset(&from, -shift.dx, -shift.dy);
    if (from.left < 0 || from.top < 0 || from.right > width || from.bottom > height ||
        strip.left < 0 || strip.top < 0 || strip.right > width || strip.bottom > height ||
        (!known_cells.empty() && (!is_shown(&from) || !is_shown(&strip)))) {
        return INT_MIN;
    }
    /* one side is short, and of the other some pixels tell enough */
    const int step_x = (strip.right - strip.left) / RED_MOTION_SAMPLES + 1;
    const int step_y = (strip.bottom - strip.top) / RED_MOTION_SAMPLES + 1;

    found.looked += count_pixels(strip) / step_x / step_y;
    return bytes == 2 ? count_gain<uint16_t>(strip, from, step_x, step_y) :
                        count_gain<uint32_t>(strip, from, step_x, step_y);
}

/* Of every so many pixels those that become right there less those that become wrong. */
template <typename Pixel>
int RedMotion::count_gain(const SpiceRect &strip, const SpiceRect &from, int step_x,
                          int step_y) const
{
    int gain = 0;

    for (int y = strip.top; y < strip.bottom; y += step_y) {
        const auto line_of = [&](const std::unique_ptr<uint8_t[]> &picture, int x, int line_y) {
            return reinterpret_cast<const Pixel *>(at(picture, x, line_y));
        };
        const Pixel *wanted_line = line_of(next, strip.left, y);
        const Pixel *before = line_of(shown, strip.left, y);
        const Pixel *after = line_of(shown, from.left, from.top + y - strip.top);

        for (int x = 0; x < strip.right - strip.left; x += step_x) {
            gain += (after[x] == wanted_line[x]) - (before[x] == wanted_line[x]);
        }
    }
    return gain;
}

/* What moved need not end where a block does: each side goes on until a line would lose. */
void RedMotion::fit(Shift shift, SpiceRect *dest)
{
    const struct { int32_t SpiceRect::*edge; int32_t SpiceRect::*other; int out, most; } sides[] = {
        { &SpiceRect::left, &SpiceRect::right, -1, CELL - 1 },
        { &SpiceRect::right, &SpiceRect::left, 1, CELL - 1 },
        { &SpiceRect::top, &SpiceRect::bottom, -1, BLOCK_LINES - 1 },
        { &SpiceRect::bottom, &SpiceRect::top, 1, BLOCK_LINES - 1 },
    };

    for (const auto &side : sides) {
        const SpiceRect before = *dest;

        for (const int step : { -side.out, side.out }) {
            const int size = abs(before.*side.edge - before.*side.other);
            int sum = 0, best = 0;

            for (int i = 0; i < side.most && sum >= best && (step == side.out || i + 1 < size);
                 ++i) {
                const int from = before.*side.edge + i * step, to = from + step;
                SpiceRect strip = before;

                strip.*side.edge = side.out > 0 ? MAX(from, to) : MIN(from, to);
                strip.*side.other = side.out > 0 ? MIN(from, to) : MAX(from, to);
                const int gain = strip_gain(shift, strip);
                if (gain == INT_MIN) {
                    break;
                }
                sum += step == side.out ? gain : -gain;
                if (sum > best) {
                    best = sum;
                    dest->*side.edge = to;
                }
            }
            if (best > 0) {
                break;
            }
        }
    }
}

/* Do to the screen what the client will do. */
void RedMotion::move(Shift shift, const SpiceRect &dest)
{
    const int lines = dest.bottom - dest.top;
    const size_t size = static_cast<size_t>(dest.right - dest.left) * bytes;

    found.looked += 2 * count_pixels(dest);
    for (int i = 0; i < lines; ++i) {
        const int y = shift.dy > 0 ? dest.bottom - 1 - i : dest.top + i;

        memmove(at(shown, dest.left, y), at(shown, dest.left - shift.dx, y - shift.dy), size);
    }

    QRegion moved;
    region_init(&moved);
    region_add(&moved, &dest);
    region_or(&known, &moved);
    region_destroy(&moved);

    /* what is only partly there keeps what it was */
    for (int y = dest.top; y < dest.bottom; ++y) {
        uint8_t *changed = &is_changed[static_cast<size_t>(y) * cells];
        const int left = dest.left / CELL * CELL, right = cell_end((dest.right - 1) / CELL);

        if (known_cells.empty() && is_equal(left, y, left, y, right - left)) {
            memset(changed + left / CELL, 0, (dest.right - 1) / CELL + 1 - left / CELL);
            continue;
        }
        for (int cell = dest.left / CELL; cell * CELL < dest.right; ++cell) {
            const int x = cell * CELL;
            const int pixels = cell_end(cell) - x;

            if (known_cells.empty() || (x >= dest.left && x + pixels <= dest.right)) {
                changed[cell] = !is_equal(x, y, x, y, pixels);
            } else {
                const int from = MAX(x, dest.left), end = MIN(x + pixels, dest.right);

                changed[cell] |= !is_equal(from, y, from, y, end - from);
            }
        }
    }
}

/* Move by this what gains by it, if that may be so many pixels. */
void RedMotion::try_shift(Shift shift, uint64_t least)
{
    SpiceRect dest;

    if ((!shift.dx && !shift.dy) || found.moves.size() >= MAX_MOVES) {
        return;
    }
    if (estimate(shift) < least) {
        return;
    }
    score(shift);
    if (!find_best(&dest)) {
        return;
    }
    fit(shift, &dest);

    const uint64_t before = changed_cells;
    move(shift, dest);
    found.moves.push_back({ dest, { dest.left - shift.dx, dest.top - shift.dy } });
    if (lately[0].dx != shift.dx || lately[0].dy != shift.dy) {
        lately[1] = lately[0];
        lately[0] = shift;
    }
    rect_union(&bounds, &dest);
    find_bounds();
    if (before > changed_cells) {
        found.moved_pixels += (before - changed_cells) * CELL;
    }
    if (!known_cells.empty()) {
        know_cells();
    }
}

void RedMotion::try_shifts(const std::vector<Shift> &shifts, uint64_t least)
{
    for (const Shift shift : shifts) {
        if (!is_worth_search()) {
            break;
        }
        try_shift(shift, least);
    }
}

/* Moves of parts of what has changed: each is looked for in what the last one left. */
void RedMotion::find_next(uint64_t all)
{
    bool tries_others = true;

    for (uint64_t before = 0; changed_cells != before && is_worth_search(); ) {
        std::vector<Shift> lines, others;
        const auto try_part = [&](const std::vector<Shift> &shifts, uint64_t part) {
            try_shifts(shifts, MAX(MIN_GAIN / 2, changed_cells * CELL / part));
        };

        before = changed_cells;
        vote_lines(&lines);
        try_part(lines, SURE_PART);
        /* lines of text that move aside look as if some had moved up or down */
        if (changed_cells == before && tries_others && changed_cells * 3 >= all) {
            tries_others = false;
            guess(&others);
            try_part(others, SURE_PART);
        }
        if (changed_cells == before) {
            try_part(lines, MIN_GAIN_PART);
        }
    }
}

/* Whether to leave out this search, as the last ones, for changes of this area, were in vain. */
bool RedMotion::is_in_vain()
{
    SpiceRect both = vain_bounds;

    rect_union(&both, &bounds);
    if (in_vain > 1 && rect_is_equal(&both, &vain_bounds) &&
        left_out < MIN(in_vain - 1, MAX_LEFT_OUT)) {
        ++left_out;
        return true;
    }
    left_out = 0;
    return false;
}

void RedMotion::find_moves()
{
    const uint64_t all = changed_cells;

    if (!is_worth_search()) {
        return;
    }
    know_cells();
    /* what scrolls goes on to, and in the same way */
    const std::vector<Shift> shifts(lately, lately + G_N_ELEMENTS(lately));
    try_shifts(shifts, MIN_GAIN / 2);
    if (changed_cells * 2 < all) {
        in_vain = 0;
        return;
    }
    if (is_in_vain()) {
        return;
    }
    vain_bounds = bounds;
    find_next(all);
    in_vain = changed_cells < all ? 0 : in_vain + 1;
}

const RedMotionFound &RedMotion::find()
{
    found.moves.clear();
    found.changed.clear();
    found.written_pixels = found.moved_pixels = found.changed_pixels = found.looked = 0;

    take_written();
    if (found.changed.empty() && find_bounds()) {
        find_moves();
        find_changed();
    }
    std::fill(is_changed.begin() + static_cast<size_t>(bounds.top) * cells,
              is_changed.begin() + static_cast<size_t>(bounds.bottom) * cells, 0);

    for (const auto &rect : found.changed) {
        show(rect);
    }
    std::swap(known, wanted);
    if (pixman_region32_n_rects(&known) > RED_MOTION_MAX_RECTS) {
        region_clear(&known);
    }
    return found;
}
