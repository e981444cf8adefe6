/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording-draw.h"

#include <spice/enums.h>
#include <spice/qxl_dev.h>

#include "recording-image.h"
#include "recording-shape.h"

static void rop(Recording *recording)
{
    scan_field(recording->scan, "rop_descriptor", 0, UINT16_MAX);
}

static void scale_mode(Recording *recording)
{
    scan_field(recording->scan, "scale_mode", SPICE_IMAGE_SCALE_MODE_INTERPOLATE,
               SPICE_IMAGE_SCALE_MODE_NEAREST);
}

/* A picture and which part of it is used. */
static void source(Recording *recording)
{
    RecordingImage image = recording_image(recording);
    uint64_t start = scan_offset(recording->scan);
    RecordingRect area = recording_rect(recording, "src_area");

    recording_rect_within(recording, start, "src_area", &area, image.width, image.height);
    if (!scan_failed(recording->scan) && (area.left == area.right || area.top == area.bottom)) {
        scan_fail_at(recording->scan, start, "src_area: nothing cannot be scaled");
    }
}

static void draw_fill(Recording *recording)
{
    recording_brush(recording);
    rop(recording);
    recording_mask(recording);
}

static void draw_opaque(Recording *recording)
{
    source(recording);
    recording_brush(recording);
    rop(recording);
    scale_mode(recording);
    recording_mask(recording);
}

/* COPY and BLEND */
static void draw_copy(Recording *recording)
{
    source(recording);
    rop(recording);
    scale_mode(recording);
    recording_mask(recording);
}

/*
 * A driver that has not noticed a change of mode draws beyond the new primary.
 * The server drops such a command as a whole.
 */
static bool is_outside(const RecordingRect *box, const RecordingSurface *target)
{
    return box->left < 0 || box->top < 0 || box->right > (int64_t) target->width ||
        box->bottom > (int64_t) target->height;
}

static void draw_copy_bits(Recording *recording, const RecordingRect *box)
{
    const RecordingSurface *target = recording->draw.target;
    uint64_t start = scan_offset(recording->scan);
    int64_t width = (int64_t) box->right - box->left;
    int64_t height = (int64_t) box->bottom - box->top;
    int32_t x = 0, y = 0;

    recording_point(recording, &x, &y);
    if (scan_failed(recording->scan) || is_outside(box, target)) {
        return;
    }
    if (x < 0 || y < 0 || x + width > target->width || y + height > target->height) {
        scan_fail_at(recording->scan, start, "the source at %d,%d is not within the surface", x, y);
    }
}

static void draw_transparent(Recording *recording)
{
    source(recording);
    scan_field(recording->scan, "src_color", INT32_MIN, INT32_MAX);
    scan_field(recording->scan, "true_color", INT32_MIN, INT32_MAX);
}

static void draw_alpha_blend(Recording *recording)
{
    scan_field(recording->scan, "alpha_flags", 0, UINT16_MAX);
    scan_field(recording->scan, "alpha", 0, UINT8_MAX);
    source(recording);
}

/* Whether the result of a ROP3 code depends on this input: 1 destination, 2 source, 4 pattern. */
static bool rop3_depends_on(unsigned int code, unsigned int input)
{
    for (unsigned int inputs = 0; inputs < 8; inputs++) {
        if ((code >> inputs & 1) != (code >> (inputs ^ input) & 1)) {
            return true;
        }
    }
    return false;
}

/* spice-common has only the codes that need all three inputs, and aborts over others. */
static void draw_rop3(Recording *recording)
{
    RecordingScan *scan = recording->scan;
    unsigned int bits = surface_bits(recording->draw.target->format);
    uint64_t start;
    unsigned int code;

    source(recording);
    recording_brush(recording);
    start = scan_offset(scan);
    code = scan_field(scan, "rop3", 0, UINT8_MAX);
    if (!scan_failed(scan) && !(rop3_depends_on(code, 1) && rop3_depends_on(code, 2) &&
                                rop3_depends_on(code, 4) && bits >= 16)) {
        scan_fail_at(scan, start, "no program can draw ROP3 %u on %u bits", code, bits);
    }
    scale_mode(recording);
    recording_mask(recording);
}

static void draw_stroke(Recording *recording)
{
    RecordingScan *scan = recording->scan;

    recording_path(recording);
    recording_line_style(recording);
    recording_brush(recording);
    scan_field(scan, "fore_mode", 0, UINT16_MAX);
    scan_field(scan, "back_mode", 0, UINT16_MAX);
}

static void draw_text(Recording *recording)
{
    RecordingScan *scan = recording->scan;
    RecordingRect back;
    uint64_t start;
    unsigned int mode;

    recording_string(recording);
    back = recording_rect(recording, "back_area");
    recording_brush(recording);
    recording_brush(recording);
    start = scan_offset(scan);
    mode = scan_field(scan, "fore_mode", 0, UINT16_MAX);
    if (back.left < back.right && back.top < back.bottom && mode != SPICE_ROPD_OP_PUT) {
        scan_fail_at(scan, start, "fore_mode: %u cannot be drawn with a background", mode);
    }
    scan_field(scan, "back_mode", 0, UINT16_MAX);
}

static bool operator_is_known(uint32_t operator)
{
    return operator <= QXL_OP_SATURATE ||
        (operator >= QXL_OP_MULTIPLY && operator <= QXL_OP_HSL_LUMINOSITY);
}

/* A matrix that may be absent. */
static void transform(Recording *recording, const char *name)
{
    if (scan_field(recording->scan, name, 0, 1)) {
        scan_block(recording->scan, "transform", sizeof(QXLTransform), sizeof(QXLTransform), NULL);
        recording->event->block_bytes += sizeof(QXLTransform);
    }
}

