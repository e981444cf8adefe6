/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>
#include <cstring>

#include <common/pixman_utils.h>
#include <common/rect.h>
#include <common/region.h>

#include "display-screen.h"

DisplayScreen::DisplayScreen(int init_width, int init_height, int init_bytes, void *init_guest,
                             ptrdiff_t init_guest_stride, bool is_blank):
    width(init_width),
    height(init_height),
    bytes(init_bytes),
    stride(SPICE_ALIGN(init_width * init_bytes, 4)),
    words((init_width + WORD - 1) / WORD),
    guest(static_cast<uint8_t *>(init_guest)),
    guest_stride(init_guest_stride),
    pixels(static_cast<uint8_t *>(g_malloc0_n(init_height, stride)), g_free),
    drawn(static_cast<size_t>(words) * init_height)
{
    for (int y = 0; y < height && !is_blank; ++y) {
        memcpy(pixels.get() + static_cast<size_t>(y) * stride, guest + y * guest_stride,
               width * bytes);
    }
}

/* Calls @use with each word of drawn of which pixels are in @area, a mask of these, and the line
 * and the column of its first pixel. */
template <typename Use>
void DisplayScreen::for_words(SpiceRect area, Use use)
{
    const SpiceRect all = { 0, 0, width, height };

    rect_sect(&area, &all);
    /* what is clipped away is left where the guest put it, beyond the screen, too */
    if (rect_is_empty(&area)) {
        return;
    }
    for (int y = area.top; y < area.bottom; ++y) {
        for (int x = area.left / WORD * WORD; x < area.right; x += WORD) {
            const int begin = MAX(area.left - x, 0), end = MIN(area.right - x, int{WORD});

            use(&drawn[static_cast<size_t>(y) * words + x / WORD],
                ~uint64_t{0} >> (WORD - (end - begin)) << begin, y, x);
        }
    }
}

void DisplayScreen::drew(const SpiceRect &where)
{
    for_words(where, [](uint64_t *word, uint64_t mask, int, int) { *word |= mask; });
}

void DisplayScreen::drew(const RedDrawable *drawable)
{
    const SpiceClip &clip = drawable->clip;

    if (clip.type != SPICE_CLIP_TYPE_RECTS) {
        drew(drawable->bbox);
        return;
    }
    /* in a region, as the rectangles may overlap, in the millions */
    const SpiceRect &bounds = drawable->bbox;
    QRegion region;
    uint32_t n_rects;

    spice_pixman_region32_init_rects(&region, clip.rects->rects, clip.rects->num_rects);
    pixman_region32_intersect_rect(&region, &region, bounds.left, bounds.top,
                                   bounds.right - bounds.left, bounds.bottom - bounds.top);
    SpiceRect *const rects = region_dup_rects(&region, &n_rects);
    std::for_each(rects, rects + n_rects, [this](const SpiceRect &where) { drew(where); });
    g_free(rects);
    region_destroy(&region);
}

void DisplayScreen::write_back(const SpiceRect &area)
{
    for_words(area, [this](uint64_t *word, uint64_t mask, int y, int x) {
        uint64_t bits = *word & mask;

        *word &= ~bits;
        while (bits) {
            const int begin = __builtin_ctzll(bits);
            const uint64_t behind = ~(bits >> begin);
            const int n_pixels = behind ? __builtin_ctzll(behind) : int{WORD};
            const size_t offset = static_cast<size_t>(x + begin) * bytes;

            memcpy(guest + y * guest_stride + offset,
                   pixels.get() + static_cast<size_t>(y) * stride + offset, n_pixels * bytes);
            bits &= ~(~uint64_t{0} >> (WORD - n_pixels) << begin);
        }
    });
}
