/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include "red-shown.h"

/* Each drawing would cost too much. Then some losses are owed that upstream leaves. */
static void bound(QRegion *region)
{
    if (pixman_region32_n_rects(region) > RED_CATCH_UP_MAX_RECTS) {
        region_clear(region);
    }
}

RedShown::RedShown(Regions *init_lossy, uint64_t init_time, bool init_exact):
    lossy(*init_lossy),
    still(init_time),
    time(init_time),
    exact(init_exact)
{
    for (auto &region : left) {
        region_init(&region);
    }
}

RedShown::~RedShown()
{
    for (auto &region : left) {
        region_destroy(&region);
    }
}

void RedShown::drawn(uint32_t surface_id, const QRegion *changed, bool is_lossy)
{
    QRegion *const region = &left[surface_id];

    if (is_lossy) {
        region_or(region, changed);
        bound(region);
    } else if (!region_is_empty(region)) {
        region_exclude(region, changed);
        bound(region);
    }
}

void RedShown::copied(uint32_t surface_id, const QRegion *dest, uint32_t from, int dx, int dy)
{
    if (!region_is_empty(&left[surface_id]) || !region_is_empty(&left[from])) {
        red_catch_up_copied(&left[surface_id], &left[from], dest, dx, dy);
        bound(&left[surface_id]);
    }
}

void RedShown::changed(uint64_t now, uint32_t surface_id, const QRegion *where)
{
    if (surface_id == 0) {
        still.drawn(now, where);
    } else {
        last_changed[surface_id] = now;
    }
}

bool RedShown::is_lossy(uint32_t surface_id, const SpiceRect *area) const
{
    QRegion part;

    region_init(&part);
    region_add(&part, area);
    const bool found = region_intersects(&part, &lossy[surface_id]);
    region_destroy(&part);
    return found;
}

void RedShown::get_owed(uint32_t surface_id, QRegion *owed) const
{
    region_clone(owed, &lossy[surface_id]);
    if (!exact) {
        region_exclude(owed, &left[surface_id]);
    }
}

bool RedShown::is_owed(uint32_t surface_id) const
{
    if (region_is_empty(&lossy[surface_id])) {
        return false;
    }
    QRegion owed;

    get_owed(surface_id, &owed);
    const bool is_owed = !region_is_empty(&owed);
    region_destroy(&owed);
    return is_owed;
}

bool RedShown::find(uint64_t now, uint32_t surface_id, const SpiceRect *bounds, uint32_t pixels,
                    SpiceRect *piece)
{
    if (region_is_empty(&lossy[surface_id]) ||
        now - last_changed[surface_id] < time) {
        return false;
    }
    QRegion owed;

    red_catch_up_keep(&lossy[surface_id], bounds);
    get_owed(surface_id, &owed);
    if (surface_id == 0) {
        still.keep_still(now, &owed);
    }
    const bool found = !region_is_empty(&owed);
    if (found) {
        *piece = red_catch_up_piece(&owed, pixels);
    }
    region_destroy(&owed);
    return found;
}
