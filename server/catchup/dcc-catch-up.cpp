/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include <common/rect.h>

#include "dcc-private.h"
#include "display-channel-private.h"
#include "main-channel-client.h"
#include "red-client.h"
#include "red-stream-policy.h"

/* Whether catch-up is on. */
static bool is_enabled()
{
    return red_stream_policy_get()->catch_up;
}

DccCatchUp::DccCatchUp(DisplayChannelClient *init_dcc):
    dcc(init_dcc),
    damage(init_dcc),
    waiting(init_dcc)
{
}

void DccCatchUp::stop()
{
    is_finished = true;
}

void DccCatchUp::forget(uint32_t surface_id)
{
    damage.forget(surface_id);
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

/* Drop all drawings in the pipe, the oldest first. */
void DccCatchUp::take_all()
{
    auto &pipe = dcc->get_pipe();
    /* released after the walk, as that may change the pipe; the creation of a surface is added to
     * its front only */
    RedChannelClient::Pipe taken;

    for (auto l = pipe.end(); l != pipe.begin(); ) {
        const auto pos = std::prev(l);
        RedPipeItem *item = pos->get();

        if (!dcc_is_drawing(dcc, item)) {
            l = pos;
            continue;
        }
        taken.splice(taken.begin(), pipe, pos);
        add(item);
    }
}

void DccCatchUp::queue()
{
    if (is_queued || is_finished || !damage.is_dirty()) {
        return;
    }
    damage.make_ready();
    is_queued = true;
    dcc->pipe_add_type(RED_PIPE_ITEM_TYPE_REFRESH);
}

void DccCatchUp::pushed(bool waits, uint32_t delay)
{
    if (is_enabled()) {
        waiting.pushed(waits, delay);
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
    /* the next drawing will cause all that are in the pipe to be dropped */
    return damage.is_dirty() || waiting.is_too_long() || waiting.holds_up_others() ? 0 : size;
}

bool DccCatchUp::is_behind()
{
    return is_enabled() && !is_finished && (damage.is_dirty() || waiting.is_too_long());
}

/* Whether @drawable reads or draws on a surface that the client does not have, see is_behind(). A client
 * that migrates to this server gets no new surfaces, see dcc_create_surface(). */
bool DccCatchUp::is_unknown(const Drawable *drawable) const
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
    const bool unknown = is_unknown(drawable);
    const bool drops_all = all && (waiting.is_too_long() || waiting.holds_up_others() ||
                                   (dcc->get_pipe_size() > MAX_PIPE_SIZE && damage.is_dirty()));
    /* A frame replaces the one before it, unless that was rendered meanwhile: then a full pipe takes no
     * more of them. */
    if (dcc_is_frame(dcc, drawable) && !unknown &&
        !(drops_all && dcc->get_pipe_size() > MAX_PIPE_SIZE)) {
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
        add(drawable);
        queue();
    }
    return taken;
}

bool DccCatchUp::overtakes(RedPipeItem *item)
{
    if (!is_enabled() || is_finished) {
        return false;
    }
    start();

    RedSurface *surface = nullptr;
    bool late = false;
    if (item->type == RED_PIPE_ITEM_TYPE_DRAW) {
        const Drawable *drawable = static_cast<RedDrawablePipeItem *>(item)->drawable;

        surface = drawable->surface;
        late = waiting.is_late(drawable);
    } else if (item->type == RED_PIPE_ITEM_TYPE_UPGRADE) {
        surface = static_cast<RedUpgradeItem *>(item)->drawable->surface;
    } else {
        surface = DCC_TO_DC(dcc)->priv->surfaces[static_cast<RedImageItem *>(item)->surface_id];
    }

    if (!late && !(surface && damage.is_dirty(surface))) {
        return false;
    }
    add(item);
    take_all();
    queue();
    return true;
}

/* The current pixels of @piece, or null. @piece is clipped to the surface: it may come from a client's
 * MIGRATE_DATA, or from an earlier surface with the same number. */
red::shared_ptr<RedImageItem> DccCatchUp::take_image(uint32_t surface_id, SpiceRect piece)
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
    return dcc_new_surface_area_image(dcc, surface, &piece, false);
}

red::shared_ptr<RedImageItem> DccCatchUp::next()
{
    red::shared_ptr<RedImageItem> image;
    uint32_t id;
    SpiceRect piece;

    is_queued = false;
    if (is_finished) {
        return image;
    }
    if (damage.take(pace.get_pixels(), &id, &piece)) {
        image = take_image(id, piece);
    }
    queue();
    if (!is_queued) {
        pace.pause();
    }
    return image;
}

bool DccCatchUp::replaces_clip(VideoStreamClipItem *item)
{
    if (!is_enabled() || dcc->get_pipe_size() <= MAX_PIPE_SIZE / 2) {
        return false;
    }
    for (const auto &other : dcc->get_pipe()) {
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

/* There may be any number of off-screen surfaces. One that is dropped is sent again as a whole when
 * something is drawn with it, also by the server to which the client migrates: MIGRATE_DATA says which
 * surfaces the client has, but not which parts of them. */
void DccCatchUp::shorten()
{
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
            if (auto image = take_image(id, piece)) {
                dcc->pipe_add(image);
            }
        }
    }
    stop();
}
