/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording-shape.h"

#include <spice/enums.h>
#include <spice/qxl_dev.h>
#include <string.h>

#include "recording-image.h"

#define CLIP_RECTS_MAX (SCAN_KEEP_MAX / sizeof(QXLRect))

void recording_clip_rects(Recording *recording)
{
    uint64_t count = scan_field(recording->scan, "num_rects", 0, CLIP_RECTS_MAX);
    uint64_t size = count * sizeof(QXLRect);

    recording_chunks(recording, "clip_rects", size, size, NULL);
}

/* One segment. Returns its size, 0 with a fault noted if it cannot be one. */
static size_t check_segment(RecordingScan *scan, uint64_t start, const uint8_t *data, size_t left)
{
    QXLPathSeg segment;
    uint32_t points;

    if (left < sizeof(segment)) {
        scan_fail_at(scan, start, "path: a segment is cut short");
        return 0;
    }
    memcpy(&segment, data, sizeof(segment));
    left -= sizeof(segment);
    if (segment.count > left / sizeof(QXLPointFix)) {
        scan_fail_at(scan, start, "path: a segment of %u points does not fit", segment.count);
        return 0;
    }
    points = segment.count;
    if (segment.flags & QXL_PATH_BEGIN && points > 0) {
        points--;
    } else if (segment.flags & QXL_PATH_BEGIN) {
        scan_fail_at(scan, start, "path: a segment begins without a point");
        return 0;
    }
    if (segment.flags & QXL_PATH_BEZIER && points % 3 != 0) {
        scan_fail_at(scan, start, "path: %u points do not make curves", points);
        return 0;
    }
    return sizeof(segment) + segment.count * sizeof(QXLPointFix);
}

void recording_path(Recording *recording)
{
    RecordingScan *scan = recording->scan;
    GByteArray *data = recording->block;
    uint64_t start = scan_offset(scan);
    QXLPathSeg first;
    size_t at = 0;

    g_byte_array_set_size(data, 0);
    recording_chunks(recording, "path", sizeof(first), SCAN_KEEP_MAX, data);
    if (scan_failed(scan)) {
        return;
    }
    memcpy(&first, data->data, sizeof(first));
    if (!(first.flags & QXL_PATH_BEGIN)) {
        scan_fail_at(scan, start, "path: the first segment does not begin a line");
        return;
    }
    while (at < data->len) {
        size_t size = check_segment(scan, start, data->data + at, data->len - at);

        if (size == 0) {
            return;
        }
        at += size;
    }
}

/* Dashes that are all of length 0 would never get a line drawn. */
static void check_dashes(RecordingScan *scan, uint64_t start, const GByteArray *data)
{
    unsigned int sum = 0;

    for (size_t at = 0; at < data->len; at += sizeof(QXLFIXED)) {
        QXLFIXED length;

        memcpy(&length, data->data + at, sizeof(length));
        sum += (uint8_t) ((length + 8) >> 4);
    }
    if (sum == 0) {
        scan_fail_at(scan, start, "style: every dash has length 0");
    }
}

void recording_line_style(Recording *recording)
{
    RecordingScan *scan = recording->scan;
    GByteArray *data = recording->block;
    uint32_t flags = scan_field(scan, "attr.flags", 0, UINT8_MAX);
    uint64_t start, size;

    if (!(flags & SPICE_LINE_FLAGS_STYLED)) {
        return;
    }
    size = scan_field(scan, "attr.style_nseg", 1, UINT8_MAX) * sizeof(QXLFIXED);
    start = scan_offset(scan);
    g_byte_array_set_size(data, 0);
    scan_block(scan, "style", size, size, data);
    recording->event->block_bytes += size;
    if (!scan_failed(scan)) {
        check_dashes(scan, start, data);
    }
}

typedef struct GlyphBox {
    int64_t left, top, right, bottom;
} GlyphBox;

/* One glyph, added to the box around all. Returns its size, 0 with a fault noted. */
static size_t check_glyph(RecordingScan *scan, uint64_t start, const uint8_t *data, size_t left,
                          unsigned int bits, GlyphBox *box)
{
    QXLRasterGlyph glyph;
    uint64_t size;
    int64_t x, y;

    if (left < sizeof(glyph)) {
        scan_fail_at(scan, start, "string: a glyph is cut short");
        return 0;
    }
    memcpy(&glyph, data, sizeof(glyph));
    size = (uint64_t) glyph.height * ((glyph.width * bits + 7) / 8);
    if (size > left - sizeof(glyph)) {
        scan_fail_at(scan, start, "string: a glyph of %ux%u does not fit", glyph.width,
                     glyph.height);
        return 0;
    }
    x = (int64_t) glyph.render_pos.x + glyph.glyph_origin.x;
    y = (int64_t) glyph.render_pos.y + glyph.glyph_origin.y;
    box->left = MIN(box->left, x);
    box->top = MIN(box->top, y);
    box->right = MAX(box->right, x + glyph.width);
    box->bottom = MAX(box->bottom, y + glyph.height);
    return sizeof(glyph) + size;
}

static void check_glyphs(RecordingScan *scan, uint64_t start, const GByteArray *data,
                         unsigned int bits, unsigned int length)
{
    GlyphBox box = { INT64_MAX, INT64_MAX, INT64_MIN, INT64_MIN };
    unsigned int count = 0;
    size_t at = 0;

    while (at < data->len) {
        size_t size = check_glyph(scan, start, data->data + at, data->len - at, bits, &box);

        if (size == 0) {
            return;
        }
        at += size;
        count++;
    }
    if (count != length) {
        scan_fail_at(scan, start, "string: %u glyphs where %u are promised", count, length);
    } else if (box.left == box.right || box.top == box.bottom) {
        scan_fail_at(scan, start, "string: the glyphs are empty");
    } else if (box.left < INT32_MIN || box.top < INT32_MIN || box.right > INT32_MAX ||
               box.bottom > INT32_MAX || box.right - box.left > RECORDING_SIDE_MAX ||
               box.bottom - box.top > RECORDING_SIDE_MAX) {
        scan_fail_at(scan, start, "string: the glyphs lie absurdly far apart");
    }
}

static unsigned int glyph_bits(uint32_t flags)
{
    if (flags & SPICE_STRING_FLAGS_RASTER_A1) {
        return 1;
    }
    if (flags & SPICE_STRING_FLAGS_RASTER_A4) {
        return 4;
    }
    return flags & SPICE_STRING_FLAGS_RASTER_A8 ? 8 : 0;
}

void recording_string(Recording *recording)
{
    RecordingScan *scan = recording->scan;
    GByteArray *data = recording->block;
    uint64_t start = scan_offset(scan);
    uint64_t size = scan_field(scan, "data_size", 0, SCAN_KEEP_MAX);
    unsigned int length = scan_field(scan, "length", 1, UINT16_MAX);
    uint32_t flags = scan_field(scan, "flags", 0, UINT16_MAX);

    g_byte_array_set_size(data, 0);
    recording_chunks(recording, "string", size, size, data);
    if (scan_failed(scan)) {
        return;
    }
    if (glyph_bits(flags) == 0) {
        scan_fail_at(scan, start, "string: flags %u give no glyph depth", flags);
        return;
    }
    check_glyphs(scan, start, data, glyph_bits(flags), length);
}
