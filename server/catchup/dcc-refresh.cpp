/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include <common/rect.h>

#include "dcc-private.h"
#include "display-channel-private.h"
#include "main-channel-client.h"
#include "red-client.h"
#include "red-stream-policy.h"

/* Microseconds without a drawing after which what was sent with losses is sent again if it is
 * still. Shorter than a text cursor blinks, longer than between frames of a video. */
#define REFINE_AFTER (250 * 1000)

/* Copies of 100 bytes: on a line of 2 Mbit/s a refresh waits 13 ms for them. */
#define MAX_KEPT 32
/* Drawings that may wait for a large message on its way, instead of the guest. */
#define MAX_PASSING_PIPE_SIZE (8 * MAX_PIPE_SIZE)
/* Of more rectangles it is not known any more what upstream would have sent with losses. */
#define MAX_LOSSY_RECTS 512

static bool is_enabled()
{
    return red_stream_policy_get()->catch_up;
}

DccRefresh::DccRefresh(DisplayChannelClient *init_dcc):
    dcc(init_dcc)
{
    areas.fill(nullptr);
    for (auto &region : made_lossy) {
        region_init(&region);
    }
    region_init(&lossy_upstream);
}

DccRefresh::~DccRefresh()
{
    stop();
    for (uint32_t id = 0; id < areas.size(); ++id) {
        forget(id);
    }
    for (auto &region : made_lossy) {
        region_destroy(&region);
    }
    region_destroy(&lossy_upstream);
}

void DccRefresh::stop()
{
    red_timer_remove(timer);
    timer = nullptr;
    is_finished = true;
}

void DccRefresh::forget(uint32_t surface_id)
{
    if (areas[surface_id]) {
        delete areas[surface_id];
        areas[surface_id] = nullptr;
        --n_areas;
    }
}

/* Where it may be read: nowhere if it has gone. */
static SpiceRect get_bounds(const RedSurface *surface)
{
    SpiceRect bounds = { 0, 0, 0, 0 };

    if (surface) {
        bounds.right = surface->context.width;
        bounds.bottom = surface->context.height;
    }
    return bounds;
}

/* Where a video plays, which is sent as one. */
void DccRefresh::get_hidden(QRegion *hidden) const
{
    DisplayChannel *display = DCC_TO_DC(dcc);
    RingItem *item;

    region_init(hidden);
    RING_FOREACH(item, &display->priv->streams) {
        VideoStream *stream = SPICE_CONTAINEROF(item, VideoStream, link);
        const int id = display_channel_get_video_stream_id(display, stream);
        const VideoStreamAgent *agent = &dcc->priv->stream_agents[id];

        if (agent->video_encoder) {
            region_or(hidden, &agent->vis_region);
        }
    }
}

bool DccRefresh::is_frame(const Drawable *drawable) const
{
    if (!drawable->stream) {
        return false;
    }
    const int id = display_channel_get_video_stream_id(DCC_TO_DC(dcc), drawable->stream);
    return dcc->priv->stream_agents[id].video_encoder != nullptr;
}

bool DccRefresh::is_dirty(const RedSurface *surface) const
{
    const RedCatchUpArea *area = areas[surface->id];

    if (!area || DCC_TO_DC(dcc)->priv->surfaces[surface->id] != surface) {
        return false;
    }
    QRegion hidden;
    if (is_primary_surface(DCC_TO_DC(dcc), surface)) {
        get_hidden(&hidden);
    } else {
        region_init(&hidden);
    }
    const bool dirty = area->is_dirty(&hidden);
    region_destroy(&hidden);
    return dirty;
}

bool DccRefresh::is_dirty() const
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

void DccRefresh::add(RedSurface *surface, const QRegion *changed, uint64_t since)
{
    /* the guest may have destroyed it, and made another one of that number */
    if (DCC_TO_DC(dcc)->priv->surfaces[surface->id] != surface) {
        return;
    }

    QRegion all;
    region_init(&all);
    if (!dcc->priv->surface_client_created[surface->id]) {
        const SpiceRect bounds = get_bounds(surface);
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
        area->add(changed, since);
    }
    region_destroy(&all);
}

