/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include <common/rect.h>

#include "red-catch-up.h"

static uint64_t box_area(const SpiceRect *box)
{
    return static_cast<uint64_t>(box->right - box->left) * (box->bottom - box->top);
}

const RedStreamSetting red_catch_up_setting("catchup", "flow");
const RedStreamSetting red_catch_up_exact("exact");

uint64_t red_catch_up_late(uint32_t delay)
{
    if (!delay) {
        return RED_CATCH_UP_LATE;
    }
    return std::min(std::max<uint64_t>(uint64_t{delay} * 3 / 2, RED_CATCH_UP_LATE / 3),
                    uint64_t{RED_CATCH_UP_LATE});
}

void RedCatchUpPath::pushed(uint64_t now, bool waits, uint64_t message, uint32_t bytes)
{
    if (!waits) {
        first_refused = 0;
        last_refused = 0;
        first_message = 0;
        return;
    }
    if (!first_refused) {
        first_refused = now;
        first_message = message;
        first_is_large = bytes >= RED_CATCH_UP_LARGE;
        first_passed = now;
    } else if (first_message && message != first_message) {
        first_message = 0;
        first_passed = now;
    }
    last_refused = now;
}

uint64_t RedCatchUpPath::waited_from(uint64_t first) const
{
    return last_refused > first ? last_refused - first : 0;
}

uint64_t RedCatchUpPath::refused(uint64_t since) const
{
    return waited_from(std::max(since, first_refused));
}

uint64_t RedCatchUpPath::waited(uint64_t since) const
{
    return first_message ? 0 : waited_from(std::max(since, first_passed));
}

bool RedCatchUpPath::is_passing() const
{
    return first_is_large && first_message;
}

RedCatchUpArea::RedCatchUpArea():
    latest { 0, 0, 0, 0 }
{
    region_init(&waiting);
    region_init(&newer);
    region_init(&older);
}

RedCatchUpArea::~RedCatchUpArea()
{
    region_destroy(&waiting);
    region_destroy(&newer);
    region_destroy(&older);
}

static void region_simplify(QRegion *region)
{
    if (pixman_region32_n_rects(region) > RED_CATCH_UP_MAX_RECTS) {
        SpiceRect bounds;

        region_extents(region, &bounds);
        region_add(region, &bounds);
    }
}

void RedCatchUpArea::add(const QRegion *changed)
{
    SpiceRect extents;

    region_or(&waiting, changed);
    region_simplify(&waiting);

    /* when a user types, the letter and the text cursor are two drawings next to each other */
    region_extents(changed, &extents);
    rect_union(&latest, &extents);
    if (box_area(&latest) > RedCatchUpPace::RED_CATCH_UP_PIECE_MIN) {
        latest = extents;
    }
}

void RedCatchUpArea::copied(const QRegion *dest, int dx, int dy)
{
    for (QRegion *region : { &waiting, &newer, &older }) {
        red_catch_up_copied(region, region, dest, dx, dy);
        region_simplify(region);
    }
}

bool RedCatchUpArea::is_ready() const
{
    return !region_is_empty(&newer) || !region_is_empty(&older);
}

bool RedCatchUpArea::is_empty() const
{
    return region_is_empty(&waiting) && !is_ready();
}

bool RedCatchUpArea::is_dirty(const QRegion *hidden) const
{
    if (is_ready()) {
        return true;
    }
    if (region_is_empty(&waiting)) {
        return false;
    }
    return region_is_empty(hidden) || !region_contains(hidden, &waiting);
}

void RedCatchUpArea::keep(const SpiceRect *bounds)
{
    red_catch_up_keep(&waiting, bounds);
    red_catch_up_keep(&newer, bounds);
    red_catch_up_keep(&older, bounds);
}

void RedCatchUpArea::make_ready(const QRegion *hidden)
{
    QRegion stays;

    region_clone(&stays, &waiting);
    region_and(&stays, hidden);
    region_exclude(&waiting, hidden);
    region_or(&newer, &waiting);
    region_simplify(&newer);
    region_destroy(&waiting);
    waiting = stays;
}

