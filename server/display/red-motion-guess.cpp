/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Guesses by how much parts of the screen have moved: what has changed is looked for in the old
 * image. */
#include <config.h>

#include <algorithm>
#include <bitset>
#include <cstring>

#include <common/rect.h>

#include "red-motion.h"

/* What hashes are multiplied by. */
/* 2^64 divided by the golden ratio */
#define FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* Goes along a line and knows a hash of the last CELL pixels. */
template <typename Pixel>
struct Roller {
    const Pixel *line;
    uint64_t hash = 0;
    unsigned same = 0;
    Pixel last = 0;

    explicit Roller(const uint8_t *init_line): line(reinterpret_cast<const Pixel *>(init_line)) {}

    /* what the oldest of so many pixels and one more has been multiplied by */
    static constexpr uint64_t get_leaves(int pixels)
    {
        return pixels > 0 ? get_leaves(pixels - 1) * FACTOR : 1;
    }

    void take(Pixel pixel)
    {
        hash = hash * FACTOR + pixel;
        same = pixel == last ? same + 1 : 1;
        last = pixel;
    }

    void leave(Pixel pixel, uint64_t leaves) { hash -= pixel * leaves; }

    uint32_t get() const { return hash * FACTOR >> 32; }
};

/* Places of the new picture by what is there. A sorted list: a guest could choose pixels of which a
 * table's keys collide. */
class Places {
public:
    void add(uint32_t feature, int x, int y)
    {
        list.push_back({ feature, x, y, 0 });
        filter[static_cast<uint16_t>(feature)] = true;
    }

    void sort()
    {
        std::sort(list.begin(), list.end(), [](const Place &a, const Place &b) {
            return a.feature != b.feature ? a.feature < b.feature :
                   a.y != b.y ? a.y < b.y : a.x < b.x;
        });
    }

    /* Calls @use with x and y of each place that looks like this one of the old picture, unless
     * there are too many in either. Adds the steps taken to @looked. */
    template <typename Use>
    void look_up(uint32_t feature, uint64_t *looked, Use use)
    {
        /* nearly all that is looked up is not there */
        if (!filter[static_cast<uint16_t>(feature)]) {
            return;
        }
        *looked += g_bit_storage(list.size());
        size_t i = std::lower_bound(list.begin(), list.end(), feature,
                                    [](const Place &place, uint32_t wanted_feature) {
            return place.feature < wanted_feature;
        }) - list.begin();
        const auto is_same = [&](size_t other) {
            return other < list.size() && list[other].feature == feature;
        };
        if (!is_same(i) || is_same(i + RedMotion::MAX_MOVES) ||
            list[i].old_places++ >= RedMotion::MAX_MOVES) {
            return;
        }
        for (; is_same(i); ++i, ++*looked) {
            use(list[i].x, list[i].y);
        }
    }

    size_t size() const { return list.size(); }

private:
    struct Place { uint32_t feature; int x, y; unsigned old_places; };

    std::vector<Place> list;
    std::bitset<UINT16_MAX + 1> filter;
};

/* A hash of the bytes of a cell; 0 if they repeat after 8: such a cell tells nothing. */
static uint32_t hash_cell(const uint8_t *cell, size_t size)
{
    uint64_t hash = size, word;

    if (size <= sizeof(word) ||
        memcmp(cell, cell + sizeof(word), size - sizeof(word)) == 0) {
        return 0;
    }
    for (; size >= sizeof(word); cell += sizeof(word), size -= sizeof(word)) {
        memcpy(&word, cell, sizeof(word));
        hash = hash * FACTOR + word;
    }
    word = 0;
    memcpy(&word, cell, size);
    hash = (hash ^ word) * FACTOR;
    hash = (hash ^ hash >> 32) * FACTOR;
    return MAX(hash >> 32, 1u);
}

/* Of each part of the bounds the column in which most has changed; as many as there may be moves
 * side by side. */