/* Where it draws: not that of the tree, which lacks what newer drawings cover. */
static void region_of(const Drawable *drawable, QRegion *changed)
{
    const RedDrawable *red_drawable = drawable->red_drawable.get();

    region_init(changed);
    region_add(changed, &red_drawable->bbox);
    if (red_drawable->clip.type == SPICE_CLIP_TYPE_RECTS) {
        QRegion clip;

        region_init(&clip);
        region_add_clip_rects(&clip, red_drawable->clip.rects);
        region_and(changed, &clip);
        region_destroy(&clip);
    }
}

void DccRefresh::add(Drawable *drawable)
{
    QRegion changed;

    region_of(drawable, &changed);
    if (!region_is_empty(&changed)) {
        add(drawable->surface, &changed, drawable->creation_time / 1000);
        if (is_primary_surface(DCC_TO_DC(dcc), drawable->surface)) {
            if (is_lossy_upstream(drawable)) {
                region_or(&lossy_upstream, &changed);
            } else {
                region_exclude(&lossy_upstream, &changed);
            }
        }
    }
    region_destroy(&changed);
}

void DccRefresh::add(RedPipeItem *item)
{
    if (item->type == RED_PIPE_ITEM_TYPE_DRAW) {
        add(static_cast<RedDrawablePipeItem *>(item)->drawable);
        return;
    }
    if (item->type == RED_PIPE_ITEM_TYPE_UPGRADE) {
        add(static_cast<RedUpgradeItem *>(item)->drawable);
        return;
    }

    const RedImageItem *image = static_cast<RedImageItem *>(item);
    RedSurface *surface = DCC_TO_DC(dcc)->priv->surfaces[image->surface_id];
    const SpiceRect bounds = {
        image->pos.x, image->pos.y, image->pos.x + image->width, image->pos.y + image->height
    };
    QRegion changed;

    if (!surface || bounds.right > static_cast<int32_t>(surface->context.width) ||
        bounds.bottom > static_cast<int32_t>(surface->context.height)) {
        return;
    }
    region_init(&changed);
    region_add(&changed, &bounds);
    add(surface, &changed, g_get_monotonic_time());
    region_destroy(&changed);
}

/* What shows the client something that the region can stand for. */
bool DccRefresh::is_drawing(const RedPipeItem *item) const
{
    switch (item->type) {
    case RED_PIPE_ITEM_TYPE_DRAW:
        return !is_frame(static_cast<const RedDrawablePipeItem *>(item)->drawable);
    case RED_PIPE_ITEM_TYPE_UPGRADE:
    case RED_PIPE_ITEM_TYPE_IMAGE:
        return true;
    default:
        return false;
    }
}

static bool is_kept(const RedPipeItem *item)
{
    return item->type == RED_PIPE_ITEM_TYPE_DRAW &&
           static_cast<const RedDrawablePipeItem *>(item)->is_kept;
}

/* Whether it changes or reads the screen. */
bool DccRefresh::is_on_screen(const RedPipeItem *item) const
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

/* Whether a copy was kept that comes after a drawing on the screen which would be taken: one that
 * waits, or @before, which was the oldest. */
bool DccRefresh::is_kept_after_screen(const RedPipeItem *before) const
{
    const auto &pipe = dcc->get_pipe();
    bool is_drawn = before && is_on_screen(before);

    for (auto l = pipe.rbegin(); l != pipe.rend(); ++l) {
        const RedPipeItem *item = l->get();

        if (is_kept(item) && is_drawn) {
            return true;
        }
        is_drawn = is_drawn || (!is_kept(item) && is_drawing(item) && is_on_screen(item));
    }
    return false;
}