static void draw_composite(Recording *recording)
{
    enum { FILTER_MASK = 7, FILTER_BILINEAR = 1, SRC_FILTER = 8, MASK_FILTER = 11 };
    RecordingScan *scan = recording->scan;
    uint64_t start = scan_offset(scan);
    uint32_t flags = scan_field(scan, "flags", 0, INT32_MAX);

    if (!operator_is_known(flags & 0xff) ||
        (flags >> SRC_FILTER & FILTER_MASK) > FILTER_BILINEAR ||
        (flags >> MASK_FILTER & FILTER_MASK) > FILTER_BILINEAR) {
        scan_fail_at(scan, start, "flags: unknown operator or filter in %u", flags);
    }
    recording_image(recording);
    transform(recording, "src_transform");
    if (scan_field(scan, "mask", 0, 1)) {
        recording_image(recording);
    }
    transform(recording, "mask_transform");
    recording_point16(recording, "src_origin");
    recording_point16(recording, "mask_origin");
}

static void draw_by_type(Recording *recording, const RecordingRect *box)
{
    switch (recording->draw.type) {
    case QXL_DRAW_NOP:
        break;
    case QXL_DRAW_FILL:
        draw_fill(recording);
        break;
    case QXL_DRAW_OPAQUE:
        draw_opaque(recording);
        break;
    case QXL_DRAW_COPY:
    case QXL_DRAW_BLEND:
        draw_copy(recording);
        break;
    case QXL_COPY_BITS:
        draw_copy_bits(recording, box);
        break;
    case QXL_DRAW_BLACKNESS:
    case QXL_DRAW_WHITENESS:
    case QXL_DRAW_INVERS:
        recording_mask(recording);
        break;
    case QXL_DRAW_ROP3:
        draw_rop3(recording);
        break;
    case QXL_DRAW_STROKE:
        draw_stroke(recording);
        break;
    case QXL_DRAW_TEXT:
        draw_text(recording);
        break;
    case QXL_DRAW_TRANSPARENT:
        draw_transparent(recording);
        break;
    case QXL_DRAW_ALPHA_BLEND:
        draw_alpha_blend(recording);
        break;
    case QXL_DRAW_COMPOSITE:
        draw_composite(recording);
        break;
    }
}

/* The part of the target that the command reads back, used only when it says so. */
static void self_bitmap(Recording *recording, RecordingRect *area, uint64_t *offset)
{
    RecordingDraw *draw = &recording->draw;

    draw->has_self_bitmap = scan_field(recording->scan, "self_bitmap", 0, UINT8_MAX) != 0;
    *offset = scan_offset(recording->scan);
    *area = recording_rect(recording, "self_bitmap_area");
}

static void check_self_bitmap(Recording *recording, const RecordingRect *box,
                              const RecordingRect *area, uint64_t offset)
{
    RecordingDraw *draw = &recording->draw;

    draw->self_width = draw->self_height = RECORDING_SIDE_MAX;
    if (!draw->has_self_bitmap || is_outside(box, draw->target)) {
        return;
    }
    recording_rect_within(recording, offset, "self_bitmap_area", area, draw->target->width,
                          draw->target->height);
    if (!scan_failed(recording->scan)) {
        draw->self_width = area->right - area->left;
        draw->self_height = area->bottom - area->top;
    }
}

static void used_surfaces(Recording *recording)
{
    RecordingScan *scan = recording->scan;

    for (int i = 0; i < DRAW_USES_MAX && !scan_failed(scan); i++) {
        uint64_t start = scan_offset(scan);
        int64_t id = scan_field(scan, "surfaces_dest", -1, INT32_MAX);
        const RecordingSurface *surface;
        RecordingRect rect;

        surface = id == -1 ? NULL : surfaces_use(&recording->surfaces, scan, start, id);
        start = scan_offset(scan);
        rect = recording_rect(recording, "surfaces_rects");
        if (surface) {
            recording_rect_within(recording, start, "surfaces_rects", &rect, surface->width,
                                  surface->height);
        }
        recording->draw.uses[i] = id;
    }
}

static void clip(Recording *recording)
{
    if (scan_field(recording->scan, "type", SPICE_CLIP_TYPE_NONE, SPICE_CLIP_TYPE_RECTS) ==
        SPICE_CLIP_TYPE_RECTS) {
        recording_clip_rects(recording);
    }
}

void recording_draw(Recording *recording)
{
    RecordingScan *scan = recording->scan;
    RecordingEvent *event = recording->event;
    RecordingDraw *draw = &recording->draw;
    RecordingRect box, self_area;
    uint64_t box_offset, self_offset, surface_offset;

    scan_text(scan, "drawable\n");
    box_offset = scan_offset(scan);
    box = recording_rect(recording, "bbox");
    clip(recording);
    scan_field(scan, "effect", QXL_EFFECT_BLEND, QXL_EFFECT_OPAQUE_BRUSH);
    scan_field(scan, "mm_time", INT32_MIN, INT32_MAX);
    self_bitmap(recording, &self_area, &self_offset);
    surface_offset = scan_offset(scan);
    event->surface_id = scan_field(scan, "surface_id", 0, INT32_MAX);
    draw->target = surfaces_use(&recording->surfaces, scan, surface_offset, event->surface_id);
    if (!draw->target) {
        return;
    }
    if (box.left > box.right || box.top > box.bottom) {
        scan_fail_at(scan, box_offset, "bbox: the rectangle is inside out");
    }
    check_self_bitmap(recording, &box, &self_area, self_offset);
    used_surfaces(recording);
    draw->type = scan_field(scan, "type", QXL_DRAW_NOP, QXL_DRAW_COMPOSITE);
    event->subtype = draw->type;
    if (!scan_failed(scan)) {
        draw_by_type(recording, &box);
    }
}
