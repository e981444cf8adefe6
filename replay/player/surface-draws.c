/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "surface-draws.h"

#include <glib.h>
#include <spice/enums.h>

#include "marker.h"

#define BITS 32

/* The library reads the image until it releases the drawable. */
typedef struct Draw {
    QXLDrawable drawable;       /* first, for its release info */
    QXLImage image;
} Draw;

/* at: how far from the upper left corner of the primary, both ways. */
static QXLCommandExt draw_new(uint32_t number, const QXLSurface *surface,
                              const QXLSurfaceCreate *primary, unsigned int at)
{
    Draw *draw = g_new0(Draw, 1);
    QXLDrawable *drawable = &draw->drawable;
    QXLCopy *copy = &drawable->u.copy;
    const QXLRect area = {
        .right = MIN(surface->width, primary->width - at),
        .bottom = MIN(surface->height, primary->height - at),
    };

    draw->image.descriptor.type = SPICE_IMAGE_TYPE_SURFACE;
    draw->image.descriptor.width = surface->width;
    draw->image.descriptor.height = surface->height;
    draw->image.surface_image.surface_id = number;

    drawable->release_info.id = marker_id(MARKER_NONE);
    drawable->effect = QXL_EFFECT_BLEND;
    drawable->type = QXL_DRAW_COPY;
    drawable->bbox = (QXLRect) { at, at, at + area.right, at + area.bottom };
    drawable->clip.type = SPICE_CLIP_TYPE_NONE;
    drawable->surfaces_dest[0] = number;
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
void surface_draws_push(const ReplayStream *stream, Display *display)
{
    const QXLSurfaceCreate *primary = replay_stream_primary(stream);
    unsigned int at = 0;

    if (surface_bits(primary->format) != BITS) {
        return;
    }
    for (uint32_t number = 1; number < RECORDING_SURFACES_MAX; number++) {
        const QXLSurface *surface = replay_stream_surface(stream, number);

        if (surface && surface_bits(surface->format) == BITS) {
            QXLCommandExt command = draw_new(number, surface, primary, at++ % MARKER_PRIMARY_MIN);

            display_push(display, &command, true);
        }
    }
}