static SpiceRect get_source(const RedDrawable *copy)
{
    const SpicePoint &src = copy->u.copy_bits.src_pos;

    return { src.x, src.y, src.x + copy->bbox.right - copy->bbox.left,
             src.y + copy->bbox.bottom - copy->bbox.top };
}

/* Whether it is a copy within the screen that the client can do, too. */
bool DccRefresh::can_keep(const Drawable *drawable) const
{
    const RedDrawable *copy = drawable->red_drawable.get();
    const SpiceRect bounds = get_bounds(DCC_TO_DC(dcc)->priv->surfaces[0]);

    if (copy->type != QXL_COPY_BITS || n_kept == MAX_KEPT ||
        drawable->surface != DCC_TO_DC(dcc)->priv->surfaces[0] ||
        !dcc->priv->surface_client_created[0] || !rect_contains(&bounds, &copy->bbox) ||
        (copy->clip.type != SPICE_CLIP_TYPE_NONE && copy->clip.type != SPICE_CLIP_TYPE_RECTS)) {
        return false;
    }

    const SpicePoint &src = copy->u.copy_bits.src_pos;
    if (src.x < 0 || src.x > bounds.right || src.y < 0 || src.y > bounds.bottom) {
        return false;
    }
    SpiceRect area = get_source(copy);
    if (!rect_contains(&bounds, &area)) {
        return false;
    }

    /* what a video shows is only like what is here */
    QRegion hidden, part;

    rect_union(&area, &copy->bbox);
    get_hidden(&hidden);
    region_init(&part);
    region_add(&part, &area);
    region_and(&part, &hidden);
    const bool plays = !region_is_empty(&part);
    region_destroy(&part);
    region_destroy(&hidden);
    return !plays;
}

/* It is kept: what the client copies is as wrong as where it comes from. */
void DccRefresh::copied(const Drawable *drawable)
{
    const RedDrawable *copy = drawable->red_drawable.get();
    const int dx = copy->bbox.left - copy->u.copy_bits.src_pos.x;
    const int dy = copy->bbox.top - copy->u.copy_bits.src_pos.y;
    QRegion dest;

    region_of(drawable, &dest);
    if (areas[0]) {
        areas[0]->copied(&dest, dx, dy);
    }
    red_catch_up_copied(&lossy_upstream, &dest, dx, dy);
    if (pixman_region32_n_rects(&lossy_upstream) > MAX_LOSSY_RECTS) {
        region_clear(&lossy_upstream);
    }
    region_destroy(&dest);
    ++n_kept;
}

/* Queue a copy ahead of the refresh of the screen. False if that cannot be. */
bool DccRefresh::keeps(Drawable *drawable)
{
    auto &pipe = dcc->get_pipe();
    auto refresh = pipe.end();

    if (!can_keep(drawable)) {
        return false;
    }
    if (areas[0] && areas[0]->is_ready()) {
        SpiceRect area = get_source(drawable->red_drawable.get());

        rect_union(&area, &drawable->red_drawable->bbox);
        refresh = std::find_if(pipe.begin(), pipe.end(), [](const RedPipeItemPtr &item) {
            return item->type == RED_PIPE_ITEM_TYPE_REFRESH;
        });
        if (refresh == pipe.end() ||
            std::any_of(pipe.begin(), refresh, [&](const RedPipeItemPtr &item) {
                const bool is_beside = item->type == RED_PIPE_ITEM_TYPE_DRAW &&
                    !is_drawing(item.get()) &&
                    !rect_intersects(&area, &static_cast<RedDrawablePipeItem *>(item.get())->
                                            drawable->red_drawable->bbox);

                return !is_beside && is_on_screen(item.get());
            })) {
            return false;
        }
    }

    auto item = red::make_shared<RedDrawablePipeItem>(dcc, drawable);
    item->is_kept = true;
    copied(drawable);
    if (refresh != pipe.end()) {
        dcc->pipe_add_after_pos(item, refresh);
    } else {
        dcc->pipe_add(item);
    }
    return true;
}

