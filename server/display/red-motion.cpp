/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include <common/rect.h>

#include "red-motion.h"

/* What is known is forgotten if it takes more rectangles than this to say. */
#define MAX_RECTS 1024

/* Pixels: fewer that changed are sent rather than searched for, and a move saves more than so
 * many or it is none. A copy is a message of 100 bytes. */
#define MIN_SEARCH 4096
#define MIN_GAIN 2048
/* and than this part of what has changed, as it has to be looked for among that */
#define MIN_GAIN_PART 64
/* Cells that are looked at to see whether a guess is worth it, pixels of an edge to see where it
 * is. */
#define MAX_SAMPLES 128

/* Of so many lines one tells what would be gained; every pixel is compared once it has moved. */
#define SCORE_LINES 2

/* No step of the search begins once so many pixels were looked at for each one within the bounds:
 * what a guest draws decides how much is found, not how long it takes. The longest step, a search
 * in any direction where all is a feature, looks at 2 + LOOKUP more, the rectangles at 2. Of the
 * recorded screens of text nine in ten take 8 at most, all 16. */
#define MAX_LOOKS 16

/* Moves in one picture, and guesses that are looked at for them. */
#define MAX_MOVES 6
#define MAX_GUESSES 6

/* Another vertical move is looked for if this part of what had changed is left. */
#define WORTH_PART 8
/* A move in any direction has to be right for this part of it, going by samples, as has a vertical
 * one before these: what is by chance would break up the next ones. */
#define SURE_PART 4
/* After so many searches for such moves in vain every 16th is made, if it is not small: video and
 * noise do not pay for what never comes. */
#define MAX_IN_VAIN 4
#define CHEAP_PIXELS 65536

/* Lines of which features are taken of the new picture, and how many features. The old one has
 * to be looked at whole, as something may have moved by any number of lines. */
#define FEATURE_LINES 256
#define MAX_FEATURES 4096
/* places in each picture that look the same: more would not say which became which */
#define MAX_PLACES 4
/* steps of a binary search among the features, 4 * MAX_FEATURES at most */
#define LOOKUP 14
#define MIN_VOTES 6
/* Columns of cells in which vertical moves are looked for, and guesses of theirs that are tried. */
#define MAX_COLUMNS 8
#define MAX_LINE_GUESSES 2

/* Pixels that are sent, though they are equal, to have one rectangle instead of two. The header
 * of a picture is 80 bytes and the dictionary begins anew, while what is equal packs well. */
#define MAX_FILL 2048
/* Rectangles among which all pairs are looked at. */
#define MAX_PAIRS 64
/* Rectangles in all: for more the bounds. */
#define MAX_CHANGED 256

RedMotion::RedMotion(int init_width, int init_height, int init_bytes):
    width(init_width),
    height(init_height),
    bytes(init_bytes),
    stride(static_cast<size_t>(init_width) * init_bytes),
    cells((init_width + CELL - 1) / CELL),
    shown(new uint8_t[stride * height]()),
    next(new uint8_t[stride * height]()),
    is_changed(static_cast<size_t>(cells) * height),
    bounds { 0, 0, 0, 0 }
{
    region_init(&known);
    region_init(&wanted);
}

RedMotion::~RedMotion()
{
    region_destroy(&known);
    region_destroy(&wanted);
}

void RedMotion::write(int x, int y, const uint8_t *pixels, int n_pixels)
{
    const int end = x + n_pixels;

    /* most lines are equal, or few cells of them change */
    if (memcmp(at(next, x, y), pixels, static_cast<size_t>(n_pixels) * bytes) == 0) {
        return;
    }
    for (int cell = x / CELL; x < end; ++cell) {
        const int cell_pixels = MIN(cell_end(cell), end) - x;
        const size_t size = static_cast<size_t>(cell_pixels) * bytes;

        if (memcmp(at(next, x, y), pixels, size) != 0) {
            memcpy(at(next, x, y), pixels, size);
            is_changed[static_cast<size_t>(y) * cells + cell] = 1;
        }
        x += cell_pixels;
        pixels += size;
    }
}

