/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>
#include <cstring>

#include <common/rect.h>

#include "red-motion.h"

const RedStreamSetting red_motion_setting("display", "flow");

RedMotion::RedMotion(int init_width, int init_height, int init_bytes):
    width(init_width),
    height(init_height),
    bytes(init_bytes),
    stride(static_cast<size_t>(init_width) * init_bytes),
    cells((init_width + CELL - 1) / CELL),
    shown(new uint8_t[stride * height]()),
    next(new uint8_t[stride * height]()),
    has_written(static_cast<size_t>(cells) * height),
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

void RedMotion::mark(const SpiceRect &where, bool is_written)
{
    const int first = where.left / CELL, last = (where.right - 1) / CELL;

    for (int y = where.top; y < where.bottom; ++y) {
        memset(&has_written[static_cast<size_t>(y) * cells + first], is_written, last - first + 1);
    }
}

void RedMotion::wrote(const SpiceRect &where)
{
    written.push_back(where);
    mark(where, true);
}

bool RedMotion::is_written(const SpiceRect &where) const
{
    const int first = where.left / CELL, last = (where.right - 1) / CELL;

    for (int y = where.top; y < where.bottom; ++y) {
        if (!memchr(&has_written[static_cast<size_t>(y) * cells + first], 1, last - first + 1)) {
            continue;
        }
        /* of the same cell they may have different pixels */
        for (const auto &rect : written) {
            if (rect_intersects(&rect, &where)) {
                return true;
            }
        }
        return false;
    }
    return false;
}

void RedMotion::show(const SpiceRect &where)
{
    const size_t size = static_cast<size_t>(where.right - where.left) * bytes;

    for (int y = where.top; y < where.bottom; ++y) {
        memcpy(at(shown, where.left, y), at(next, where.left, y), size);
    }
}

void RedMotion::know(const SpiceRect &where)
{
    show(where);
    region_add(&known, &where);
}

bool RedMotion::knows_all() const
{
    const SpiceRect all = { 0, 0, width, height };

    return is_shown(&all);
}

void RedMotion::forget(const SpiceRect *where)
{
    region_remove(&known, where);
    if (pixman_region32_n_rects(&known) > RED_MOTION_MAX_RECTS) {
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

unsigned red_motion_count_ones(const uint8_t *bytes, int n)
{
    unsigned ones = 0;

    for (; n >= 8; bytes += 8, n -= 8) {
        uint64_t eight;

        memcpy(&eight, bytes, sizeof(eight));
        ones += eight * 0x0101010101010101 >> 56;
    }
    while (n-- > 0) {
        ones += *bytes++;
    }
    return ones;
}

/* What has changed within the bounds: its own bounds, and how much it is. */
bool RedMotion::find_bounds()
{
    const int first = bounds.left / CELL, end = (bounds.right + CELL - 1) / CELL;
    int left = end, right = first, top = bounds.bottom, bottom = bounds.top;

    changed_cells = 0;
    samples.clear();
    for (int y = bounds.top; y < bounds.bottom; ++y) {
        const uint8_t *changed = &is_changed[static_cast<size_t>(y) * cells];
        const unsigned ones = red_motion_count_ones(changed + first, end - first);

        if (ones == 0) {
            continue;
        }
        changed_cells += ones;
        top = MIN(top, y);
        bottom = y + 1;
        for (int cell = first; cell < left; ++cell) {
            if (changed[cell]) {
                left = cell;
            }
        }
        for (int cell = end; cell > right; --cell) {
            if (changed[cell - 1]) {
                right = cell;
            }
        }
    }
    if (changed_cells == 0) {
        bounds = { 0, 0, 0, 0 };
        return false;
    }
    bounds = { left * CELL, top, MIN(right * CELL, width), bottom };
    return true;
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

/* Have @wanted be all that is known or written, and count what is written (twice where rectangles
 * of one drawing overlap). Sets the bounds to its bounds. */
void RedMotion::take_written()
{
    bounds = written.empty() ? SpiceRect() : written[0];
    for (const auto &rect : written) {
        rect_union(&bounds, &rect);
        found.written_pixels += count_pixels(rect);
        mark(rect, false);
    }
    region_clear(&wanted);
    region_or(&wanted, &known);
    if (!knows_all()) {
        want_written();
    }
    written.clear();
}

void RedMotion::want_written()
{
    std::vector<pixman_box32_t> boxes;
    QRegion where;

    boxes.reserve(written.size());
    for (const auto &rect : written) {
        boxes.push_back({ rect.left, rect.top, rect.right, rect.bottom });
    }
    if (!pixman_region32_init_rects(&where, boxes.data(), boxes.size())) {
        spice_error("out of memory");
    }
    region_or(&wanted, &where);
    add_unknown(&where);
    if (pixman_region32_n_rects(&wanted) > RED_MOTION_MAX_RECTS) {
        /* each change would be cut along all of these: draw what was written */
        uint32_t n_rects;
        SpiceRect *rects = region_dup_rects(&where, &n_rects);

        found.changed.assign(rects, rects + n_rects);
        found.changed_pixels = found.written_pixels;
        g_free(rects);
    }
    region_destroy(&where);
}