/* Take all drawings out of the pipe, the oldest first, but for copies that are kept. @before: what
 * was taken before them. */
void DccRefresh::take_all(const RedPipeItem *before)
{
    auto &pipe = dcc->get_pipe();
    const bool keep = !is_kept_after_screen(before);
    bool is_after_refresh = false;
    /* released after the walk: that may change the pipe, while to create a surface adds to its
     * front only */
    RedChannelClient::Pipe taken;

    for (auto l = pipe.end(); l != pipe.begin(); ) {
        const auto pos = std::prev(l);
        RedPipeItem *item = pos->get();

        is_after_refresh = is_after_refresh || item->type == RED_PIPE_ITEM_TYPE_REFRESH;
        if (!is_drawing(item) || (keep && is_kept(item))) {
            l = pos;
            continue;
        }
        if (keep && item->type == RED_PIPE_ITEM_TYPE_DRAW &&
            !(is_after_refresh && areas[0] && areas[0]->is_ready())) {
            auto dpi = static_cast<RedDrawablePipeItem *>(item);

            if (can_keep(dpi->drawable)) {
                dpi->is_kept = true;
                copied(dpi->drawable);
                l = pos;
                continue;
            }
        }
        taken.splice(taken.begin(), pipe, pos);
        add(item);
    }
}

/* Have a refresh in the pipe if there is something to show. */
void DccRefresh::queue()
{
    if (is_queued || is_finished || !(is_refining || is_dirty())) {
        return;
    }

    QRegion hidden, nothing;
    get_hidden(&hidden);
    region_init(&nothing);
    for (uint32_t id = 0; id < areas.size(); ++id) {
        if (areas[id]) {
            areas[id]->make_ready(id == 0 ? &hidden : &nothing);
        }
    }
    region_destroy(&hidden);
    region_destroy(&nothing);

    is_queued = true;
    dcc->pipe_add_type(RED_PIPE_ITEM_TYPE_REFRESH);
}

void DccRefresh::uncover()
{
    if (is_enabled() && n_areas) {
        queue();
    }
}

void DccRefresh::pushed(bool waits, uint32_t delay, uint32_t bytes)
{
    if (!is_enabled()) {
        return;
    }
    const uint64_t now = g_get_monotonic_time();

    path.pushed(now, waits, bytes ? dcc->get_message_serial() : 0, bytes);
    late_after = red_catch_up_late(delay);
    if (waiting_since && dcc->get_pipe_size() <= MAX_PIPE_SIZE) {
        waited += now - waiting_since;
        waiting_since = 0;
    }
}

bool DccRefresh::is_late(const Drawable *drawable) const
{
    return path.waited(drawable->creation_time / 1000) > late_after;
}

/* The oldest drawing in the pipe should have been shown long ago, or the guest had to wait that
 * long with what is to come: until the worker has taken all of that it need not wait again. */
bool DccRefresh::waits_too_long() const
{
    const auto &pipe = dcc->get_pipe();

    if ((waiting_since ? path.refused(waiting_since - waited) : waited) > late_after) {
        return true;
    }
    for (auto l = pipe.rbegin(); l != pipe.rend(); ++l) {
        if ((*l)->type == RED_PIPE_ITEM_TYPE_DRAW) {
            const Drawable *drawable = static_cast<RedDrawablePipeItem *>(l->get())->drawable;

            if (!is_frame(drawable) && !is_kept(l->get())) {
                return is_late(drawable);
            }
        }
    }
    return false;
}

bool DccRefresh::is_behind()
{
    return is_enabled() && !is_finished && (is_dirty() || waits_too_long());
}

/* It reads or draws on a surface of which the client has no picture, see is_behind(). One that is
 * coming from another server is told of no surface, see dcc_create_surface(). */