bool RedMotion::is_written(const SpiceRect &where) const
{
    for (const auto &rect : written) {
        if (rect_intersects(&rect, &where)) {
            return true;
        }
    }
    return false;
}

void RedMotion::know_all()
{
    const SpiceRect all = { 0, 0, width, height };

    memcpy(shown.get(), next.get(), stride * height);
    region_add(&known, &all);
}

bool RedMotion::knows_all() const
{
    const SpiceRect all = { 0, 0, width, height };

    return is_shown(&all);
}

void RedMotion::forget(const SpiceRect *where)
{
    region_remove(&known, where);
    if (pixman_region32_n_rects(&known) > MAX_RECTS) {
        region_clear(&known);
    }
}

bool RedMotion::is_equal(int x, int y, int from_x, int from_y, int pixels) const
{
    return memcmp(at(next, x, y), at(shown, from_x, from_y), pixels * bytes) == 0;
}

bool RedMotion::is_equal_pixel(int x, int y, int from_x, int from_y) const
{
    const uint8_t *to = at(next, x, y), *from = at(shown, from_x, from_y);

    if (bytes == 2) {
        return *reinterpret_cast<const uint16_t *>(to) == *reinterpret_cast<const uint16_t *>(from);
    }
    return *reinterpret_cast<const uint32_t *>(to) == *reinterpret_cast<const uint32_t *>(from);
}

static bool contains(const QRegion *region, const SpiceRect *where)
{
    pixman_box32_t box = { where->left, where->top, where->right, where->bottom };

    return pixman_region32_contains_rectangle(const_cast<QRegion *>(region), &box) ==
           PIXMAN_REGION_IN;
}

bool RedMotion::is_shown(const SpiceRect *where) const
{
    return contains(&known, where);
}

bool RedMotion::is_wanted(const SpiceRect *where) const
{
    return contains(&wanted, where);
}

/* Of what has changed the bounds, and how much it is. */
bool RedMotion::find_bounds()
{
    int left = cells, right = 0, top = height, bottom = 0;

    changed_cells = 0;
    for (int y = 0; y < height; ++y) {
        const uint8_t *changed = &is_changed[static_cast<size_t>(y) * cells];

        if (!memchr(changed, 1, cells)) {
            continue;
        }
        top = MIN(top, y);
        bottom = y + 1;
        for (int cell = 0; cell < cells; ++cell) {
            if (changed[cell]) {
                ++changed_cells;
                left = MIN(left, cell);
                right = MAX(right, cell + 1);
            }
        }
    }
    bounds.left = left * CELL;
    bounds.right = MIN(right * CELL, width);
    bounds.top = top;
    bounds.bottom = bottom;
    return changed_cells != 0;
}

void RedMotion::know_cells()
{
    known_cells.clear();
    if (knows_all()) {
        return;
    }

    uint32_t n_rects;
    SpiceRect *rects = region_dup_rects(&known, &n_rects);

    /* a cell of two rectangles is left out, which costs little */
    known_cells.resize(static_cast<size_t>(cells) * height);
    for (uint32_t i = 0; i < n_rects; ++i) {
        const int first = (rects[i].left + CELL - 1) / CELL;
        const int end = rects[i].right == width ? cells : rects[i].right / CELL;

        for (int y = rects[i].top; first < end && y < rects[i].bottom; ++y) {
            memset(&known_cells[static_cast<size_t>(y) * cells + first], 1, end - first);
        }
    }
    g_free(rects);
}

bool RedMotion::is_known_cell(int x, int y, int pixels) const
{
    if (known_cells.empty()) {
        return true;
    }
    const uint8_t *line_cells = &known_cells[static_cast<size_t>(y) * cells];

    return line_cells[x / CELL] && line_cells[(x + pixels - 1) / CELL];
}

