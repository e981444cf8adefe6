/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include "dcc-copies.h"
#include "dcc-damage.h"
#include "dcc-private.h"
#include "dcc-refine.h"
#include "display-channel-private.h"
#include "video-stream.h"

/* Microseconds. What upstream waits until it ends a video and resends its area without losses. */
static const uint64_t STILL_TIME = RED_STREAM_TIMEOUT / NSEC_PER_MICROSEC;

/* Bytes. With its tables, some 600, a JPEG of so small an image may be larger; then upstream sends
 * that as it is. */
static const uint64_t SMALL = 1024;

DccRefine::DccRefine(DisplayChannelClient *init_dcc, RedShown::Regions *lossy,
                     void (*init_due)(DisplayChannelClient *dcc)):
    dcc(init_dcc),
    due(init_due),
    shown(lossy, STILL_TIME, red_catch_up_exact.get(red_stream_policy_get()))
{
}

void DccRefine::stop()
{
    red_timer_remove(timer);
    timer = nullptr;
    is_due = false;
}

bool DccRefine::is_tracking()
{
    had_jpeg = had_jpeg || DCC_TO_DC(dcc)->priv->enable_jpeg;
    return had_jpeg;
}

void DccRefine::start()
{
    if (is_timing) {
        return;
    }
    if (!timer) {
        timer = dcc->get_channel()->get_core_interface()->timer_new(look, this);
    }
    red_timer_start(timer, LOOK_INTERVAL);
    is_timing = true;
}

/* Whether upstream would send the image of @drawable with losses, for sure. */
static bool is_lossy_upstream(DisplayChannelClient *dcc, const RedDrawable *red_drawable,
                              Drawable *drawable)
{
    const uint8_t type = red_drawable->type;
    SpiceImage *const image =
        type == QXL_DRAW_COPY ? red_drawable->u.copy.src_bitmap :
        type == QXL_DRAW_ALPHA_BLEND ? red_drawable->u.alpha_blend.src_bitmap : nullptr;

    return image && image->descriptor.type == SPICE_IMAGE_TYPE_BITMAP &&
           uint64_t{image->u.bitmap.stride} * image->u.bitmap.y > SMALL &&
           dcc_is_sent_lossy(dcc, &image->u.bitmap, drawable);
}

bool dcc_leaves_what_is_below(const RedDrawable *drawable)
{
    const uint16_t resent = SPICE_ROPD_OP_OR | SPICE_ROPD_OP_AND | SPICE_ROPD_OP_XOR;

    switch (drawable->type) {
    case QXL_DRAW_ALPHA_BLEND:
    case QXL_DRAW_TRANSPARENT:
    case QXL_DRAW_INVERS:
        return true;
    case QXL_DRAW_COPY:
        return drawable->u.copy.mask.bitmap ||
               (!(drawable->u.copy.rop_descriptor & SPICE_ROPD_OP_PUT) &&
                drawable->u.copy.rop_descriptor & (resent | SPICE_ROPD_OP_INVERS));
    case QXL_DRAW_FILL:
        /* with the others upstream resends what is below */
        return !(drawable->u.fill.rop_descriptor & (resent | SPICE_ROPD_OP_PUT)) &&
               drawable->u.fill.rop_descriptor & SPICE_ROPD_OP_INVERS;
    default:
        return false;
    }
}

void DccRefine::drawn(Drawable *drawable)
{
    if (!is_tracking()) {
        return;
    }

    const uint32_t id = drawable->surface->id;
    uint32_t from;
    int dx, dy;
    QRegion area;

    dcc_drawing_region(drawable, &area);
    shown.changed(g_get_monotonic_time(), id, &area);
    if (!drawable->red_drawable->is_of_guest()) {
        /* replaced() says what the guest has drawn instead, which may be less */
    } else if (dcc_get_copy(drawable, &from, &dx, &dy)) {
        shown.copied(id, &area, from, dx, dy);
    } else {
        /* when a video ends, upstream resends its area without losses */
        const bool is_lossy = !drawable->stream &&
                              is_lossy_upstream(dcc, drawable->red_drawable.get(), drawable);

        if (!dcc_leaves_what_is_below(drawable->red_drawable.get())) {
            shown.drawn(id, &area, is_lossy);
        }
    }
    region_destroy(&area);
}

void DccRefine::dropped(Drawable *drawable)
{
    RedDrawable *const red_drawable = drawable->red_drawable.get();

    if (!is_tracking() || !red_drawable->is_of_guest() || !dcc_leaves_what_is_below(red_drawable) ||
        is_lossy_upstream(dcc, red_drawable, drawable)) {
        return;
    }

    QRegion area;

    dcc_drawing_region(drawable, &area);
    shown.drawn(drawable->surface->id, &area, false);
    region_destroy(&area);
}

void DccRefine::replaced(RedDrawable *drawable)
{
    if (!is_tracking()) {
        return;
    }
    start();

    QRegion area;

    dcc_drawing_region(drawable, &area);
    shown.drawn(0, &area, is_lossy_upstream(dcc, drawable, nullptr));
    region_destroy(&area);
}

void DccRefine::pushed()
{
    if (is_tracking()) {
        start();
    }
}

bool DccRefine::find(uint32_t pixels, uint32_t *surface_id, SpiceRect *piece)
{
    const uint64_t now = g_get_monotonic_time();

    for (uint32_t id = 0; id < NUM_SURFACES; ++id) {
        const SpiceRect bounds = dcc_surface_bounds(DCC_TO_DC(dcc)->priv->surfaces[id]);

        if (dcc->priv->surface_client_created[id] && !rect_is_empty(&bounds) &&
            shown.find(now, id, &bounds, pixels, piece)) {
            *surface_id = id;
            return true;
        }
    }
    return false;
}

bool DccRefine::is_owed() const
{
    for (uint32_t id = 0; id < NUM_SURFACES; ++id) {
        if (dcc->priv->surface_client_created[id] && shown.is_owed(id)) {
            return true;
        }
    }
    return false;
}

/* The timer fires. It runs as long as some area is lossy; what is in the pipe will be pushed. */
void DccRefine::look(DccRefine *self)
{
    SpiceRect piece;
    uint32_t id;

    self->is_timing = self->is_owed();
    if (!self->is_timing) {
        return;
    }
    if (self->find(1, &id, &piece)) {
        self->is_due = true;
        self->due(self->dcc);
    }
    red_timer_start(self->timer, LOOK_INTERVAL);
}

bool DccRefine::take(uint32_t pixels, uint32_t *surface_id, SpiceRect *piece)
{
    const auto &pipe = dcc->get_pipe();

    is_due = is_due && find(pixels, surface_id, piece);
    /* The current pixels may already contain a drawing that still waits. Frames of a video
     * beside it do not count: on a slow path one always waits, and a piece takes no longer than
     * a frame. */
    return is_due && std::all_of(pipe.begin(), pipe.end(), [&](const RedPipeItemPtr &item) {
        return *surface_id == 0 && dcc_is_frame_beside(dcc, item.get(), *piece);
    });
}
