/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <common/rect.h>

#include "dcc-damage.h"
#include "dcc-private.h"
#include "display-channel-private.h"
#include "red-stream-policy.h"
#include "video-stream.h"

/* Microseconds. What upstream waits until it ends a video and resends its area without losses. */
static const uint64_t STILL_TIME = RED_STREAM_TIMEOUT / NSEC_PER_MICROSEC;

DccRefine::DccRefine(DisplayChannelClient *init_dcc):
    dcc(init_dcc),
    still(STILL_TIME)
{
    for (auto &region : made_lossy) {
        region_init(&region);
    }
    region_init(&lossy_upstream);
}

DccRefine::~DccRefine()
{
    stop();
    for (auto &region : made_lossy) {
        region_destroy(&region);
    }
    region_destroy(&lossy_upstream);
}

void DccRefine::stop()
{
    red_timer_remove(timer);
    timer = nullptr;
    is_due = false;
}

void DccRefine::drawn()
{
    last_drawn = g_get_monotonic_time();
    is_due = false;
    if (!is_timing && DCC_TO_DC(dcc)->priv->enable_jpeg) {
        if (!timer) {
            timer = dcc->get_channel()->get_core_interface()->timer_new(look, this);
        }
        red_timer_start(timer, RED_CATCH_UP_LATE / 1000);
        is_timing = true;
    }
}

void DccRefine::drawn(const Drawable *drawable)
{
    drawn();
    if (!is_timing) {
        return;
    }
    if (is_primary_surface(DCC_TO_DC(dcc), drawable->surface)) {
        QRegion changed;

        dcc_drawing_region(drawable, &changed);
        still.drawn(last_drawn, &changed);
        region_destroy(&changed);
    } else {
        last_off_screen = last_drawn;
    }
}

/* Whether upstream would send the image of @drawable with losses. */
static bool is_lossy_upstream(DisplayChannelClient *dcc, Drawable *drawable)
{
    const RedDrawable *red_drawable = drawable->red_drawable.get();
    SpiceImage *image = red_drawable->type == QXL_DRAW_COPY ?
                        red_drawable->u.copy.src_bitmap : nullptr;

    return image && image->descriptor.type == SPICE_IMAGE_TYPE_BITMAP &&
           dcc_is_sent_lossy(dcc, &image->u.bitmap, drawable);
}

/* Each drawing would cost too much. Then some pixels are resent that upstream leaves lossy. */
static void bound(QRegion *lossy_upstream)
{
    if (pixman_region32_n_rects(lossy_upstream) > RED_CATCH_UP_MAX_RECTS) {
        region_clear(lossy_upstream);
    }
}

void DccRefine::dropped(Drawable *drawable, const QRegion *changed)
{
    if (!is_primary_surface(DCC_TO_DC(dcc), drawable->surface)) {
        return;
    }
    if (is_lossy_upstream(dcc, drawable)) {
        region_or(&lossy_upstream, changed);
        bound(&lossy_upstream);
    } else {
        region_exclude(&lossy_upstream, changed);
    }
}

void DccRefine::copied(const QRegion *dest, int dx, int dy)
{
    red_catch_up_copied(&lossy_upstream, dest, dx, dy);
    bound(&lossy_upstream);
}

void DccRefine::refreshed(uint32_t surface_id, const SpiceRect *piece)
{
    QRegion lossy;

    region_init(&lossy);
    region_add(&lossy, piece);
    region_exclude(&made_lossy[surface_id], &lossy);
    region_and(&lossy, &dcc->priv->surface_client_lossy_region[surface_id]);
    if (surface_id == 0) {
        region_exclude(&lossy, &lossy_upstream);
    }
    region_or(&made_lossy[surface_id], &lossy);
    region_destroy(&lossy);
}