/* Goes along a line and knows a hash of the last CELL pixels. */
template <typename Pixel>
struct Roller {
    enum : uint32_t { FACTOR = 0x9e3779b1, SPREAD = 0x85ebca6b };

    const Pixel *line;
    uint32_t hash = 0;
    unsigned same = 0;
    Pixel last = 0;
    const uint32_t leaves;

    Roller(const uint8_t *init_line, uint32_t init_leaves):
        line(reinterpret_cast<const Pixel *>(init_line)), leaves(init_leaves) {}

    /* what the oldest of so many pixels and one more has been multiplied by */
    static uint32_t get_leaves(int pixels)
    {
        uint32_t power = 1;

        while (pixels-- > 0) {
            power *= FACTOR;
        }
        return power;
    }

    static uint32_t value(Pixel pixel)
    {
        const uint32_t spread = (static_cast<uint32_t>(pixel) + 1) * SPREAD;

        return spread ^ (spread >> 15);
    }

    void take(Pixel pixel)
    {
        hash = hash * FACTOR + value(pixel);
        same = pixel == last ? same + 1 : 1;
        last = pixel;
    }

    void leave(Pixel pixel) { hash -= value(pixel) * leaves; }

    uint32_t get() const { return (hash ^ (hash >> 16)) * SPREAD; }
};

/* A hash of the bytes of a cell; 0 if they repeat after 8: such a cell tells nothing. */
static uint32_t hash_cell(const uint8_t *cell, size_t size)
{
    const uint64_t factor = 0x9e3779b97f4a7c15;
    uint64_t hashes[4] = { size, 1, 2, 3 }, words[4];

    if (size <= sizeof(words[0]) ||
        memcmp(cell, cell + sizeof(words[0]), size - sizeof(words[0])) == 0) {
        return 0;
    }
    for (size_t taken; size > 0; cell += taken, size -= taken) {
        taken = MIN(size, sizeof(words));
        if (taken < sizeof(words)) {
            memset(words, 0, sizeof(words));
            memcpy(words, cell, taken);
        } else {
            memcpy(words, cell, sizeof(words));
        }
        for (int i = 0; i < 4; ++i) {
            hashes[i] = (hashes[i] ^ words[i]) * factor;
            hashes[i] ^= hashes[i] >> 29;
        }
    }
    hashes[0] = (hashes[0] ^ hashes[1] << 7 ^ hashes[2] << 14 ^ hashes[3] << 21) * factor;
    return MAX(hashes[0] >> 32, 1u);
}

/* Of each part of the bounds the column in which most has changed. */
std::vector<int> RedMotion::choose_columns() const
{
    const int first = bounds.left / CELL, end = (bounds.right + CELL - 1) / CELL;
    const int parts = MIN(end - first, MAX_COLUMNS);
    std::vector<unsigned> counts(end - first);
    std::vector<int> columns;

    for (int y = bounds.top; y < bounds.bottom; ++y) {
        const uint8_t *changed = &is_changed[static_cast<size_t>(y) * cells + first];

        for (int i = 0; i < end - first; ++i) {
            counts[i] += changed[i];
        }
    }
    for (int i = 0; i < parts; ++i) {
        const auto from = counts.begin() + (end - first) * i / parts;
        const auto to = counts.begin() + (end - first) * (i + 1) / parts;
        const auto best = std::max_element(from, to);

        if (*best > 0) {
            columns.push_back(first + (best - counts.begin()));
        }
    }
    return columns;
}

/* Guess by how many lines something has moved up or down, as most does: cells that have changed
 * are looked for in the same column of the old picture. */
