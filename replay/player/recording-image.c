/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording-image.h"

#include <spice/enums.h>
#include <spice/qxl_dev.h>
#include <string.h>

#define CHUNKS_MAX (1024 * 1024)

#define QUIC_HEADER_SIZE 20
#define QUIC_TYPE_MIN 2         /* 16 bits a pixel */
#define QUIC_TYPE_MAX 5         /* 32 bits with alpha */

typedef enum {
    ROLE_SOURCE,
    ROLE_MASK,
} ImageRole;

RecordingRect recording_rect(Recording *recording, const char *name)
{
    RecordingScan *scan = recording->scan;
    RecordingRect rect;

    scan_text(scan, "rect ");
    scan_text(scan, name);
    scan_text(scan, " ");
    rect.top = scan_number(scan, name, INT32_MIN, INT32_MAX);
    scan_text(scan, " ");
    rect.left = scan_number(scan, name, INT32_MIN, INT32_MAX);
    scan_text(scan, " ");
    rect.bottom = scan_number(scan, name, INT32_MIN, INT32_MAX);
    scan_text(scan, " ");
    rect.right = scan_number(scan, name, INT32_MIN, INT32_MAX);
    scan_text(scan, "\n");
    return rect;
}

void recording_rect_within(Recording *recording, uint64_t offset, const char *name,
                           const RecordingRect *rect, int64_t width, int64_t height)
{
    if (scan_failed(recording->scan)) {
        return;
    }
    if (rect->left < 0 || rect->top < 0 || rect->left > rect->right ||
        rect->top > rect->bottom || rect->right > width || rect->bottom > height) {
        scan_fail_at(recording->scan, offset, "%s: %d,%d to %d,%d is not within %" G_GINT64_FORMAT
                     "x%" G_GINT64_FORMAT, name, rect->left, rect->top, rect->right,
                     rect->bottom, width, height);
    }
}

static void chunks(Recording *recording, const char *name, uint64_t min, uint64_t max,
                   uint64_t step, GByteArray *keep)
{
    RecordingScan *scan = recording->scan;
    uint64_t start = scan_offset(scan);
    uint64_t more, total;
    uint64_t left;

    scan_text(scan, "data_chunks ");
    more = scan_number(scan, "data_chunks", 0, CHUNKS_MAX);
    scan_text(scan, " ");
    total = scan_unsigned(scan, "data_chunks", SCAN_BLOCK_MAX);
    scan_text(scan, "\n");
    if (!scan_failed(scan) && (total < min || total > max)) {
        scan_fail_at(scan, start, "%s holds %" G_GUINT64_FORMAT " bytes, not %s%" G_GUINT64_FORMAT,
                     name, total, min == max ? "" : total < min ? "at least " : "at most ",
                     total < min ? min : max);
    }
    left = total;
    for (uint64_t i = 0; i <= more && !scan_failed(scan); i++) {
        uint64_t size;

        start = scan_offset(scan);
        size = scan_block(scan, name, i == more ? left : 0, left, keep);
        left -= size;
        if (step > 0 && (size == 0 || size % step != 0)) {
            scan_fail_at(scan, start, "%s: %" G_GUINT64_FORMAT " bytes are not lines of %"
                         G_GUINT64_FORMAT, name, size, step);
        }
    }
    recording->event->block_bytes += total;
}

void recording_chunks(Recording *recording, const char *name, uint64_t min, uint64_t max,
                      GByteArray *keep)
{
    chunks(recording, name, min, max, 0, keep);
}

static void palette(Recording *recording, uint32_t format)
{
    static const unsigned int entries_max[] = {
        [SPICE_BITMAP_FMT_1BIT_LE] = 2,
        [SPICE_BITMAP_FMT_1BIT_BE] = 2,
        [SPICE_BITMAP_FMT_4BIT_LE] = 16,
        [SPICE_BITMAP_FMT_4BIT_BE] = 16,
        [SPICE_BITMAP_FMT_8BIT] = 256,
    };
    RecordingScan *scan = recording->scan;
    bool is_indexed = format < G_N_ELEMENTS(entries_max);
    unsigned int max = is_indexed ? entries_max[format] : 256;
    unsigned int min = max == 2 ? 2 : 1;    /* two colours are looked up unasked */
    unsigned int count = scan_field(scan, "qp.num_ents", min, max);

    scan_unsigned_field(scan, "unique", UINT64_MAX);
    for (unsigned int i = 0; i < count && !scan_failed(scan); i++) {
        scan_field(scan, "ents", INT32_MIN, INT32_MAX);
    }
}

static bool format_is_indexed(uint32_t format)
{
    return format <= SPICE_BITMAP_FMT_8BIT;
}

/*
 * spice-common, in server and client alike, aborts over what it cannot
 * convert: the little-endian formats, and palettes for odd surfaces.
 */
