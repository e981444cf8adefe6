/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include <common/rect.h>

#include "dcc-private.h"
#include "display-channel-private.h"
#include "main-channel-client.h"
#include "red-client.h"
#include "red-stream-observer.h"

/* While a large message is sent, this many drawings may wait behind it before the guest must
 * wait. With half, a guest that draws much waits for the image; with twice the value, one client
 * holds most of NUM_DRAWABLES. */
#define MAX_PASSING_PIPE_SIZE (8 * MAX_PIPE_SIZE)

/* Whether catch-up is on. */
static bool is_enabled()
{
    return red_catch_up_setting.get(red_stream_policy_get());
}

DccCatchUp::DccCatchUp(DisplayChannelClient *init_dcc, RedShown::Regions *lossy):
    dcc(init_dcc),
    damage(init_dcc),
    copies(init_dcc),
    waiting(init_dcc),
    refinement(init_dcc, lossy, [](DisplayChannelClient *client) {
        client->priv->catch_up.queue();
    })
{
    region_init(&undecoded);
}

DccCatchUp::~DccCatchUp()
{
    region_destroy(&undecoded);
}

void DccCatchUp::stop()
{
    refinement.stop();
    is_finished = true;
}

void DccCatchUp::forget(uint32_t surface_id)
{
    damage.forget(surface_id);
    refinement.forget(surface_id);
}

void DccCatchUp::add(Drawable *drawable)
{
    QRegion changed;

    dcc_drawing_region(drawable, &changed);
    if (!region_is_empty(&changed)) {
        damage.add(drawable->surface, &changed);
    }
    region_destroy(&changed);
}

void DccCatchUp::add(RedPipeItem *item)
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
    damage.add(surface, &changed);
    region_destroy(&changed);
}

/* The copy is sent before the refresh of the screen, so where its source has damage the client
 * copies wrong pixels: copy the damage, too. */
void DccCatchUp::keep(RedDrawablePipeItem *item)
{
    const RedDrawable *copy = item->drawable->red_drawable.get();
    const int dx = copy->bbox.left - copy->u.copy_bits.src_pos.x;
    const int dy = copy->bbox.top - copy->u.copy_bits.src_pos.y;
    QRegion dest;

    dcc_drawing_region(item->drawable, &dest);
    damage.copied(&dest, dx, dy);
    region_destroy(&dest);
    copies.kept();
    item->is_kept = true;
}

/* Queue a copy in front of the refresh of the screen. False if it cannot be kept. */
bool DccCatchUp::keeps(Drawable *drawable)
{
    auto refresh = dcc->get_pipe().end();

    if (!copies.can_keep(drawable) ||
        (damage.is_ready(0) && !copies.find_refresh(drawable, &refresh))) {
        return false;
    }
    auto item = red::make_shared<RedDrawablePipeItem>(dcc, drawable);
    keep(item.get());
    if (refresh != dcc->get_pipe().end()) {
        dcc->pipe_add_after_pos(item, refresh);
    } else {
        dcc->pipe_add(item);
    }
    return true;
}

/* Drop @first (null: nothing), which was taken from the pipe, and then all drawings in the pipe,
 * the oldest first, except copies that are kept. */
void DccCatchUp::take_all(RedPipeItem *first)
{
    auto &pipe = dcc->get_pipe();
    const bool keep_copies = !copies.is_after_screen(first);
    /* what is damaged already, also under a video, may be newer than a copy that waits, and must
     * not move with it */
    const bool keep_more = !damage.has(0);
    /* released after the walk, as that may change the pipe; the creation of a surface is added to
     * its front only */
    RedChannelClient::Pipe taken;

    if (first) {
        add(first);
    }
    for (auto l = pipe.end(); l != pipe.begin(); ) {
        const auto pos = std::prev(l);
        RedPipeItem *item = pos->get();

        if (!dcc_is_drawing(dcc, item)) {
            l = pos;
            continue;
        }
        if (keep_copies && item->type == RED_PIPE_ITEM_TYPE_DRAW) {
            auto dpi = static_cast<RedDrawablePipeItem *>(item);

            if (!dpi->is_kept && keep_more && copies.can_keep(dpi->drawable)) {
                keep(dpi);
            }
            if (dpi->is_kept) {
                l = pos;
                continue;
            }
        }
        taken.splice(taken.begin(), pipe, pos);
        add(item);
    }
}

void DccCatchUp::queue()
{
    if (is_queued || is_finished || !(refinement.is_wanted() || damage.is_dirty())) {
        return;
    }
    damage.make_ready();
    is_queued = true;
    dcc->pipe_add_type(RED_PIPE_ITEM_TYPE_REFRESH);
}

void DccCatchUp::pushed(bool waits, uint32_t delay, uint32_t bytes)
{
    if (!is_enabled()) {
        return;
    }
    waiting.pushed(waits, delay, bytes);
    if (!is_finished) {
        refinement.pushed();
    }
}

void DccCatchUp::guest_waits(bool waits)
{
    waiting.guest_waits(waits);
}

