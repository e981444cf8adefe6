/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include <common/rect.h>

#include "dcc-copies.h"
#include "dcc-damage.h"
#include "dcc-private.h"
#include "dcc-refine.h"
#include "display-channel-private.h"

static bool is_kept(const RedPipeItem *item)
{
    return item->type == RED_PIPE_ITEM_TYPE_DRAW &&
           static_cast<const RedDrawablePipeItem *>(item)->is_kept;
}

/* Whether @item changes or reads the screen. */
bool DccCopies::is_on_screen(const RedPipeItem *item) const
{
    switch (item->type) {
    case RED_PIPE_ITEM_TYPE_DRAW: {
        const RedSurface *screen = DCC_TO_DC(dcc)->priv->surfaces[0];
        const Drawable *drawable = static_cast<const RedDrawablePipeItem *>(item)->drawable;
        const auto &deps = drawable->surface_deps;

        return drawable->surface == screen ||
               std::find(std::begin(deps), std::end(deps), screen) != std::end(deps);
    }
    case RED_PIPE_ITEM_TYPE_UPGRADE:
        return true;
    case RED_PIPE_ITEM_TYPE_IMAGE:
        return static_cast<const RedImageItem *>(item)->surface_id == 0;
    case RED_PIPE_ITEM_TYPE_CREATE_SURFACE:
        return static_cast<const RedSurfaceCreateItem *>(item)->surface_create.surface_id == 0;
    case RED_PIPE_ITEM_TYPE_DESTROY_SURFACE:
        return static_cast<const RedSurfaceDestroyItem *>(item)->surface_destroy.surface_id == 0;
    default:
        return false;
    }
}

bool DccCopies::is_after_screen(const RedPipeItem *before) const
{
    const auto &pipe = dcc->get_pipe();
    bool is_drawn = before && is_on_screen(before);

    for (auto l = pipe.rbegin(); l != pipe.rend(); ++l) {
        const RedPipeItem *item = l->get();

        if (is_kept(item)) {
            if (is_drawn) {
                return true;
            }
        } else if (dcc_is_drawing(dcc, item) && is_on_screen(item)) {
            is_drawn = true;
        }
    }
    return false;
}

SpiceRect dcc_copy_source(const RedDrawable *copy)
{
    const SpicePoint &src = copy->u.copy_bits.src_pos;
    const auto end = [](int32_t begin, int32_t size) {
        return static_cast<int32_t>(std::min<int64_t>(int64_t{begin} + size, INT32_MAX));
    };

    return { src.x, src.y, end(src.x, copy->bbox.right - copy->bbox.left),
             end(src.y, copy->bbox.bottom - copy->bbox.top) };
}

bool dcc_get_copy(const Drawable *drawable, uint32_t *from, int *dx, int *dy)
{
    const RedDrawable *red_drawable = drawable->red_drawable.get();
    const SpiceCopy &copy = red_drawable->u.copy;
    const RedSurface *source = nullptr;
    SpiceRect area;

    if (red_drawable->type == QXL_COPY_BITS) {
        source = drawable->surface;
        area = dcc_copy_source(red_drawable);
    } else if (red_drawable->type == QXL_DRAW_COPY && copy.src_bitmap && !copy.mask.bitmap &&
               copy.rop_descriptor == SPICE_ROPD_OP_PUT &&
               !(copy.src_bitmap->descriptor.flags & SPICE_IMAGE_FLAGS_CACHE_ME) &&
               copy.src_bitmap->descriptor.type == SPICE_IMAGE_TYPE_SURFACE) {
        for (const auto surface : drawable->surface_deps) {
            if (surface && surface->id == copy.src_bitmap->u.surface.surface_id) {
                source = surface;
            }
        }
        area = copy.src_area;
    }

    /* the guest's coordinates may be anything */
    const SpiceRect &bbox = red_drawable->bbox;
    const SpiceRect bounds = dcc_surface_bounds(drawable->surface);
    const SpiceRect source_bounds = dcc_surface_bounds(source);
    if (!source || !rect_contains(&bounds, &bbox) || !rect_contains(&source_bounds, &area) ||
        area.right - area.left != bbox.right - bbox.left ||
        area.bottom - area.top != bbox.bottom - bbox.top) {
        return false;
    }
    *from = source->id;
    *dx = bbox.left - area.left;
    *dy = bbox.top - area.top;
    return true;
}

bool dcc_copy_lossy(DisplayChannelClient *dcc, const Drawable *drawable)
{
    auto &lossy = dcc->priv->surface_client_lossy_region;
    uint32_t from;
    int dx, dy;
    QRegion dest;

    if (!dcc_get_copy(drawable, &from, &dx, &dy)) {
        return false;
    }
    dcc_drawing_region(drawable, &dest);
    red_catch_up_copied(&lossy[drawable->surface->id], &lossy[from], &dest, dx, dy);
    region_destroy(&dest);
    return true;
}

bool dcc_is_frame_beside(DisplayChannelClient *dcc, const RedPipeItem *item, const SpiceRect &area)
{
    return item->type == RED_PIPE_ITEM_TYPE_DRAW && !dcc_is_drawing(dcc, item) &&
           !rect_intersects(&area, &static_cast<const RedDrawablePipeItem *>(item)->
                                   drawable->red_drawable->bbox);
}

bool DccCopies::can_keep(const Drawable *drawable) const
{
    const RedDrawable *copy = drawable->red_drawable.get();
    const RedSurface *screen = DCC_TO_DC(dcc)->priv->surfaces[0];
    const SpiceRect bounds = dcc_surface_bounds(screen);

    if (copy->type != QXL_COPY_BITS || n_kept == MAX_PIPE_SIZE / 2 || drawable->surface != screen ||
        !dcc->priv->surface_client_created[0] || !rect_contains(&bounds, &copy->bbox) ||
        (copy->clip.type != SPICE_CLIP_TYPE_NONE && copy->clip.type != SPICE_CLIP_TYPE_RECTS)) {
        return false;
    }

    /* When the copy is queued no video is left where it reads or draws: upstream ends or clips
     * them. One that plays there later is queued behind it. */
    const SpiceRect source = dcc_copy_source(copy);
    return rect_contains(&bounds, &source);
}

bool DccCopies::decodes_later() const
{
    return !dcc->test_remote_cap(SPICE_DISPLAY_CAP_COMPOSITE) ||
           !dcc->test_remote_cap(SPICE_DISPLAY_CAP_A8_SURFACE);
}

bool DccCopies::reads_undecoded(uint32_t surface_id, const SpiceRect &source,
                                const DccRefine &refinement) const
{
    return decodes_later() && refinement.is_lossy(surface_id, &source);
}

bool DccCopies::find_refresh(const Drawable *drawable,
                             RedChannelClient::Pipe::iterator *refresh) const
{
    auto &pipe = dcc->get_pipe();
    SpiceRect area = dcc_copy_source(drawable->red_drawable.get());

    rect_union(&area, &drawable->red_drawable->bbox);
    *refresh = std::find_if(pipe.begin(), pipe.end(), [](const RedPipeItemPtr &item) {
        return item->type == RED_PIPE_ITEM_TYPE_REFRESH;
    });
    return *refresh != pipe.end() &&
           std::none_of(pipe.begin(), *refresh, [&](const RedPipeItemPtr &item) {
        /* a client may show an earlier frame until the clip comes, also where the copy draws */
        return item->type == RED_PIPE_ITEM_TYPE_STREAM_CLIP ||
               (!dcc_is_frame_beside(dcc, item.get(), area) && is_on_screen(item.get()));
    });
}