static bool can_be_drawn(const Recording *recording, uint32_t format)
{
    if (format == SPICE_BITMAP_FMT_1BIT_LE || format == SPICE_BITMAP_FMT_4BIT_LE) {
        return false;
    }
    if (!format_is_indexed(format)) {
        return true;
    }
    switch (recording->draw.target->format) {
    case SPICE_SURFACE_FMT_32_xRGB:
    case SPICE_SURFACE_FMT_32_ARGB:
    case SPICE_SURFACE_FMT_16_555:
        return true;
    default:
        return false;
    }
}

typedef struct Bitmap {
    uint32_t format, flags, width, height, stride;
    bool has_palette;
} Bitmap;

static void check_bitmap(Recording *recording, uint64_t start, const Bitmap *bitmap,
                         const RecordingImage *image, ImageRole role)
{
    static const unsigned int bits_per_pixel[] = { 0, 1, 1, 4, 4, 8, 16, 24, 32, 32, 8 };
    RecordingScan *scan = recording->scan;
    uint64_t size = (uint64_t) bitmap->stride * bitmap->height;

    if (bitmap->width != image->width || bitmap->height != image->height) {
        scan_fail_at(scan, start, "the bitmap is %ux%u, its descriptor says %ux%u",
                     bitmap->width, bitmap->height, image->width, image->height);
    } else if (bitmap->stride < (bitmap->width * bits_per_pixel[bitmap->format] + 7) / 8) {
        scan_fail_at(scan, start, "a stride of %u is too small for %u pixels", bitmap->stride,
                     bitmap->width);
    } else if (size > SCAN_BLOCK_MAX) {
        scan_fail_at(scan, start, "a bitmap of %" G_GUINT64_FORMAT " bytes is absurd", size);
    } else if (role != ROLE_MASK && !can_be_drawn(recording, bitmap->format)) {
        scan_fail_at(scan, start, "no program can draw a bitmap of format %u here",
                     bitmap->format);
    } else if (role != ROLE_MASK && format_is_indexed(bitmap->format) && !bitmap->has_palette) {
        scan_fail_at(scan, start, "the bitmap needs a palette and has none");
    }
}

static void bitmap_image(Recording *recording, const RecordingImage *image, ImageRole role)
{
    RecordingScan *scan = recording->scan;
    RecordingEvent *event = recording->event;
    uint64_t start = scan_offset(scan);
    uint32_t format_max = role == ROLE_MASK ? SPICE_BITMAP_FMT_1BIT_BE : SPICE_BITMAP_FMT_8BIT_A;
    Bitmap bitmap;
    uint64_t size;

    bitmap.format = scan_field(scan, "bitmap.format", SPICE_BITMAP_FMT_1BIT_LE, format_max);
    bitmap.flags = scan_field(scan, "bitmap.flags", 0, UINT8_MAX);
    bitmap.width = scan_field(scan, "bitmap.x", 1, RECORDING_SIDE_MAX);
    bitmap.height = scan_field(scan, "bitmap.y", 1, RECORDING_SIDE_MAX);
    bitmap.stride = scan_field(scan, "bitmap.stride", 1, SCAN_BLOCK_MAX);
    bitmap.has_palette = scan_field(scan, "has_palette", 0, 1);
    if (scan_failed(scan)) {
        return;
    }
    check_bitmap(recording, start, &bitmap, image, role);
    if (bitmap.has_palette) {
        palette(recording, bitmap.format);
    }
    size = (uint64_t) bitmap.stride * bitmap.height;
    if (bitmap.flags & QXL_BITMAP_DIRECT) {
        scan_block(scan, "image_data_flat", size, size, NULL);
        event->block_bytes += size;
    } else {
        /* the server's encoders abort over a chunk that is not whole lines */
        chunks(recording, "bitmap.data", size, size, bitmap.stride, NULL);
    }
}

static uint32_t little_endian_word(const uint8_t *bytes)
{
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t) bytes[3] << 24;
}

static void quic_image(Recording *recording, const RecordingImage *image)
{
    RecordingScan *scan = recording->scan;
    GByteArray *data = recording->block;
    uint64_t size = scan_field(scan, "quic.data_size", QUIC_HEADER_SIZE, SCAN_BLOCK_MAX);
    uint64_t start = scan_offset(scan);
    uint32_t type;

    g_byte_array_set_size(data, 0);
    recording_chunks(recording, "quic.data", size, size, data);
    if (scan_failed(scan)) {
        return;
    }
    type = little_endian_word(data->data + 8);
    if (memcmp(data->data, "QUIC\0\0\0\0", 8) != 0 || image->width == 0 ||
        image->height == 0 || type < QUIC_TYPE_MIN ||
        type > QUIC_TYPE_MAX || little_endian_word(data->data + 12) != image->width ||
        little_endian_word(data->data + 16) != image->height) {
        scan_fail_at(scan, start, "the QUIC data does not start as a picture of %ux%u",
                     image->width, image->height);
    }
}