void RedMotion::vote_lines(std::vector<Shift> *shifts)
{
    struct Place { uint32_t feature; int y; unsigned old_places; };

    std::vector<Place> places;
    std::vector<unsigned> votes(2 * height);

    for (const int cell : choose_columns()) {
        const size_t size = static_cast<size_t>(cell_end(cell) - cell * CELL) * bytes;
        uint64_t filter[64] = {};

        found.looked += uint64_t{2 * CELL} * (bounds.bottom - bounds.top);
        places.clear();
        for (int y = bounds.top; y < bounds.bottom; ++y) {
            if (is_changed[static_cast<size_t>(y) * cells + cell]) {
                const uint32_t feature = hash_cell(at(next, cell * CELL, y), size);

                if (feature) {
                    places.push_back({ feature, y, 0 });
                    filter[feature & 63] |= uint64_t{1} << (feature >> 26);
                }
            }
        }
        std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) {
            return a.feature != b.feature ? a.feature < b.feature : a.y < b.y;
        });

        for (int y = bounds.top; !places.empty() && y < bounds.bottom; ++y) {
            const uint32_t feature = hash_cell(at(shown, cell * CELL, y), size);

            if (!(filter[feature & 63] >> (feature >> 26) & 1)) {
                continue;
            }
            found.looked += LOOKUP;
            size_t i = std::lower_bound(places.begin(), places.end(), feature,
                                        [](const Place &place, uint32_t wanted_feature) {
                return place.feature < wanted_feature;
            }) - places.begin();
            const auto is_same = [&](size_t other) {
                return other < places.size() && places[other].feature == feature;
            };
            if (!is_same(i) || is_same(i + MAX_PLACES) || places[i].old_places++ >= MAX_PLACES) {
                continue;
            }
            for (; is_same(i); ++i) {
                ++votes[places[i].y - y + height];
            }
        }
    }
    votes[height] = 0;

    for (int i = 0; i < MAX_LINE_GUESSES; ++i) {
        const auto best = std::max_element(votes.begin(), votes.end());

        if (*best < MIN_VOTES) {
            break;
        }
        shifts->push_back({ 0, static_cast<int>(best - votes.begin()) - height });
        *best = 0;
    }
}

/* Guess by how much something has moved: places of the new picture that have changed are looked
 * for in the old one. A place is chosen by what is there alone, so that it is chosen again
 * wherever it went. Sorted lists: a guest could choose pixels of which a table's keys collide. */
template <typename Pixel>
void RedMotion::vote(std::vector<Shift> *shifts)
{
    struct Place { uint32_t feature; int x, y; unsigned old_places; };

    std::vector<Place> places;
    const uint32_t leaves = Roller<Pixel>::get_leaves(CELL - 1);
    const int step = MAX((bounds.bottom - bounds.top) / FEATURE_LINES, 1);
    uint32_t mask = 0;

    while (changed_cells * CELL / step / (mask + 1) > MAX_FEATURES) {
        mask = mask * 2 + 1;
    }
    found.looked += count_pixels(bounds) + count_pixels(bounds) / step;

    for (int y = bounds.top; y < bounds.bottom && places.size() < 4 * MAX_FEATURES; y += step) {
        const uint8_t *changed = &is_changed[static_cast<size_t>(y) * cells];
        Roller<Pixel> roller(line(0, y), leaves);
        int taken = 0;

        for (int x = bounds.left; x < bounds.right && places.size() < 4 * MAX_FEATURES; ++x) {
            /* one that begins in a cell that has not changed may have moved, but need not */
            if (!changed[x / CELL]) {
                taken = 0;
                roller.hash = roller.same = 0;
                continue;
            }
            if (taken == CELL) {
                roller.leave(roller.line[x - CELL]);
            } else {
                ++taken;
            }
            roller.take(roller.line[x]);
            if (taken < CELL || roller.same >= CELL) {
                continue;
            }
            const uint32_t feature = roller.get();
            if ((feature & mask) == 0) {
                places.push_back({ feature, x, y, 0 });
            }
        }
    }
    std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) {
        return a.feature != b.feature ? a.feature < b.feature : a.y != b.y ? a.y < b.y : a.x < b.x;
    });

    /* nearly all that is looked up is not there */
    std::vector<uint64_t> filter(1024);
    for (const auto &place : places) {
        filter[place.feature >> 6 & 1023] |= uint64_t{1} << (place.feature >> 26);
    }

    std::vector<Shift> seen;
    for (int y = bounds.top; !places.empty() && y < bounds.bottom; ++y) {
        Roller<Pixel> roller(at(shown, 0, y), leaves);

        for (int x = bounds.left; x < bounds.right; ++x) {
            if (x - bounds.left >= CELL) {
                roller.leave(roller.line[x - CELL]);
            }
            roller.take(roller.line[x]);
            if (x - bounds.left < CELL - 1 || roller.same >= CELL) {
                continue;
            }
            const uint32_t feature = roller.get();
            if ((feature & mask) != 0 || !(filter[feature >> 6 & 1023] >> (feature >> 26) & 1)) {
                continue;
            }
            found.looked += LOOKUP;
            size_t i = std::lower_bound(places.begin(), places.end(), feature,
                                        [](const Place &place, uint32_t wanted_feature) {
                return place.feature < wanted_feature;
            }) - places.begin();
            const auto is_same = [&](size_t other) {
                return other < places.size() && places[other].feature == feature;
            };
            if (!is_same(i) || is_same(i + MAX_PLACES) || places[i].old_places++ >= MAX_PLACES) {
                continue;
            }
            for (; is_same(i); ++i) {
                seen.push_back({ places[i].x - x, places[i].y - y });
            }
        }
    }
    add_most(&seen, shifts);
}

