/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The damage of a display client: where its surfaces do not show what the server's do, and the
 * messages that have not been sent for that. Part of catch-up, see dcc-catch-up.h. */
#ifndef DCC_DAMAGE_H_
#define DCC_DAMAGE_H_

#include <array>
#include <vector>

#include "dcc.h"
#include "display-limits.h"
#include "red-catch-up.h"

#include "push-visibility.h"

struct Drawable;

/* Empty if there is no @surface. */
SpiceRect dcc_surface_bounds(const RedSurface *surface);

/* Initialises @region to where @drawable draws. The region in the tree of drawings is smaller: it
 * lacks what newer drawings cover. */
void dcc_drawing_region(const Drawable *drawable, QRegion *region);

/* Initialises @region to where the client has videos, which are sent as such. */
void dcc_video_region(DisplayChannelClient *dcc, QRegion *region);

/* Whether it is sent as a frame of a video. */
bool dcc_is_frame(DisplayChannelClient *dcc, const Drawable *drawable);

/* Whether it changes pixels of the client, so that it can be dropped for damage. */
bool dcc_is_drawing(DisplayChannelClient *dcc, const RedPipeItem *item);

/* To be called from the thread of the display only. */
class DccDamage
{
public:
    explicit DccDamage(DisplayChannelClient *dcc);
    ~DccDamage();
    DccDamage(const DccDamage &) = delete;
    DccDamage &operator=(const DccDamage &) = delete;

    /* The client is not sent what changed @surface in @changed at @since (microseconds). Queues
     * the creation of a surface that the client does not have; all of it is damage then. Ignores
     * a surface that the guest has destroyed. */
    void add(RedSurface *surface, const QRegion *changed, uint64_t since);

    /* The client is sent a copy within the screen, see RedCatchUpArea::copied(). */
    void copied(const QRegion *dest, int dx, int dy);

    /* Whether the surface, or any, has damage that a refresh may send: not under a video. */
    bool is_dirty(const RedSurface *surface) const;
    bool is_dirty() const;

    /* Whether it has any, ready or not, under a video or not. */
    bool has(uint32_t surface_id) const { return areas[surface_id] != nullptr; }

    /* All damage becomes ready, except under a video. */
    void make_ready();
    bool is_ready(uint32_t surface_id) const;

    /* Take a piece of about @pixels, the screen's first. False if nothing is ready. */
    bool take(uint32_t pixels, uint32_t *surface_id, SpiceRect *piece);

    /* All damage of a surface, as rectangles. */
    std::vector<SpiceRect> take_all(uint32_t surface_id);

    void forget(uint32_t surface_id);

    /* The time of the oldest change that was not taken, UINT64_MAX: none. */
    uint64_t get_oldest() const;

private:
    DisplayChannelClient *const dcc;
    /* of each surface, or null */
    std::array<RedCatchUpArea *, NUM_SURFACES> areas;
    uint32_t n_areas = 0;
};

#include "pop-visibility.h"

#endif /* DCC_DAMAGE_H_ */
