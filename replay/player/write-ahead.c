/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "write-ahead.h"

#include <glib.h>
#include <spice/enums.h>
#include <stdbool.h>
#include <string.h>

#include "recording-surfaces.h"

#define BYTES 4                 /* per pixel */

static const void *at(QXLPHYSICAL address)
{
    return (const void *) (uintptr_t) address;
}

/* The bytes of a chain of chunks behind each other. To be freed. */
static uint8_t *join(const QXLDataChunk *chunk, size_t size)
{
    uint8_t *data = g_malloc0(size);
    size_t used = 0;

    for (; chunk && used < size; chunk = at(chunk->next_chunk)) {
        size_t part = MIN(chunk->data_size, size - used);

        memcpy(data + used, chunk->data, part);
        used += part;
    }
    return data;
}

static QXLRect common_part(QXLRect one, QXLRect other)
{
    return (QXLRect) {
        .top = MAX(one.top, other.top),
        .left = MAX(one.left, other.left),
        .bottom = MIN(one.bottom, other.bottom),
        .right = MIN(one.right, other.right),
    };
}

static bool is_same_size(const QXLRect *one, const QXLRect *other)
{
    return (int64_t) one->right - one->left == (int64_t) other->right - other->left &&
        (int64_t) one->bottom - one->top == (int64_t) other->bottom - other->top;
}

static bool is_written(const QXLSurfaceCreate *primary, const QXLDrawable *drawable)
{
    const QXLCopy *copy = &drawable->u.copy;
    const QXLImage *image = at(copy->src_bitmap);
    const QXLRect *area = &copy->src_area;

    return surface_bits(primary->format) == BYTES * 8 && drawable->surface_id == 0 &&
        drawable->type == QXL_DRAW_COPY && copy->rop_descriptor == SPICE_ROPD_OP_PUT &&
        !copy->mask.bitmap && image && image->descriptor.type == SPICE_IMAGE_TYPE_BITMAP &&
        (image->bitmap.format == SPICE_BITMAP_FMT_32BIT || image->bitmap.format == SPICE_BITMAP_FMT_RGBA) &&
        is_same_size(&drawable->bbox, area) && area->left >= 0 && area->top >= 0 &&
        area->right <= (int64_t) image->bitmap.x && area->bottom <= (int64_t) image->bitmap.y &&
        image->bitmap.stride / BYTES >= image->bitmap.x;
}

/* from: the upper left pixel of the bounds in the bitmap; step: bytes from one line to the next. */
static void write_part(const QXLSurfaceCreate *primary, const QXLRect *bounds, QXLRect part,
                       const uint8_t *from, int64_t step)
{
    const QXLRect screen = { .right = primary->width, .bottom = primary->height };
    uint8_t *first = (uint8_t *) (uintptr_t) primary->mem;

    if (primary->stride < 0) {
        first -= (int64_t) primary->stride * (primary->height - 1);
    }
    part = common_part(part, screen);
    for (int y = part.top; y < part.bottom && part.left < part.right; y++) {
        memcpy(first + (int64_t) primary->stride * y + part.left * BYTES,
               from + step * (y - bounds->top) + (part.left - bounds->left) * BYTES,
               (part.right - part.left) * BYTES);
    }
}

void write_ahead(const QXLSurfaceCreate *primary, const QXLCommandExt *command)
{
    const QXLDrawable *drawable = at(command->cmd.data);

    if (!primary || command->cmd.type != QXL_CMD_DRAW || !is_written(primary, drawable)) {
        return;
    }

    const QXLBitmap *bitmap = &((const QXLImage *) at(drawable->u.copy.src_bitmap))->bitmap;
    const QXLRect *area = &drawable->u.copy.src_area;
    const bool top_down = bitmap->flags & QXL_BITMAP_TOP_DOWN;
    const size_t size = (size_t) bitmap->stride * bitmap->y;
    uint8_t *joined = bitmap->flags & QXL_BITMAP_DIRECT ? NULL : join(at(bitmap->data), size);
    const uint8_t *data = joined ? joined : at(bitmap->data);
    const uint32_t line = top_down ? (uint32_t) area->top : bitmap->y - 1 - (uint32_t) area->top;
    const uint8_t *from = data + (size_t) bitmap->stride * line + area->left * BYTES;
    const int64_t step = top_down ? bitmap->stride : -(int64_t) bitmap->stride;

    if (drawable->clip.type == SPICE_CLIP_TYPE_RECTS) {
        const QXLClipRects *clip = at(drawable->clip.data);
        QXLRect *rects = (QXLRect *) join(&clip->chunk, clip->num_rects * sizeof(QXLRect));

        for (uint32_t i = 0; i < clip->num_rects; i++) {
            write_part(primary, &drawable->bbox, common_part(drawable->bbox, rects[i]), from, step);
        }
        g_free(rects);
    } else {
        write_part(primary, &drawable->bbox, drawable->bbox, from, step);
    }
    g_free(joined);
}