/* The shifts that were seen most. */
void RedMotion::add_most(std::vector<Shift> *seen, std::vector<Shift> *shifts)
{
    struct Vote { Shift shift; size_t count; };
    std::vector<Vote> best;

    std::sort(seen->begin(), seen->end(), [](Shift a, Shift b) {
        return a.dy != b.dy ? a.dy < b.dy : a.dx < b.dx;
    });
    for (size_t i = 0, end; i < seen->size(); i = end) {
        const Shift shift = (*seen)[i];

        for (end = i + 1; end < seen->size() && (*seen)[end].dx == shift.dx &&
                          (*seen)[end].dy == shift.dy; ++end) {
        }
        if (end - i >= MIN_VOTES && (shift.dx || shift.dy)) {
            best.push_back({ shift, end - i });
        }
    }
    std::stable_sort(best.begin(), best.end(), [](const Vote &a, const Vote &b) {
        return a.count > b.count;
    });
    for (size_t i = 0; i < best.size() && i < MAX_GUESSES; ++i) {
        shifts->push_back(best[i].shift);
    }
}

/* Pixels that this would save, as far as some of the cells that have changed can tell. */
uint64_t RedMotion::estimate(Shift shift)
{
    const uint64_t step = changed_cells / MAX_SAMPLES + 1;
    uint64_t skip = 0, samples = 0, right = 0;

    for (int y = bounds.top; y < bounds.bottom; ++y) {
        const uint8_t *changed = &is_changed[static_cast<size_t>(y) * cells];
        const int from_y = y - shift.dy;

        for (int cell = bounds.left / CELL; cell * CELL < bounds.right; ++cell) {
            if (!changed[cell]) {
                continue;
            }
            if (skip > 0) {
                --skip;
                continue;
            }
            skip = step - 1;
            const int x = cell * CELL, from_x = x - shift.dx, pixels = cell_end(cell) - x;

            ++samples;
            right += from_y >= 0 && from_y < height && from_x >= 0 && from_x + pixels <= width &&
                     is_equal(x, y, from_x, from_y, pixels);
        }
    }
    found.looked += count_pixels(bounds) / CELL + samples * CELL;
    return samples ? right * changed_cells * CELL / samples : 0;
}