uint32_t DccCatchUp::backlog() const
{
    const uint32_t size = dcc->get_pipe_size();

    if (size <= MAX_PIPE_SIZE || !is_enabled() || is_finished) {
        return size;
    }
    /* nothing can overtake the large message, so the guest need not wait for it */
    if (waiting.is_passing() && size <= MAX_PASSING_PIPE_SIZE) {
        return 0;
    }
    /* the next drawing will cause all that are in the pipe to be dropped */
    return damage.is_dirty() || waiting.is_too_long() || waiting.holds_up_others() ? 0 : size;
}

bool DccCatchUp::is_behind()
{
    return is_enabled() && !is_finished && (damage.is_dirty() || waiting.is_too_long());
}

/* Whether @drawable reads or draws on a surface that the client does not have, see is_behind().
 * While a display migrates to this server its clients get no new surfaces, see
 * dcc_create_surface(). */
bool DccCatchUp::is_unknown(const Drawable *drawable) const
{
    if (DCC_TO_DC(dcc)->get_during_target_migrate()) {
        return false;
    }
    const auto &created = dcc->priv->surface_client_created;
    bool unknown = !created[drawable->surface->id];

    for (const auto surface : drawable->surface_deps) {
        unknown = unknown || (surface && !created[surface->id]);
    }
    return unknown;
}

void DccCatchUp::start()
{
    if (!pace.is_started()) {
        const MainChannelClient *mcc = dcc->get_client()->get_main();

        pace.start(mcc && mcc->is_network_info_initialized() ? mcc->get_bitrate_per_sec() / 8 : 0);
    }
}

