/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "marker.h"

#include <glib.h>
#include <spice/enums.h>

/* Recorded commands carry an aligned address here, so an odd number is a marker's. */
#define MARKER_TAG 1

#define NUMBER_SIDE 60
#define SIDE_MIN 2

QXLRect marker_rect(MarkerKind kind, unsigned int number)
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
    case MARKER_POINTER:
    case MARKER_SURFACE:
        break;          /* have none */
    }
    rect.left = left;
    rect.top = 1;
    rect.right = rect.left + width;
    rect.bottom = rect.top + height;
    return rect;
}

uint64_t marker_id(MarkerKind kind)
{
    return (uint64_t) kind << 1 | MARKER_TAG;
}

static QXLDrawable *marker_drawable(MarkerKind kind, unsigned int number)
{
    QXLDrawable *drawable = g_new0(QXLDrawable, 1);

    drawable->release_info.id = marker_id(kind);
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
    return drawable;
}

static QXLCursorCmd *marker_move(unsigned int number)
{
    QXLCursorCmd *move = g_new0(QXLCursorCmd, 1);

    move->release_info.id = marker_id(MARKER_POINTER);
    move->type = QXL_CURSOR_MOVE;
    move->u.position.x = number % MARKER_POINTERS;
    move->u.position.y = MARKER_POINTER_TOP;
    return move;
}

QXLCommandExt marker_new(MarkerKind kind, unsigned int number)
{
    QXLCommandExt command = { .cmd = { .type = QXL_CMD_DRAW } };

    if (kind == MARKER_POINTER) {
        command.cmd.type = QXL_CMD_CURSOR;
        command.cmd.data = (uintptr_t) marker_move(number);
    } else {
        command.cmd.data = (uintptr_t) marker_drawable(kind, number);
    }
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
    /* the first member of QXLDrawable and of QXLCursorCmd */
    g_free(info);
}