/* What would be there if all within the bounds had moved: pixels, of each block. */
void RedMotion::score(Shift shift)
{
    const int first = bounds.left / CELL;
    const int columns = (bounds.right + CELL - 1) / CELL - first;
    const int rows = (bounds.bottom - bounds.top + BLOCK_LINES - 1) / BLOCK_LINES;
    const int never = -(1 << 20);

    /* what is copied must be on the screen */
    int left = first, right = first + columns;
    while (left < right && left * CELL < shift.dx) {
        ++left;
    }
    while (left < right && cell_end(right - 1) - shift.dx > width) {
        --right;
    }

    found.looked += count_pixels(bounds) / SCORE_LINES;
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
        for (int y = top; y < bottom; y += SCORE_LINES) {
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
            score[cell] += changed[cell] * CELL * SCORE_LINES;
        }
        return;
    }
    for (int cell = left; cell < right; ++cell) {
        const int x = cell * CELL;

        if (is_equal(x, y, x - shift.dx, from_y, cell_end(cell) - x)) {
            score[cell] += changed[cell] * CELL * SCORE_LINES;
        } else {
            score[cell] -= !changed[cell] * CELL * SCORE_LINES;
        }
    }
}

/* The rectangle of blocks with the highest sum of scores. False if that is none. */
bool RedMotion::find_best(SpiceRect *dest)
{
    const int first = bounds.left / CELL;
    const int columns = (bounds.right + CELL - 1) / CELL - first;
    const int rows = scores.size() / columns;
    int64_t best = MAX(MIN_GAIN, changed_cells * CELL / MIN_GAIN_PART);
    bool is_found = false;
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
    const int step_x = (strip.right - strip.left) / MAX_SAMPLES + 1;
    const int step_y = (strip.bottom - strip.top) / MAX_SAMPLES + 1;

    found.looked += count_pixels(strip) / step_x / step_y;
    return bytes == 2 ? count_gain<uint16_t>(strip, from, step_x, step_y) :
                        count_gain<uint32_t>(strip, from, step_x, step_y);
}

/* Of every so many pixels those that become right there less those that become wrong. */
template <typename Pixel>
int RedMotion::count_gain(const SpiceRect &strip, const SpiceRect &from, int step_x, int step_y) const
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