bool DccRefresh::is_unknown(const Drawable *drawable) const
{
    if (dcc->get_client()->during_migrate_at_target()) {
        return false;
    }
    const auto &created = dcc->priv->surface_client_created;
    bool unknown = !created[drawable->surface->id];

    for (const auto surface : drawable->surface_deps) {
        unknown = unknown || (surface && !created[surface->id]);
    }
    return unknown;
}

bool DccRefresh::takes(Drawable *drawable, bool all)
{
    if (!is_enabled() || is_finished) {
        return false;
    }
    drawn(drawable);
    const bool unknown = is_unknown(drawable);
    if (is_frame(drawable) && !unknown) {
        return false;
    }

    bool taken = unknown || is_dirty(drawable->surface);
    for (const auto surface : drawable->surface_deps) {
        taken = taken || (surface && is_dirty(surface));
    }
    if (all && (waits_too_long() || holds_up_others() ||
                (dcc->get_pipe_size() > MAX_PIPE_SIZE && is_dirty()))) {
        take_all();
        taken = true;
    }
    if (taken) {
        if (!all || !keeps(drawable)) {
            add(drawable);
        }
        queue();
    }
    return taken;
}

bool DccRefresh::overtakes(RedPipeItem *item)
{
    if (!is_enabled() || is_finished) {
        return false;
    }
    drawn();

    RedSurface *surface = nullptr;
    const RedDrawablePipeItem *dpi = nullptr;
    bool late = false;
    if (item->type == RED_PIPE_ITEM_TYPE_DRAW) {
        dpi = static_cast<RedDrawablePipeItem *>(item);
        if (dpi->is_kept) {
            went(dpi);
            return false;
        }
        surface = dpi->drawable->surface;
        late = is_late(dpi->drawable);
    } else if (item->type == RED_PIPE_ITEM_TYPE_UPGRADE) {
        surface = static_cast<RedUpgradeItem *>(item)->drawable->surface;
    } else {
        surface = DCC_TO_DC(dcc)->priv->surfaces[static_cast<RedImageItem *>(item)->surface_id];
    }

    const bool dirty = surface && is_dirty(surface);
    if (!late && !dirty) {
        if (dpi) {
            went(dpi);
        }
        return false;
    }
    if (!dirty && can_keep(dpi->drawable) && !is_kept_after_screen(item)) {
        /* it has its turn, the others have not */
        went(dpi);
        take_all();
        queue();
        return false;
    }
    add(item);
    take_all(item);
    queue();
    return true;
}

/* Returns what is shown there, or null. Whoever says where to look, and be it wrong: beside the
 * surface as it is now is other memory, which is not for the client to see. */
red::shared_ptr<RedImageItem> DccRefresh::take_image(uint32_t surface_id, SpiceRect piece,
                                                     bool can_lossy)
{
    DisplayChannel *display = DCC_TO_DC(dcc);
    RedSurface *surface = display->priv->surfaces[surface_id];
    const SpiceRect bounds = get_bounds(surface);

    rect_sect(&piece, &bounds);
    if (rect_is_empty(&piece)) {
        return red::shared_ptr<RedImageItem>();
    }
    piece_surface = surface_id;
    piece_area = piece;
    display_channel_draw(display, &piece, surface_id);
    pace.sent(g_get_monotonic_time(), rect_get_area(&piece));
    return dcc_new_surface_area_image(dcc, surface, &piece, can_lossy);
}

red::shared_ptr<RedImageItem> DccRefresh::next()
{
    red::shared_ptr<RedImageItem> image;
    SpiceRect piece;

    is_queued = false;
    n_kept = 0;
    is_refined = false;
    piece_since = UINT64_MAX;
    if (is_finished) {
        return image;
    }
    piece_since = get_oldest();
    /* the user sees the first one only */
    for (uint32_t id = 0; n_areas && id < areas.size() && !image; ++id) {
        if (!areas[id]) {
            continue;
        }
        /* it may be of another surface than this one by now */
        const SpiceRect bounds = get_bounds(DCC_TO_DC(dcc)->priv->surfaces[id]);
        areas[id]->keep(&bounds);
        if (areas[id]->take(pace.get_pixels(), &piece)) {
            image = take_image(id, piece, id == 0);
        }
        if (areas[id] && areas[id]->is_empty()) {
            forget(id);
        }
    }
    if (!image && is_refining) {
        image = next_lossless();
        is_refined = true;
    }
    queue();
    if (!is_queued) {
        pace.pause();
    }
    return image;
}