/* Whether @drawable reads an area that a refresh sent with losses. */
bool DccRefine::reads_made_lossy(const Drawable *drawable) const
{
    const RedDrawable *red_drawable = drawable->red_drawable.get();
    const auto is_lossy = [this](const RedSurface *surface, const SpiceRect &area) {
        QRegion read;

        if (region_is_empty(&made_lossy[surface->id])) {
            return false;
        }
        region_init(&read);
        region_add(&read, &area);
        region_and(&read, &made_lossy[surface->id]);
        const bool found = !region_is_empty(&read);
        region_destroy(&read);
        return found;
    };

    if (red_drawable->type == QXL_COPY_BITS) {
        if (is_lossy(drawable->surface, dcc_copy_source(red_drawable))) {
            return true;
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(drawable->surface_deps); ++i) {
        if (drawable->surface_deps[i] &&
            is_lossy(drawable->surface_deps[i], red_drawable->surfaces_rects[i])) {
            return true;
        }
    }
    return false;
}

void DccRefine::sent(const Drawable *drawable, bool is_kept)
{
    QRegion *const region = &made_lossy[drawable->surface->id];
    const bool reads = reads_made_lossy(drawable);
    QRegion changed;

    if (!reads && region_is_empty(region) && region_is_empty(&lossy_upstream)) {
        return;
    }
    dcc_drawing_region(drawable, &changed);
    if (!is_kept && is_primary_surface(DCC_TO_DC(dcc), drawable->surface)) {
        region_exclude(&lossy_upstream, &changed);
    }
    if (reads) {
        region_or(region, &changed);
    } else if (drawable->red_drawable->effect == QXL_EFFECT_OPAQUE) {
        region_exclude(region, &changed);
    }
    region_destroy(&changed);
}

void DccRefine::restored(uint32_t surface_id)
{
    region_or(&made_lossy[surface_id], &dcc->priv->surface_client_lossy_region[surface_id]);
}

/* Initialises @region to the area of a surface that is to be resent without losses. False if there is
 * none: then @region is not initialised. */
bool DccRefine::get_lossy(uint32_t id, QRegion *region) const
{
    const QRegion *const lossy = &dcc->priv->surface_client_lossy_region[id];
    const bool all = red_stream_policy_get()->exact;

    if (!dcc->priv->surface_client_created[id] || !DCC_TO_DC(dcc)->priv->surfaces[id] ||
        region_is_empty(lossy) || (!all && region_is_empty(&made_lossy[id]))) {
        return false;
    }
    region_clone(region, lossy);
    if (!all) {
        region_and(region, &made_lossy[id]);
    }
    if (region_is_empty(region)) {
        region_destroy(region);
        return false;
    }
    return true;
}

bool DccRefine::is_lossy() const
{
    for (uint32_t id = 0; id < made_lossy.size(); ++id) {
        QRegion lossy;

        if (get_lossy(id, &lossy)) {
            region_destroy(&lossy);
            return true;
        }
    }
    return false;
}

/* Find a piece of a lossy area that has not changed for a while, first on the screen. */
bool DccRefine::find_still(uint32_t pixels, uint32_t *surface_id, SpiceRect *piece)
{
    const uint64_t now = g_get_monotonic_time();
    bool found = false;

    for (uint32_t id = 0; id < made_lossy.size() && !found; ++id) {
        QRegion lossy;

        if (id != 0 && now - last_off_screen < STILL_TIME) {
            continue;
        }
        if (!get_lossy(id, &lossy)) {
            continue;
        }
        /* after a migration the region is what the client says */
        const SpiceRect bounds = dcc_surface_bounds(DCC_TO_DC(dcc)->priv->surfaces[id]);
        red_catch_up_keep(&dcc->priv->surface_client_lossy_region[id], &bounds);
        red_catch_up_keep(&lossy, &bounds);
        if (id == 0) {
            still.keep_still(now, &lossy);
        }
        found = !region_is_empty(&lossy);
        if (found) {
            *surface_id = id;
            *piece = red_catch_up_piece(&lossy, pixels);
        }
        region_destroy(&lossy);
    }
    return found;
}

/* The timer fires. It runs as long as some area is lossy. */
void DccRefine::look(DccRefine *self)
{
    const bool is_quiet = g_get_monotonic_time() - self->last_drawn >= RED_CATCH_UP_LATE;
    uint32_t id;
    SpiceRect piece;

    /* a surface whose creation is in the pipe has no such region yet */
    self->is_timing = !self->dcc->pipe_is_empty() || self->is_lossy();
    if (!self->is_timing) {
        return;
    }
    if (is_quiet && self->dcc->pipe_is_empty() && self->find_still(1, &id, &piece)) {
        self->is_due = true;
        self->dcc->priv->catch_up.queue();
    }
    red_timer_start(self->timer, RED_CATCH_UP_LATE / 1000);
}

bool DccRefine::take(uint32_t pixels, uint32_t *surface_id, SpiceRect *piece)
{
    /* the current pixels may already contain a drawing that still waits in the pipe */
    is_due = is_due && dcc->pipe_is_empty() && find_still(pixels, surface_id, piece);
    return is_due;
}