bool DccCatchUp::takes(Drawable *drawable, bool all)
{
    if (!is_enabled() || is_finished) {
        return false;
    }
    start();
    refinement.drawn(drawable);
    const bool unknown = is_unknown(drawable);
    const bool drops_all = all && (waiting.is_too_long() || waiting.holds_up_others() ||
                                   (dcc->get_pipe_size() > MAX_PIPE_SIZE && damage.is_dirty()));
    /* A frame replaces the one before it, unless that was rendered meanwhile: then a full pipe
     * takes no more of them. */
    if (dcc_is_frame(dcc, drawable) && !unknown &&
        !(drops_all && dcc->get_pipe_size() > MAX_PIPE_SIZE)) {
        /* the one before it may have been larger, and become damage */
        queue();
        return false;
    }

    bool taken = unknown || damage.is_dirty(drawable->surface);
    for (const auto surface : drawable->surface_deps) {
        taken = taken || (surface && damage.is_dirty(surface));
    }
    if (drops_all) {
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

void DccCatchUp::replaced(RedDrawable *drawable)
{
    if (is_enabled() && !is_finished) {
        refinement.replaced(drawable);
    }
}

bool DccCatchUp::decodes_later() const
{
    return is_enabled() && copies.decodes_later();
}

bool DccCatchUp::gets_no_copy(const SpiceRect &source) const
{
    return copies.reads_undecoded(0, source, refinement);
}

bool DccCatchUp::leaves_lossy() const
{
    return !is_enabled() || is_finished;
}

bool DccCatchUp::keeps_losses() const
{
    const DisplayChannel *display = DCC_TO_DC(dcc);
    const SpiceRect screen = dcc_surface_bounds(display->priv->surfaces[0]);

    return leaves_lossy() && (display->priv->enable_jpeg || refinement.is_lossy(0, &screen));
}

bool DccCatchUp::overtakes(RedPipeItem *item)
{
    if (!is_enabled() || is_finished) {
        return false;
    }
    start();
    RedSurface *surface = nullptr;
    const RedDrawablePipeItem *dpi = nullptr;
    bool late = false, reads_undecoded = false;
    if (item->type == RED_PIPE_ITEM_TYPE_DRAW) {
        dpi = static_cast<RedDrawablePipeItem *>(item);
        const RedDrawable *drawing = dpi->drawable->red_drawable.get();
        reads_undecoded = drawing->type == QXL_COPY_BITS &&
                          copies.reads_undecoded(dpi->drawable->surface->id,
                                                 dcc_copy_source(drawing), refinement);
        if (dpi->is_kept && !reads_undecoded) {
            return false;
        }
        surface = dpi->drawable->surface;
        late = reads_undecoded || waiting.is_late(dpi->drawable);
    } else if (item->type == RED_PIPE_ITEM_TYPE_UPGRADE) {
        surface = static_cast<RedUpgradeItem *>(item)->drawable->surface;
    } else {
        surface = DCC_TO_DC(dcc)->priv->surfaces[static_cast<RedImageItem *>(item)->surface_id];
    }

    const bool dirty = surface && damage.is_dirty(surface);
    if (!late && !dirty) {
        return false;
    }
    if (!dirty && !reads_undecoded && copies.can_keep(dpi->drawable)) {
        /* this one can be sent now */
        take_all();
        queue();
        return false;
    }
    take_all(item);
    queue();
    return true;
}

/* The current pixels of @piece, or null. @piece is clipped to the surface: it may come from a
 * client's MIGRATE_DATA, or from an earlier surface with the same number. */
red::shared_ptr<RedImageItem> DccCatchUp::take_image(uint32_t surface_id, SpiceRect piece,
                                                     bool can_lossy)
{
    DisplayChannel *display = DCC_TO_DC(dcc);
    RedSurface *surface = display->priv->surfaces[surface_id];
    const SpiceRect bounds = dcc_surface_bounds(surface);

    rect_sect(&piece, &bounds);
    if (rect_is_empty(&piece)) {
        return red::shared_ptr<RedImageItem>();
    }
    display_channel_draw(display, &piece, surface_id);
    pace.sent(g_get_monotonic_time(), rect_get_area(&piece));
    return dcc_new_surface_area_image(dcc, surface, &piece, can_lossy);
}

red::shared_ptr<RedImageItem> DccCatchUp::next()
{
    red::shared_ptr<RedImageItem> image;
    uint32_t id;
    SpiceRect piece;

    is_queued = false;
    is_refined = false;
    copies.refreshed();
    if (is_finished) {
        return image;
    }
    if (damage.take(pace.get_pixels(), &id, &piece)) {
        /* the guest draws from off-screen surfaces, so losses would spread */
        image = take_image(id, piece, id == 0);
        if (copies.decodes_later()) {
            /* The area stays lossy after this image, unlike after others: the JPEG below may be
             * decoded later. Refinement resends it. */
            refreshed = id;
            region_add(&undecoded, &piece);
            region_and(&undecoded, &dcc->priv->surface_client_lossy_region[id]);
        }
    } else if (refinement.take(pace.get_pixels(), &id, &piece)) {
        image = take_image(id, piece, false);
        is_refined = true;
    }
    queue();
    if (!is_queued) {
        pace.pause();
    }
    return image;
}

void DccCatchUp::sent(size_t bytes)
{
    region_or(&dcc->priv->surface_client_lossy_region[refreshed], &undecoded);
    region_clear(&undecoded);
    if (RedStreamObserver *const observer = red_stream_get_observer(dcc->get_stream())) {
        observer->event("refresh", { int64_t(bytes), is_refined });
    }
}

/* Whether the client draws elsewhere what it shows on the screen. Before that no clip must grow:
 * the client may have an older frame that it shows then. */
static bool copies_from_screen(const RedPipeItem *item)
{
    if (item->type != RED_PIPE_ITEM_TYPE_DRAW) {
        return false;
    }
    const Drawable *drawable = static_cast<const RedDrawablePipeItem *>(item)->drawable;

    return drawable->red_drawable->type == QXL_COPY_BITS ||
           std::any_of(std::begin(drawable->surface_deps), std::end(drawable->surface_deps),
                       [](const RedSurface *surface) { return surface && surface->id == 0; });
}

bool DccCatchUp::replaces_clip(VideoStreamClipItem *item)
{
    if (!is_enabled() || dcc->get_pipe_size() <= MAX_PIPE_SIZE / 2) {
        return false;
    }
    for (const auto &other : dcc->get_pipe()) {
        if (copies_from_screen(other.get())) {
            return false;
        }
        if (other->type == RED_PIPE_ITEM_TYPE_STREAM_CLIP) {
            auto older = static_cast<VideoStreamClipItem *>(other.get());

            if (older->stream_agent == item->stream_agent) {
                older->rects = std::move(item->rects);
                return true;
            }
        }
    }
    return false;
}

bool DccCatchUp::forgets_created(uint32_t surface_id)
{
    auto &pipe = dcc->get_pipe();

    forget(surface_id);
    /* messages of videos refer to the screen, too */
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
    /* no drawing on the surface is left: a drawing holds a reference, and shorten() drops them */
    pipe.erase(created);
    pipe.remove_if([=](const RedPipeItemPtr &item) {
        return item->type == RED_PIPE_ITEM_TYPE_IMAGE &&
               static_cast<RedImageItem *>(item.get())->surface_id ==
               static_cast<int>(surface_id);
    });
    return true;
}

/* There may be any number of off-screen surfaces. One that is dropped is sent again as a whole
 * when something is drawn with it, also by the server to which the client migrates: MIGRATE_DATA
 * says which surfaces the client has, but not which parts of them. */
void DccCatchUp::shorten()
{
    refinement.pause();
    if (!is_enabled() || is_finished || !damage.is_dirty()) {
        return;
    }
    /* drawings in the pipe may read a surface that is dropped */
    take_all();
    for (uint32_t id = 1; id < NUM_SURFACES; ++id) {
        if (damage.has(id)) {
            dcc_destroy_surface(dcc, id);
        }
    }
    queue();
}

void DccCatchUp::finish()
{
    if (!is_enabled() || is_finished) {
        return;
    }
    for (uint32_t id = 0; id < NUM_SURFACES; ++id) {
        for (const auto &piece : damage.take_all(id)) {
            if (auto image = take_image(id, piece, false)) {
                dcc->pipe_add(image);
            }
        }
    }
    /* nobody resends it, unless the other server does */
    for (const auto &item : dcc->get_pipe()) {
        if (item->type == RED_PIPE_ITEM_TYPE_IMAGE) {
            static_cast<RedImageItem *>(item.get())->can_lossy = false;
        }
    }
    stop();
}