/* Note that something is drawn, or shown with losses. */
void DccRefresh::drawn()
{
    last_drawn = g_get_monotonic_time();
    is_refining = false;
    if (!pace.is_started()) {
        const MainChannelClient *mcc = dcc->get_client()->get_main();

        pace.start(mcc && mcc->is_network_info_initialized() ? mcc->get_bitrate_per_sec() / 8 : 0);
    }
    if (!is_timing && DCC_TO_DC(dcc)->priv->enable_jpeg) {
        if (!timer) {
            timer = dcc->get_channel()->get_core_interface()->timer_new(refine, this);
        }
        red_timer_start(timer, REFINE_AFTER / 1000);
        is_timing = true;
    }
}

void DccRefresh::drawn(const Drawable *drawable)
{
    drawn();
    if (!is_timing) {
        return;
    }
    if (is_primary_surface(DCC_TO_DC(dcc), drawable->surface)) {
        QRegion changed;

        region_of(drawable, &changed);
        still.drawn(last_drawn, &changed);
        region_destroy(&changed);
    } else {
        last_off_screen = last_drawn;
    }
}

uint64_t DccRefresh::get_oldest() const
{
    uint64_t oldest = UINT64_MAX;

    for (uint32_t id = 0; n_areas && id < areas.size(); ++id) {
        if (areas[id]) {
            oldest = std::min(oldest, areas[id]->get_oldest());
        }
    }
    return oldest;
}

void DccRefresh::sent(size_t bytes)
{
    const uint64_t now = g_get_monotonic_time();
    QRegion lossy;

    region_init(&lossy);
    region_add(&lossy, &piece_area);
    region_exclude(&made_lossy[piece_surface], &lossy);
    region_and(&lossy, &dcc->priv->surface_client_lossy_region[piece_surface]);
    if (piece_surface == 0) {
        region_exclude(&lossy, &lossy_upstream);
    }
    region_or(&made_lossy[piece_surface], &lossy);
    region_destroy(&lossy);

    red_stream_add_refresh(dcc->get_stream(), bytes, is_refined,
                           piece_since < now ? now - piece_since : 0);
}

