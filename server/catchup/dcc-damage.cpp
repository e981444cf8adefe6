/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include <common/rect.h>

#include "dcc-damage.h"
#include "dcc-private.h"
#include "display-channel-private.h"

SpiceRect dcc_surface_bounds(const RedSurface *surface)
{
    SpiceRect bounds = { 0, 0, 0, 0 };

    if (surface) {
        bounds.right = surface->context.width;
        bounds.bottom = surface->context.height;
    }
    return bounds;
}

void dcc_drawing_region(const Drawable *drawable, QRegion *region)
{
    dcc_drawing_region(drawable->red_drawable.get(), region);
}

void dcc_drawing_region(const RedDrawable *drawable, QRegion *region)
{
    region_init(region);
    region_add(region, &drawable->bbox);
    if (drawable->clip.type == SPICE_CLIP_TYPE_RECTS) {
        QRegion clip;

        region_init(&clip);
        region_add_clip_rects(&clip, drawable->clip.rects);
        region_and(region, &clip);
        region_destroy(&clip);
    }
}

/* Initialises @region to where the next frames of the client's videos are expected to draw, as the
 * last one did. Frames may differ in size and clip, and a video has the area of all of them. */
static void get_video_region(DisplayChannelClient *dcc, QRegion *region)
{
    DisplayChannel *display = DCC_TO_DC(dcc);
    RingItem *item;

    region_init(region);
    RING_FOREACH(item, &display->priv->streams) {
        VideoStream *stream = SPICE_CONTAINEROF(item, VideoStream, link);
        const int id = display_channel_get_video_stream_id(display, stream);
        const VideoStreamAgent *agent = &dcc->priv->stream_agents[id];

        if (!agent->video_encoder) {
            continue;
        }
        if (stream->current) {
            QRegion frame;

            dcc_drawing_region(stream->current, &frame);
            region_and(&frame, &agent->vis_region);
            region_or(region, &frame);
            region_destroy(&frame);
        } else {
            region_or(region, &agent->vis_region);
        }
    }
}

bool dcc_is_frame(DisplayChannelClient *dcc, const Drawable *drawable)
{
    if (!drawable->stream) {
        return false;
    }
    const int id = display_channel_get_video_stream_id(DCC_TO_DC(dcc), drawable->stream);
    return dcc->priv->stream_agents[id].video_encoder != nullptr;
}

bool dcc_is_drawing(DisplayChannelClient *dcc, const RedPipeItem *item)
{
    switch (item->type) {
    case RED_PIPE_ITEM_TYPE_DRAW:
        return !dcc_is_frame(dcc, static_cast<const RedDrawablePipeItem *>(item)->drawable);
    case RED_PIPE_ITEM_TYPE_UPGRADE:
    case RED_PIPE_ITEM_TYPE_IMAGE:
        return true;
    default:
        return false;
    }
}

DccDamage::DccDamage(DisplayChannelClient *init_dcc):
    dcc(init_dcc)
{
    areas.fill(nullptr);
}

DccDamage::~DccDamage()
{
    for (uint32_t id = 0; id < areas.size(); ++id) {
        forget(id);
    }
}

void DccDamage::forget(uint32_t surface_id)
{
    if (areas[surface_id]) {
        delete areas[surface_id];
        areas[surface_id] = nullptr;
        --n_areas;
    }
}

void DccDamage::add(RedSurface *surface, const QRegion *changed)
{
    /* the guest may have destroyed it, and made another one of that number */
    if (DCC_TO_DC(dcc)->priv->surfaces[surface->id] != surface) {
        return;
    }

    QRegion all;
    region_init(&all);
    if (!dcc->priv->surface_client_created[surface->id]) {
        const SpiceRect bounds = dcc_surface_bounds(surface);
        region_add(&all, &bounds);
        changed = &all;
        dcc_create_surface(dcc, surface);
    }
    if (dcc->priv->surface_client_created[surface->id]) {
        RedCatchUpArea *&area = areas[surface->id];

        if (!area) {
            area = new RedCatchUpArea;
            ++n_areas;
        }
        area->add(changed);
    }
    region_destroy(&all);
}

void DccDamage::copied(const QRegion *dest, int dx, int dy)
{
    if (areas[0]) {
        areas[0]->copied(dest, dx, dy);
    }
}

bool DccDamage::is_dirty(const RedSurface *surface) const
{
    const RedCatchUpArea *area = areas[surface->id];

    if (!area) {
        return false;
    }
    QRegion hidden;
    if (is_primary_surface(DCC_TO_DC(dcc), surface)) {
        get_video_region(dcc, &hidden);
    } else {
        region_init(&hidden);
    }
    const bool dirty = area->is_dirty(&hidden);
    region_destroy(&hidden);
    return dirty;
}

bool DccDamage::is_dirty() const
{
    if (!n_areas) {
        return false;
    }
    for (const auto surface : DCC_TO_DC(dcc)->priv->surfaces) {
        if (surface && is_dirty(surface)) {
            return true;
        }
    }
    return false;
}

void DccDamage::make_ready()
{
    QRegion hidden, nothing;

    get_video_region(dcc, &hidden);
    region_init(&nothing);
    for (uint32_t id = 0; n_areas && id < areas.size(); ++id) {
        if (areas[id]) {
            areas[id]->make_ready(id == 0 ? &hidden : &nothing);
        }
    }
    region_destroy(&hidden);
    region_destroy(&nothing);
}

bool DccDamage::is_ready(uint32_t surface_id) const
{
    return areas[surface_id] && areas[surface_id]->is_ready();
}

bool DccDamage::take(uint32_t pixels, uint32_t *surface_id, SpiceRect *piece)
{
    for (uint32_t id = 0; n_areas && id < areas.size(); ++id) {
        if (!areas[id]) {
            continue;
        }
        /* the surface may have become smaller since */
        const SpiceRect bounds = dcc_surface_bounds(DCC_TO_DC(dcc)->priv->surfaces[id]);
        areas[id]->keep(&bounds);
        const bool taken = areas[id]->take(pixels, piece);
        if (areas[id]->is_empty()) {
            forget(id);
        }
        if (taken) {
            *surface_id = id;
            return true;
        }
    }
    return false;
}

std::vector<SpiceRect> DccDamage::take_all(uint32_t surface_id)
{
    if (!areas[surface_id]) {
        return {};
    }
    QRegion all;
    uint32_t n_rects;

    region_init(&all);
    areas[surface_id]->get_all(&all);
    SpiceRect *rects = region_dup_rects(&all, &n_rects);
    const std::vector<SpiceRect> taken(rects, rects + n_rects);
    g_free(rects);
    region_destroy(&all);
    forget(surface_id);
    return taken;
}
