/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The damage of a display client: the areas of its surfaces that differ from the server's and
 * that no item in the pipe will correct. Part of catch-up, see dcc-catch-up.h. */
#ifndef DCC_DAMAGE_H_
#define DCC_DAMAGE_H_

#include <array>
#include <vector>

#include "dcc.h"
#include "display-limits.h"
#include "red-catch-up.h"

#include "push-visibility.h"

struct Drawable;
struct RedDrawable;

/* Empty if there is no @surface. */
SpiceRect dcc_surface_bounds(const RedSurface *surface);

/* Initialises @region to the area on which @drawable draws. (Its region in the tree of drawings is
 * smaller, as areas that newer drawings cover are removed from it.) */
void dcc_drawing_region(const Drawable *drawable, QRegion *region);
void dcc_drawing_region(const RedDrawable *drawable, QRegion *region);

/* Whether @drawable is sent as a frame of a video. */
bool dcc_is_frame(DisplayChannelClient *dcc, const Drawable *drawable);

/* Whether @item changes pixels of the client, so that it can be dropped and become damage. */
bool dcc_is_drawing(DisplayChannelClient *dcc, const RedPipeItem *item);

/* To be called from the thread of the display only. */
class DccDamage
{
public:
    /* @dcc owns this, as part of its DccCatchUp. */
    explicit DccDamage(DisplayChannelClient *dcc);
    ~DccDamage();
    DccDamage(const DccDamage &) = delete;
    DccDamage &operator=(const DccDamage &) = delete;

    /* @changed of @surface becomes damage, because a drawing is not sent. If the client does not
     * have the surface, its creation is queued and all of it becomes damage. Ignores a surface
     * that the guest has destroyed. */
    void add(RedSurface *surface, const QRegion *changed);

    /* The client is sent a copy within the screen, see RedCatchUpArea::copied(). */
    void copied(const QRegion *dest, int dx, int dy);

    /* Whether the surface, or any surface, has damage that a refresh may send, which is damage that
     * the next frames of no video cover. */
    bool is_dirty(const RedSurface *surface) const;
    bool is_dirty() const;

    /* Whether the surface has any damage, ready or not, under a video or not. */
    bool has(uint32_t surface_id) const { return areas[surface_id] != nullptr; }

    /* All damage becomes ready, except where the next frames of a video draw. */
    void make_ready();
    /* Whether the surface has damage that take() may take. */
    bool is_ready(uint32_t surface_id) const;

    /* Take a piece of about @pixels; the screen goes before other surfaces. Returns false if
     * nothing is ready. */
    bool take(uint32_t pixels, uint32_t *surface_id, SpiceRect *piece);

    /* All damage of a surface, as rectangles; it has none any more. */
    std::vector<SpiceRect> take_all(uint32_t surface_id);

    /* The surface has no damage any more. */
    void forget(uint32_t surface_id);

private:
    DisplayChannelClient *const dcc;
    /* of each surface, or null */
    std::array<RedCatchUpArea *, NUM_SURFACES> areas;
    uint32_t n_areas = 0;
};

#include "pop-visibility.h"

#endif /* DCC_DAMAGE_H_ */
