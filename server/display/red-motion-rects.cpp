/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rectangles that are drawn, of what has changed and did not move. */
#include <config.h>

#include <algorithm>

#include <common/rect.h>

#include "red-motion.h"

/* Make one rectangle of two, if that adds little. */
bool RedMotion::merge_changed(size_t into, size_t other)
{
    SpiceRect both = found.changed[into];
    const uint64_t filled = filled_pixels[into] + filled_pixels[other];

    rect_union(&both, &found.changed[other]);
    if (count_pixels(both) > filled + filled / 4 + min_gain || !is_wanted(&both)) {
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
    const size_t first = added > RED_MOTION_SAMPLES ? added - RED_MOTION_SAMPLES : 0;
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
    SpiceRect span;
    uint64_t filled;

    filled_pixels.clear();
    for (int y = bounds.top; y < bounds.bottom; y += BLOCK_LINES) {
        const int bottom = MIN(y + BLOCK_LINES, bounds.bottom);

        found.looked += static_cast<uint64_t>(cells) * (bottom - y);
        for (int cell = 0; (cell = next_run(cell, y, bottom, &span, &filled)) != 0; ) {
            if (is_shown(&span)) {
                found.looked += count_pixels(span);
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
    merge_most();
    merge_pairs();
}

/* As many as may be drawn, at the price of more pixels. */
void RedMotion::merge_most()
{
    while (found.moves.size() + found.changed.size() > RED_MOTION_MAX_RECTS && is_wanted(&bounds)) {
        std::vector<SpiceRect> rects;
        std::vector<uint64_t> filled;

        std::swap(rects, found.changed);
        std::swap(filled, filled_pixels);
        min_gain *= 2;
        for (size_t i = 0; i < rects.size(); ++i) {
            add_changed(rects[i], filled[i]);
        }
    }
    min_gain = MIN_GAIN;
}

void RedMotion::merge_pairs()
{
    auto &changed = found.changed;
    bool is_merged = changed.size() <= RED_MOTION_SAMPLES;
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
    if (found.changed_pixels > count_pixels(bounds) && is_wanted(&bounds)) {
        changed.assign(1, bounds);
        found.changed_pixels = count_pixels(bounds);
    }
}