static bool is_used(const RecordingDraw *draw, int64_t id)
{
    for (int i = 0; i < DRAW_USES_MAX; i++) {
        if (draw->uses[i] == id) {
            return true;
        }
    }
    return false;
}

/* The whole of a surface. Drivers leave the descriptor's size unset. */
static void surface_image(Recording *recording, RecordingImage *image)
{
    RecordingScan *scan = recording->scan;
    const RecordingDraw *draw = &recording->draw;
    uint64_t start = scan_offset(scan);
    int64_t id = scan_field(scan, "surface_image.surface_id", INT32_MIN, INT32_MAX);
    const RecordingSurface *surface = surfaces_use(&recording->surfaces, scan, start, id);

    if (!surface) {
        return;
    }
    image->width = surface->width;
    image->height = surface->height;
    if (!is_used(draw, id)) {
        /* the server would send a message with a hole in it */
        scan_fail_at(scan, start, "surface %u is not among the surfaces_dest", (uint32_t) id);
    } else if (draw->type != QXL_DRAW_COMPOSITE && surface_bits(surface->format) !=
               surface_bits(draw->target->format)) {
        scan_fail_at(scan, start, "surface %u has another depth than the one drawn on",
                     (uint32_t) id);
    }
}

static RecordingImage optional_image(Recording *recording, ImageRole role)
{
    RecordingScan *scan = recording->scan;
    RecordingImage image = { 0, };
    uint64_t start;

    image.present = scan_field(scan, "image", 0, 1);
    if (scan_failed(scan) || !image.present) {
        return image;
    }
    scan_unsigned_field(scan, "descriptor.id", UINT64_MAX);
    start = scan_offset(scan);
    image.type = scan_field(scan, "descriptor.type", 0, UINT8_MAX);
    scan_field(scan, "descriptor.flags", 0, UINT8_MAX);
    image.width = scan_field(scan, "descriptor.width", 0, RECORDING_SIDE_MAX);
    image.height = scan_field(scan, "descriptor.height", 0, RECORDING_SIDE_MAX);
    if (scan_failed(scan)) {
        return image;
    }
    if (role == ROLE_MASK && image.type != SPICE_IMAGE_TYPE_BITMAP) {
        scan_fail_at(scan, start, "a mask is a bitmap, not a picture of type %u", image.type);
        return image;
    }
    switch (image.type) {
    case SPICE_IMAGE_TYPE_BITMAP:
        bitmap_image(recording, &image, role);
        break;
    case SPICE_IMAGE_TYPE_QUIC:
        quic_image(recording, &image);
        break;
    case SPICE_IMAGE_TYPE_SURFACE:
        surface_image(recording, &image);
        break;
    default:
        scan_fail_at(scan, start, "pictures of type %u cannot be recorded", image.type);
    }
    return image;
}

RecordingImage recording_image(Recording *recording)
{
    const RecordingDraw *draw = &recording->draw;
    uint64_t start = scan_offset(recording->scan);
    RecordingImage image = optional_image(recording, ROLE_SOURCE);

    if (image.present || scan_failed(recording->scan)) {
        return image;
    }
    if (!draw->has_self_bitmap) {
        scan_fail_at(recording->scan, start, "the command needs a picture and has none");
    }
    image.width = draw->self_width;
    image.height = draw->self_height;
    return image;
}

void recording_mask(Recording *recording)
{
    RecordingScan *scan = recording->scan;

    scan_field(scan, "flags", 0, UINT8_MAX);
    recording_point(recording, NULL, NULL);
    optional_image(recording, ROLE_MASK);
}

void recording_point(Recording *recording, int32_t *x, int32_t *y)
{
    RecordingScan *scan = recording->scan;
    int32_t value;

    scan_text(scan, "point ");
    value = scan_number(scan, "point", INT32_MIN, INT32_MAX);
    if (x) {
        *x = value;
    }
    scan_text(scan, " ");
    value = scan_number(scan, "point", INT32_MIN, INT32_MAX);
    if (y) {
        *y = value;
    }
    scan_text(scan, "\n");
}

void recording_point16(Recording *recording, const char *name)
{
    RecordingScan *scan = recording->scan;

    scan_text(scan, name);
    scan_text(scan, " ");
    scan_number(scan, name, INT16_MIN, INT16_MAX);
    scan_text(scan, " ");
    scan_number(scan, name, INT16_MIN, INT16_MAX);
    scan_text(scan, "\n");
}

void recording_brush(Recording *recording)
{
    RecordingScan *scan = recording->scan;
    int64_t type = scan_field(scan, "type", SPICE_BRUSH_TYPE_NONE, SPICE_BRUSH_TYPE_PATTERN);

    if (type == SPICE_BRUSH_TYPE_SOLID) {
        scan_field(scan, "u.color", INT32_MIN, INT32_MAX);
    } else if (type == SPICE_BRUSH_TYPE_PATTERN) {
        recording_image(recording);
        recording_point(recording, NULL, NULL);
    }
}
