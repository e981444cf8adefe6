/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "marker.h"

#include <glib.h>
#include <spice/enums.h>

/* Recorded commands carry an aligned address here, so an odd number is a marker's. */
#define MARKER_TAG 1

#define NUMBER_SIDE 60
#define SIDE_MIN 2

static QXLRect marker_rect(MarkerKind kind, unsigned int number)
{
    unsigned int width = 63, height = 63, left = 5;
    QXLRect rect;

    switch (kind) {
    case MARKER_PROBE:
        left = 1;
        width = SIDE_MIN + number % NUMBER_SIDE;
        height = SIDE_MIN + number / NUMBER_SIDE % NUMBER_SIDE;
        break;
    case MARKER_PAUSE:
        left = 5;
        width = SIDE_MIN + number % NUMBER_SIDE;
        break;
    case MARKER_END:
        left = 3;
        height = 61;
        break;
    }
    rect.left = left;
    rect.top = 1;
    rect.right = rect.left + width;
    rect.bottom = rect.top + height;
    return rect;
}

QXLCommandExt marker_new(MarkerKind kind, unsigned int number)
{
    QXLDrawable *drawable = g_new0(QXLDrawable, 1);
    QXLCommandExt command = {
        .cmd = {
            .type = QXL_CMD_DRAW,
            .data = (uintptr_t) drawable,
        },
    };

    drawable->release_info.id = (uint64_t) kind << 1 | MARKER_TAG;
    drawable->surface_id = 0;
    drawable->effect = QXL_EFFECT_BLEND;
    drawable->type = QXL_DRAW_FILL;
    drawable->bbox = marker_rect(kind, number);
    drawable->clip.type = SPICE_CLIP_TYPE_NONE;
    for (unsigned int i = 0; i < G_N_ELEMENTS(drawable->surfaces_dest); i++) {
        drawable->surfaces_dest[i] = -1;
    }
    drawable->u.fill.brush.type = SPICE_BRUSH_TYPE_SOLID;
    drawable->u.fill.brush.u.color = 0;
    drawable->u.fill.rop_descriptor = SPICE_ROPD_OP_XOR;
    return command;
}

bool marker_is_marker(const QXLReleaseInfo *info)
{
    return info->id & MARKER_TAG;
}

MarkerKind marker_kind(const QXLReleaseInfo *info)
{
    return info->id >> 1;
}

void marker_free(QXLReleaseInfo *info)
{
    /* the first member of QXLDrawable */
    g_free(info);
}