/* Whether it is made from what was sent with losses here. */
bool DccRefresh::reads_made_lossy(const Drawable *drawable) const
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
        const SpicePoint &from = red_drawable->u.copy_bits.src_pos;
        const SpiceRect &box = red_drawable->bbox;
        const SpiceRect area = {
            from.x, from.y, from.x + box.right - box.left, from.y + box.bottom - box.top
        };

        if (is_lossy(drawable->surface, area)) {
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

/* Whether its picture is one that upstream sends with losses. */
bool DccRefresh::is_lossy_upstream(Drawable *drawable) const
{
    const RedDrawable *red_drawable = drawable->red_drawable.get();
    SpiceImage *image = red_drawable->type == QXL_DRAW_COPY ?
                        red_drawable->u.copy.src_bitmap : nullptr;

    return image && image->descriptor.type == SPICE_IMAGE_TYPE_BITMAP &&
           dcc_is_sent_lossy(dcc, &image->u.bitmap, drawable);
}

/* A drawing is sent as upstream sends it. */
void DccRefresh::went(const RedDrawablePipeItem *item)
{
    const Drawable *drawable = item->drawable;
    QRegion *const region = &made_lossy[drawable->surface->id];
    const bool reads = reads_made_lossy(drawable);
    QRegion changed;

    if (!reads && region_is_empty(region) && region_is_empty(&lossy_upstream)) {
        return;
    }
    region_of(drawable, &changed);
    /* of a copy that was kept see copied() */
    if (!item->is_kept && is_primary_surface(DCC_TO_DC(dcc), drawable->surface)) {
        region_exclude(&lossy_upstream, &changed);
    }
    if (reads) {
        region_or(region, &changed);
    } else if (drawable->red_drawable->effect == QXL_EFFECT_OPAQUE) {
        region_exclude(region, &changed);
    }
    region_destroy(&changed);
}

void DccRefresh::restored(uint32_t surface_id)
{
    region_or(&made_lossy[surface_id], &dcc->priv->surface_client_lossy_region[surface_id]);
}

/* Makes @region what of a surface was sent with losses and is to be sent without. False if nothing
 * is, or the surface is not there: then there is no region. */
bool DccRefresh::get_lossy(uint32_t id, QRegion *region) const
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

bool DccRefresh::is_lossy() const
{
    for (uint32_t id = 0; id < areas.size(); ++id) {
        QRegion lossy;

        if (get_lossy(id, &lossy)) {
            region_destroy(&lossy);
            return true;
        }
    }
    return false;
}

/* Find a piece of what was sent with losses and is still, the screen's first. */
bool DccRefresh::find_still(uint32_t *surface_id, SpiceRect *piece)
{
    const uint64_t now = g_get_monotonic_time();
    bool found = false;

    for (uint32_t id = 0; id < areas.size() && !found; ++id) {
        QRegion lossy;

        if (id != 0 && now - last_off_screen < RED_CATCH_UP_STILL) {
            continue;
        }
        if (!get_lossy(id, &lossy)) {
            continue;
        }
        /* after a migration it is what the client says */
        const SpiceRect bounds = get_bounds(DCC_TO_DC(dcc)->priv->surfaces[id]);
        red_catch_up_keep(&dcc->priv->surface_client_lossy_region[id], &bounds);
        red_catch_up_keep(&lossy, &bounds);
        if (id == 0) {
            still.keep_still(now, &lossy);
        }
        found = !region_is_empty(&lossy);
        if (found) {
            *surface_id = id;
            *piece = red_catch_up_piece(&lossy, pace.get_pixels());
        }
        region_destroy(&lossy);
    }
    return found;
}

/* Look, as long as there is something that was sent with losses, whether to send it again. */
void DccRefresh::refine(DccRefresh *self)
{
    const bool is_quiet = g_get_monotonic_time() - self->last_drawn >= REFINE_AFTER;
    uint32_t id;
    SpiceRect piece;

    /* a surface whose creation is in the pipe has no such region yet */
    self->is_timing = !self->dcc->pipe_is_empty() || self->is_lossy();
    if (!self->is_timing) {
        return;
    }
    if (is_quiet && self->dcc->pipe_is_empty() && self->find_still(&id, &piece)) {
        self->is_refining = true;
        self->queue();
    }
    red_timer_start(self->timer, REFINE_AFTER / 1000);
}

red::shared_ptr<RedImageItem> DccRefresh::next_lossless()
{
    uint32_t id;
    SpiceRect piece;

    /* what waits may be a drawing, and be part of the picture already */
    is_refining = dcc->pipe_is_empty() && find_still(&id, &piece);
    return is_refining ? take_image(id, piece, false) : red::shared_ptr<RedImageItem>();
}

bool DccRefresh::replaces_clip(VideoStreamClipItem *item)
{
    if (!is_enabled() || dcc->get_pipe_size() <= MAX_PIPE_SIZE / 2) {
        return false;
    }
    for (const auto &other : dcc->get_pipe()) {
        if (other->type == RED_PIPE_ITEM_TYPE_STREAM_CLIP) {
            auto waiting = static_cast<VideoStreamClipItem *>(other.get());

            if (waiting->stream_agent == item->stream_agent) {
                waiting->rects = std::move(item->rects);
                return true;
            }
        }
    }
    return false;
}

bool DccRefresh::forgets_created(uint32_t surface_id)
{
    auto &pipe = dcc->get_pipe();

    forget(surface_id);
    region_clear(&made_lossy[surface_id]);
    /* the screen is in other messages that wait, too: marks and videos */
    if (surface_id == 0 || !is_enabled() || is_finished || pipe.size() <= MAX_PIPE_SIZE / 2) {
        return false;
    }
    const auto created = std::find_if(pipe.begin(), pipe.end(), [=](const RedPipeItemPtr &item) {
        return item->type == RED_PIPE_ITEM_TYPE_CREATE_SURFACE &&
               static_cast<RedSurfaceCreateItem *>(item.get())->surface_create.surface_id ==
               surface_id;
    });
    if (created == pipe.end()) {
        return false;
    }
    /* no drawing of it is left, or it would not go, or shorten() has taken all */
    pipe.erase(created);
    pipe.remove_if([=](const RedPipeItemPtr &item) {
        return item->type == RED_PIPE_ITEM_TYPE_IMAGE &&
               static_cast<RedImageItem *>(item.get())->surface_id ==
               static_cast<int>(surface_id);
    });
    return true;
}

/* Pieces of surfaces that are not on the screen may come to any amount. The client gets such a
 * surface again, whole, when something is drawn with it: here or, after a migration, elsewhere,
 * where it is known which surfaces the client has, but not which it has in part. */
void DccRefresh::shorten()
{
    /* the timer goes on with that */
    is_refining = false;
    if (!is_enabled() || is_finished || !is_dirty()) {
        return;
    }
    /* any of these may read one that goes */
    take_all();
    for (uint32_t id = 1; id < areas.size(); ++id) {
        if (areas[id]) {
            dcc_destroy_surface(dcc, id);
        }
    }
    queue();
}

void DccRefresh::finish()
{
    if (!is_enabled() || is_finished) {
        return;
    }
    for (uint32_t id = 0; id < areas.size(); ++id) {
        if (!areas[id]) {
            continue;
        }
        QRegion all;
        uint32_t n_rects;

        region_init(&all);
        areas[id]->get_all(&all);
        SpiceRect *rects = region_dup_rects(&all, &n_rects);
        for (uint32_t i = 0; i < n_rects; ++i) {
            if (auto image = take_image(id, rects[i], false)) {
                dcc->pipe_add(image);
            }
        }
        g_free(rects);
        region_destroy(&all);
        forget(id);
    }
    stop();
}

/* The guest would wait for this client, while another one takes what it draws. */
bool DccRefresh::holds_up_others() const
{
    DisplayChannelClient *other;

    if (dcc->get_pipe_size() <= MAX_PIPE_SIZE) {
        return false;
    }
    GLIST_FOREACH(dcc->get_channel()->get_clients(), DisplayChannelClient, other) {
        if (other->get_pipe_size() <= MAX_PIPE_SIZE) {
            return true;
        }
    }
    return false;
}

uint32_t DccRefresh::backlog() const
{
    const uint32_t size = dcc->get_pipe_size();

    if (size <= MAX_PIPE_SIZE || !is_enabled() || is_finished) {
        return size;
    }
    /* nothing can overtake it, so the guest need not wait for it */
    if (path.is_passing() && size <= MAX_PASSING_PIPE_SIZE) {
        return 0;
    }
    /* what is drawn next takes all that is drawn out of the pipe */
    return is_dirty() || waits_too_long() || holds_up_others() ? 0 : size;
}

void DccRefresh::guest_waits(bool waits)
{
    if (!waits) {
        waited = 0;
        waiting_since = 0;
    } else if (!waiting_since && dcc->get_pipe_size() > MAX_PIPE_SIZE) {
        waiting_since = g_get_monotonic_time();
    }
}