std::vector<int> RedMotion::choose_columns() const
{
    const int first = bounds.left / CELL, end = (bounds.right + CELL - 1) / CELL;
    const int parts = MIN(end - first, MAX_MOVES);
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
    std::vector<unsigned> votes(2 * height);

    for (const int cell : choose_columns()) {
        const size_t size = static_cast<size_t>(cell_end(cell) - cell * CELL) * bytes;
        Places places;

        found.looked += uint64_t{2 * CELL} * (bounds.bottom - bounds.top);
        /* every second line tells enough */
        for (int y = bounds.top; y < bounds.bottom; y += 2) {
            if (is_changed[static_cast<size_t>(y) * cells + cell]) {
                const uint32_t feature = hash_cell(at(next, cell * CELL, y), size);

                if (feature) {
                    places.add(feature, 0, y);
                }
            }
        }
        places.sort();
        for (int y = bounds.top; places.size() > 0 && y < bounds.bottom; ++y) {
            places.look_up(hash_cell(at(shown, cell * CELL, y), size), &found.looked,
                           [&](int, int to_y) {
                ++votes[to_y - y + height];
            });
        }
    }
    votes[height] = 0;

    /* the guess with most votes and the next one */
    for (int i = 0; i < 2; ++i) {
        const auto best = std::max_element(votes.begin(), votes.end());

        if (*best == 0) {
            break;
        }
        shifts->push_back({ 0, static_cast<int>(best - votes.begin()) - height });
        *best = 0;
    }
}

/* Calls @use with the first pixel and a hash of any CELL pixels of line @y of the old picture that
 * have changed, unless all of them are the same. */
template <typename Pixel, typename Use>
void RedMotion::for_features(int y, Use use)
{
    constexpr uint64_t leaves = Roller<Pixel>::get_leaves(CELL - 1);
    const uint8_t *changed = &is_changed[static_cast<size_t>(y) * cells];
    const int end = (bounds.right + CELL - 1) / CELL;

    for (int cell = bounds.left / CELL; cell < end; ++cell) {
        if (!changed[cell]) {
            continue;
        }
        const int left = cell * CELL;
        while (cell + 1 < end && changed[cell + 1]) {
            ++cell;
        }
        const int right = cell_end(cell);
        Roller<Pixel> roller(at(shown, 0, y));

        found.looked += right - left;
        for (int x = left; x < right; ++x) {
            if (x - left >= CELL) {
                roller.leave(roller.line[x - CELL], leaves);
            }
            roller.take(roller.line[x]);
            if (x - left >= CELL - 1 && roller.same < CELL) {
                use(x - CELL + 1, roller.get());
            }
        }
    }
}

/* Guess by how much something has moved: some cells of the new picture that have changed are
 * looked for in the old one, anywhere where it has changed, too. */
template <typename Pixel>
void RedMotion::vote(std::vector<Shift> *shifts)
{
    Places places;

    take_samples();
    for (const auto &cell : samples) {
        Roller<Pixel> roller(line(cell.x, cell.y));

        /* no CELL pixels of the old picture have the hash of a narrower cell */
        if (cell.pixels < CELL) {
            continue;
        }
        for (int i = 0; i < CELL; ++i) {
            roller.take(roller.line[i]);
        }
        if (roller.same < CELL) {
            places.add(roller.get(), cell.x, cell.y);
        }
    }
    found.looked += samples.size() * CELL;
    places.sort();

    std::vector<Shift> seen;
    for (int y = bounds.top; places.size() > 0 && y < bounds.bottom; y += 2) {
        for_features<Pixel>(y, [&](int x, uint32_t feature) {
            places.look_up(feature, &found.looked, [&](int to_x, int to_y) {
                seen.push_back({ to_x - x, to_y - y });
            });
        });
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
        if (shift.dx || shift.dy) {
            best.push_back({ shift, end - i });
        }
    }
    std::stable_sort(best.begin(), best.end(), [](const Vote &a, const Vote &b) {
        return a.count > b.count;
    });
    for (size_t i = 0; i < best.size() && i < MAX_MOVES; ++i) {
        shifts->push_back(best[i].shift);
    }
}

void RedMotion::take_samples()
{
    if (!samples.empty()) {
        return;
    }
    for_changed(changed_cells / RED_MOTION_SAMPLES + 1, [&](int cell, int y) {
        samples.push_back({ cell * CELL, y, cell_end(cell) - cell * CELL });
    });
}

void RedMotion::guess(std::vector<Shift> *shifts)
{
    if (bytes == 2) {
        vote<uint16_t>(shifts);
    } else {
        vote<uint32_t>(shifts);
    }
}