bool RedCatchUpArea::take(uint32_t pixels, SpiceRect *piece)
{
    if (!is_ready()) {
        return false;
    }
    if (region_is_empty(&older)) {
        std::swap(older, newer);
    }

    QRegion begin;

    region_init(&begin);
    if (latest_is_next) {
        QRegion ready;

        region_clone(&ready, &older);
        if (box_area(&latest) <= RedCatchUpPace::RED_CATCH_UP_PIECE_MIN) {
            region_or(&ready, &newer);
        }
        region_add(&begin, &latest);
        region_and(&begin, &ready);
        region_destroy(&ready);
    }
    latest_is_next = region_is_empty(&begin);
    *piece = red_catch_up_piece(latest_is_next ? &older : &begin, pixels);
    region_destroy(&begin);

    region_remove(&newer, piece);
    region_remove(&older, piece);
    return true;
}

void RedCatchUpArea::get_all(QRegion *all) const
{
    region_or(all, &waiting);
    region_or(all, &newer);
    region_or(all, &older);
}

RedCatchUpStill::RedCatchUpStill(uint64_t init_time):
    time(init_time)
{
    region_init(&latest);
    region_init(&before);
}

RedCatchUpStill::~RedCatchUpStill()
{
    region_destroy(&latest);
    region_destroy(&before);
}

void RedCatchUpStill::turn(uint64_t now)
{
    for (int i = 0; i < 2 && now - turned >= time; ++i) {
        std::swap(before, latest);
        region_clear(&latest);
        turned = i ? now : turned + time;
    }
}

void RedCatchUpStill::drawn(uint64_t now, const QRegion *where)
{
    turn(now);
    region_or(&latest, where);
    region_simplify(&latest);
}

void RedCatchUpStill::keep_still(uint64_t now, QRegion *region)
{
    turn(now);
    region_exclude(region, &latest);
    region_exclude(region, &before);
}

void red_catch_up_copied(QRegion *region, const QRegion *from, const QRegion *dest, int dx, int dy)
{
    QRegion moved;

    region_clone(&moved, from);
    region_offset(&moved, dx, dy);
    region_and(&moved, dest);
    region_exclude(region, dest);
    region_or(region, &moved);
    region_destroy(&moved);
}

void red_catch_up_keep(QRegion *region, const SpiceRect *bounds)
{
    QRegion all;

    region_init(&all);
    region_add(&all, bounds);
    region_and(region, &all);
    region_destroy(&all);
}

SpiceRect red_catch_up_piece(const QRegion *region, uint32_t pixels)
{
    uint32_t n_rects;
    SpiceRect *rects = region_dup_rects(region, &n_rects);
    SpiceRect box = rects[0];

    if (box_area(&box) > pixels) {
        const int32_t lines = std::min<int32_t>(box.bottom - box.top,
                                                RedCatchUpPace::RED_CATCH_UP_PIECE_SIDE);
        const int32_t width = std::max<int32_t>(pixels / lines, 1);

        box.right = std::min(box.right, box.left + width);
        const int32_t height = std::max<int32_t>(pixels / (box.right - box.left), 1);
        box.bottom = std::min(box.bottom, box.top + height);
        g_free(rects);
        return box;
    }

    uint64_t held = box_area(&box);
    for (uint32_t i = 1; i < n_rects; ++i) {
        SpiceRect wider = box;

        rect_union(&wider, &rects[i]);
        const uint64_t area = box_area(&wider);
        const uint64_t more = held + box_area(&rects[i]);
        if (area <= pixels && area <= more * 2) {
            box = wider;
            held = more;
        }
    }
    g_free(rects);
    return box;
}

void RedCatchUpPace::start(uint64_t rate)
{
    /* a pixel per byte, which is what photographs take; after RED_CATCH_UP_PACE_TIME it is
     * measured */
    set_pixels(rate * RED_CATCH_UP_PIECE_TIME / 1000000);
    started = true;
}

void RedCatchUpPace::set_pixels(uint64_t wanted)
{
    pixels = std::min<uint64_t>(std::max<uint64_t>(wanted, RED_CATCH_UP_PIECE_MIN), INT32_MAX);
}

void RedCatchUpPace::sent(uint64_t now, uint32_t sent_pixels)
{
    if (!since) {
        since = now;
        pixels_since = 0;
    }
    if (now - since >= RED_CATCH_UP_PACE_TIME) {
        const uint64_t fit = pixels_since * RED_CATCH_UP_PIECE_TIME / (now - since);
        /* grow slowly: after a piece that compresses well, the next one must not become late */
        set_pixels((pixels + fit) / 2);
        since = now;
        pixels_since = 0;
    }
    pixels_since += sent_pixels;
}
