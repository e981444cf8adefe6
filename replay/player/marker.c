/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "marker.h"

#include <glib.h>
#include <spice/enums.h>

QXLCommandExt marker_new(MarkerKind kind, unsigned int number)
{
    const MarkerArea area = marker_area(kind, number);
    QXLDrawable *drawable = g_new0(QXLDrawable, 1);

    drawable->release_info.id = marker_id(kind);
    drawable->surface_id = 0;
    drawable->effect = QXL_EFFECT_BLEND;
    drawable->type = QXL_DRAW_FILL;
    drawable->bbox = (QXLRect) {
        .left = area.left,
        .top = area.top,
        .right = area.left + area.width,
        .bottom = area.top + area.height,
    };
    drawable->clip.type = SPICE_CLIP_TYPE_NONE;
    for (unsigned int i = 0; i < G_N_ELEMENTS(drawable->surfaces_dest); i++) {
        drawable->surfaces_dest[i] = -1;
    }
    drawable->u.fill.brush.type = SPICE_BRUSH_TYPE_SOLID;
    drawable->u.fill.brush.u.color = 0;
    drawable->u.fill.rop_descriptor = SPICE_ROPD_OP_XOR;
    return (QXLCommandExt) { .cmd = { .type = QXL_CMD_DRAW, .data = (uintptr_t) drawable } };
}