/* What moved need not end where a block does: each side goes to where most is gained. */
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

            for (int i = 0; i < side.most && (step == side.out || i + 1 < size); ++i) {
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
void RedMotion::try_shift(Shift shift, uint64_t min_gain)
{
    SpiceRect dest;

    if ((!shift.dx && !shift.dy) || found.moves.size() >= MAX_MOVES || !may_look()) {
        return;
    }
    if (estimate(shift) < min_gain) {
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
    find_bounds();
    if (before > changed_cells) {
        found.moved_pixels += (before - changed_cells) * CELL;
    }
    if (!known_cells.empty()) {
        know_cells();
    }
}

void RedMotion::try_shifts(const std::vector<Shift> &shifts, uint64_t min_gain)
{
    for (const Shift shift : shifts) {
        if (changed_cells * CELL < MIN_SEARCH) {
            break;
        }
        try_shift(shift, min_gain);
    }
}

/* Moves up and down, of a part of what has changed: the next one is looked for in what the last one
 * left. */
void RedMotion::find_vertical(uint64_t all, uint64_t part)
{
    std::vector<Shift> shifts;

    for (uint64_t before = 0; changed_cells != before && may_look() && changed_cells * CELL >= MIN_SEARCH &&
                              changed_cells * WORTH_PART >= all; ) {
        before = changed_cells;
        shifts.clear();
        vote_lines(&shifts);
        try_shifts(shifts, MAX(MIN_GAIN / 2, changed_cells * CELL / part));
    }
}

/* Moves in any direction, of much that has changed: a window that is dragged. */
void RedMotion::find_others()
{
    const uint64_t before = changed_cells;
    std::vector<Shift> shifts;

    if (!may_look()) {
        return;
    }
    if (count_pixels(bounds) > CHEAP_PIXELS && in_vain >= MAX_IN_VAIN &&
        ++searches_left_out % 16 != 0) {
        return;
    }
    if (bytes == 2) {
        vote<uint16_t>(&shifts);
    } else {
        vote<uint32_t>(&shifts);
    }
    try_shifts(shifts, MAX(MIN_GAIN / 2, before * CELL / SURE_PART));
    in_vain = changed_cells + before / WORTH_PART < before ? 0 : in_vain + 1;
}

void RedMotion::find_moves()
{
    const uint64_t all = changed_cells;

    if (all * CELL < MIN_SEARCH) {
        return;
    }
    look_until = found.looked + MAX_LOOKS * count_pixels(bounds);
    know_cells();
    /* what scrolls goes on to, and in the same way */
    const std::vector<Shift> shifts(lately, lately + G_N_ELEMENTS(lately));
    try_shifts(shifts, MIN_GAIN / 2);
    if (changed_cells * 2 < all) {
        return;
    }
    /* lines of text that move aside look as if some had moved up or down */
    find_vertical(all, SURE_PART);
    if (changed_cells * 3 >= all && changed_cells * CELL >= MIN_SEARCH) {
        find_others();
    }
    find_vertical(all, MIN_GAIN_PART);
}

/* Make one rectangle of two, if that adds little. */
bool RedMotion::merge_changed(size_t into, size_t other)
{
    SpiceRect both = found.changed[into];
    const uint64_t filled = filled_pixels[into] + filled_pixels[other];

    rect_union(&both, &found.changed[other]);
    if (count_pixels(both) > filled + filled / 4 + MAX_FILL || !is_wanted(&both)) {
        return false;
    }
    found.changed[into] = both;
    filled_pixels[into] = filled;
    return true;
}

void RedMotion::add_changed(const SpiceRect &span, uint64_t filled)
{
    found.changed.push_back(span);
    filled_pixels.push_back(filled);

    /* the latest ones are those above it */
    const size_t added = found.changed.size() - 1;
    const size_t first = added > MAX_PAIRS ? added - MAX_PAIRS : 0;
    for (size_t i = added; i-- > first; ) {
        ++found.looked;
        if (merge_changed(i, added)) {
            found.changed.pop_back();
            filled_pixels.pop_back();
            return;
        }
    }
}

/* Leave out what is equal at both ends of these lines. */
void RedMotion::trim(SpiceRect *span) const
{
    const auto is_equal_column = [&](int x) {
        for (int y = span->top; y < span->bottom; ++y) {
            if (!is_equal_pixel(x, y, x, y)) {
                return false;
            }
        }
        return true;
    };

    while (span->left + 1 < span->right && is_equal_column(span->left)) {
        ++span->left;
    }
    while (span->left + 1 < span->right && is_equal_column(span->right - 1)) {
        --span->right;
    }
}

/* The next run of cells from @cell on that change in some of these lines, as the lines that do,
 * and how many pixels these cells have. Returns the cell after it, 0 if there is none. */
int RedMotion::next_run(int cell, int top, int bottom, SpiceRect *span, uint64_t *filled) const
{
    int end = 0;

    *filled = 0;
    for (; cell < cells; ++cell) {
        int first = bottom, last = top;

        for (int y = top; y < bottom; ++y) {
            if (is_changed[static_cast<size_t>(y) * cells + cell]) {
                *filled += cell_end(cell) - cell * CELL;
                first = MIN(first, y);
                last = y + 1;
            }
        }
        if (first < last) {
            if (!end) {
                *span = { cell * CELL, first, 0, last };
            }
            span->top = MIN(span->top, first);
            span->bottom = MAX(span->bottom, last);
            span->right = cell_end(cell);
            end = cell + 1;
        } else if (end) {
            break;
        }
    }
    return end;
}

/* Rectangles for all that has changed. */
void RedMotion::find_changed()
{
    const bool is_all = knows_all();
    SpiceRect span;
    uint64_t filled;

    filled_pixels.clear();
    for (int y = bounds.top; y < bounds.bottom; y += BLOCK_LINES) {
        const int bottom = MIN(y + BLOCK_LINES, bounds.bottom);

        found.looked += static_cast<uint64_t>(bounds.right - bounds.left) * (bottom - y);
        for (int cell = 0; (cell = next_run(cell, y, bottom, &span, &filled)) != 0; ) {
            if (is_all) {
                trim(&span);
                add_changed(span, MIN(filled, count_pixels(span)));
                continue;
            }
            /* what is not known must not be sent */
            QRegion part;
            uint32_t n_rects;

            region_init(&part);
            region_add(&part, &span);
            region_and(&part, &wanted);
            SpiceRect *rects = region_dup_rects(&part, &n_rects);
            for (uint32_t i = 0; i < n_rects; ++i) {
                add_changed(rects[i], count_pixels(rects[i]));
            }
            g_free(rects);
            region_destroy(&part);
        }
    }
    merge_pairs();
}

void RedMotion::merge_pairs()
{
    auto &changed = found.changed;

    if (changed.size() > MAX_CHANGED && is_wanted(&bounds)) {
        changed.assign(1, bounds);
    }
    bool is_merged = changed.size() <= MAX_PAIRS;
    while (is_merged) {
        is_merged = false;
        for (size_t i = 0; i < changed.size(); ++i) {
            for (size_t other = changed.size(); --other > i; ) {
                ++found.looked;
                if (merge_changed(i, other)) {
                    changed.erase(changed.begin() + other);
                    filled_pixels.erase(filled_pixels.begin() + other);
                    is_merged = true;
                }
            }
        }
    }
    for (const auto &rect : changed) {
        found.changed_pixels += count_pixels(rect);
    }
}

/* All cells are to change of what is written where nothing is known. */
void RedMotion::add_unknown(const QRegion *where)
{
    QRegion part;
    uint32_t n_rects;

    region_clone(&part, where);
    region_exclude(&part, &known);
    SpiceRect *rects = region_dup_rects(&part, &n_rects);
    for (uint32_t i = 0; i < n_rects; ++i) {
        const int first = rects[i].left / CELL;
        const int end = (rects[i].right + CELL - 1) / CELL;

        for (int y = rects[i].top; y < rects[i].bottom; ++y) {
            memset(&is_changed[static_cast<size_t>(y) * cells + first], 1, end - first);
        }
    }
    g_free(rects);
    region_destroy(&part);
}

/* Have @wanted be all that is known or written, and count what is written. */
void RedMotion::take_written()
{
    std::vector<pixman_box32_t> boxes;
    QRegion where;
    uint32_t n_rects;

    boxes.reserve(written.size());
    for (const auto &rect : written) {
        boxes.push_back({ rect.left, rect.top, rect.right, rect.bottom });
    }
    written.clear();
    if (!pixman_region32_init_rects(&where, boxes.data(), boxes.size())) {
        spice_error("out of memory");
    }
    SpiceRect *rects = region_dup_rects(&where, &n_rects);
    for (uint32_t i = 0; i < n_rects; ++i) {
        found.written_pixels += count_pixels(rects[i]);
    }
    region_clear(&wanted);
    region_or(&wanted, &known);
    if (!knows_all()) {
        region_or(&wanted, &where);
        add_unknown(&where);
    }
    if (pixman_region32_n_rects(&wanted) > MAX_RECTS) {
        /* each change would be cut along all of these: draw what was written */
        found.changed.assign(rects, rects + n_rects);
        found.changed_pixels = found.written_pixels;
    }
    g_free(rects);
    region_destroy(&where);
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
    std::fill(is_changed.begin(), is_changed.end(), 0);

    for (const auto &rect : found.changed) {
        const size_t size = static_cast<size_t>(rect.right - rect.left) * bytes;

        for (int y = rect.top; y < rect.bottom; ++y) {
            memcpy(at(shown, rect.left, y), at(next, rect.left, y), size);
        }
    }
    std::swap(known, wanted);
    if (pixman_region32_n_rects(&known) > MAX_RECTS) {
        region_clear(&known);
    }
    return found;
}
