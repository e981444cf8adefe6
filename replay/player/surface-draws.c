/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "surface-draws.h"

#include <glib.h>
#include <spice/enums.h>

#include "marker.h"

#define BITS 32

typedef struct Surface {
    uint32_t number;            /* the server's */
    QXLSurface is;
} Surface;

struct SurfaceDraws {
    GArray *live;               /* Surface, in the order of their creation */
};

/* The library reads the image until it releases the drawable. */
typedef struct Draw {
    QXLDrawable drawable;       /* first, for marker_free */
    QXLImage image;
} Draw;

SurfaceDraws *surface_draws_new(void)
{
    SurfaceDraws *draws = g_new0(SurfaceDraws, 1);

    draws->live = g_array_new(false, false, sizeof(Surface));
    return draws;
}

void surface_draws_free(SurfaceDraws *draws)
{
    if (draws) {
        g_array_unref(draws->live);
        g_free(draws);
    }
}

static void forget(SurfaceDraws *draws, uint32_t number)
{
    for (unsigned int i = 0; i < draws->live->len; i++) {
        if (g_array_index(draws->live, Surface, i).number == number) {
            g_array_remove_index(draws->live, i);
            return;
        }
    }
}

void surface_draws_forget_all(SurfaceDraws *draws)
{
    g_array_set_size(draws->live, 0);
}

void surface_draws_note(SurfaceDraws *draws, const QXLCommandExt *command)
{
    const QXLSurfaceCmd *surface = (const QXLSurfaceCmd *) (uintptr_t) command->cmd.data;
    Surface created;

    if (command->cmd.type != QXL_CMD_SURFACE) {
        return;
    }
    forget(draws, surface->surface_id);
    if (surface->type == QXL_SURFACE_CMD_CREATE) {
        created = (Surface) { surface->surface_id, surface->u.surface_create };
        g_array_append_val(draws->live, created);
    }
}

/* at: how far from the upper left corner of the primary, both ways. */
static QXLCommandExt draw_new(const Surface *surface, const QXLSurfaceCreate *primary,
                              unsigned int at)
{
    Draw *draw = g_new0(Draw, 1);
    QXLDrawable *drawable = &draw->drawable;
    QXLCopy *copy = &drawable->u.copy;
    const QXLRect area = {
        .right = MIN(surface->is.width, primary->width - at),
        .bottom = MIN(surface->is.height, primary->height - at),
    };

    draw->image.descriptor.type = SPICE_IMAGE_TYPE_SURFACE;
    draw->image.descriptor.width = surface->is.width;
    draw->image.descriptor.height = surface->is.height;
    draw->image.surface_image.surface_id = surface->number;

    drawable->release_info.id = marker_id(MARKER_SURFACE);
    drawable->effect = QXL_EFFECT_BLEND;
    drawable->type = QXL_DRAW_COPY;
    drawable->bbox = (QXLRect) { at, at, at + area.right, at + area.bottom };
    drawable->clip.type = SPICE_CLIP_TYPE_NONE;
    drawable->surfaces_dest[0] = surface->number;
    drawable->surfaces_rects[0] = area;
    for (unsigned int i = 1; i < G_N_ELEMENTS(drawable->surfaces_dest); i++) {
        drawable->surfaces_dest[i] = -1;
    }
    copy->src_bitmap = (uintptr_t) &draw->image;
    copy->src_area = area;
    copy->rop_descriptor = SPICE_ROPD_OP_XOR;
    copy->scale_mode = SPICE_IMAGE_SCALE_MODE_NEAREST;
    return (QXLCommandExt) { .cmd = { .type = QXL_CMD_DRAW, .data = (uintptr_t) draw } };
}

/* Each a pixel further than the one before: two alike at one place would make nothing. */
void surface_draws_push(const SurfaceDraws *draws, const QXLSurfaceCreate *primary,
                        Display *display)
{
    unsigned int at = 0;

    if (surface_bits(primary->format) != BITS) {
        return;
    }
    for (unsigned int i = 0; i < draws->live->len; i++) {
        const Surface *surface = &g_array_index(draws->live, Surface, i);

        if (surface_bits(surface->is.format) == BITS) {
            QXLCommandExt command = draw_new(surface, primary, at % MARKER_PRIMARY_MIN);

            display_push(display, &command);
            at++;
        }
    }
}
