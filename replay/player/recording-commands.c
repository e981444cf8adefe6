/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording-commands.h"

#include <spice/enums.h>
#include <stddef.h>
#include <string.h>

#define CHUNKS_MAX (1024 * 1024)
#define MESSAGE_SIZE_MAX (1024 * 1024)
#define PALETTE_MAX 256

#define U64 G_GUINT64_FORMAT
#define RECT(rect) &(rect)->top, &(rect)->left, &(rect)->bottom, &(rect)->right
#define POINT(point) &(point)->x, &(point)->y

/* In front of what is given out; as long as what malloc aligns to. */
typedef struct RecordedBlock {
    _Alignas(max_align_t) struct RecordedBlock *next;
} RecordedBlock;

typedef struct Reader {
    RecordingScan *scan;
    RecordingSurfaces *surfaces;
    RecordedCommand *command;
} Reader;

static QXLPHYSICAL address(const void *pointer)
{
    return (uintptr_t) pointer;
}

/* Freed with the command; zeroed, its pages are in memory. NULL with the fault noted. */
static void *allot(Reader *reader, size_t size, bool zeroed)
{
    RecordedBlock *block;

    if (scan_failed(reader->scan)) {
        return NULL;
    }
    size += sizeof(*block);
    block = g_try_malloc(size);
    if (!block) {
        scan_fail(reader->scan, "no memory for %" G_GSIZE_FORMAT " bytes", size);
        return NULL;
    }
    if (zeroed) {
        memset(block, 0, size);
    }
    block->next = reader->command->blocks;
    reader->command->blocks = block;
    reader->command->size += size;
    return block + 1;
}

void recorded_command_free(RecordedCommand *command)
{
    while (command && command->blocks) {
        RecordedBlock *block = command->blocks;

        command->blocks = block->next;
        g_free(block);
    }
    g_free(command);
}

static bool check_size(Reader *reader, const char *name, uint64_t size, uint64_t wanted)
{
    return !scan_failed(reader->scan) &&
        (size == wanted || scan_fail(reader->scan, "%s holds %" U64 " bytes, not %" U64, name, size, wanted));
}

/* A block of at most so many bytes, behind room for a head. NULL with the fault noted. */
static void *read_block(Reader *reader, const char *name, uint64_t max, size_t head, uint64_t *size)
{
    bool is_packed = false;
    uint8_t *data;

    *size = scan_block_head(reader->scan, name, max, &is_packed);
    data = allot(reader, head + *size + 1, false);
    if (data) {
        memset(data, 0, head);
        scan_block_bytes(reader->scan, data + head, *size, is_packed);
        data[head + *size] = 0;
    }
    return scan_failed(reader->scan) ? NULL : data;
}

/* One of a size that follows from what is before it. */
static void *read_block_of(Reader *reader, const char *name, uint64_t wanted)
{
    uint64_t size;
    void *data = read_block(reader, name, SCAN_BLOCK_MAX, 0, &size);

    return check_size(reader, name, size, wanted) ? data : NULL;
}

/* A chain of chunks, the first behind room for a head. NULL with the fault noted. */
static void *read_chunks(Reader *reader, const char *name, size_t head, uint64_t *total)
{
    RecordingScan *scan = reader->scan;
    uint64_t left;
    uint32_t more = 0;
    uint8_t *first = NULL;
    QXLDataChunk *last = NULL;

    *total = 0;
    scan_lines(scan, "data_chunks %u %" U64 "\n", &more, total);
    if (!scan_failed(scan) && (more > CHUNKS_MAX || *total > SCAN_BLOCK_MAX)) {
        scan_fail(scan, "%s: %" U64 " bytes in %u chunks are too many", name, *total, more);
    }
    left = *total;
    for (uint64_t i = 0; i <= more && !scan_failed(scan); i++) {
        size_t before = first ? 0 : head;
        uint64_t size;
        uint8_t *data;

        data = read_block(reader, name, left, before + sizeof(*last), &size);
        left -= size;
        if (!data || (i == more && !check_size(reader, name, *total - left, *total))) {
            break;
        }
        QXLDataChunk *chunk = (QXLDataChunk *) (data + before);
        chunk->data_size = size;
        chunk->prev_chunk = address(last);
        if (last) {
            last->next_chunk = address(chunk);
        } else {
            first = data;
        }
        last = chunk;
    }
    return scan_failed(scan) ? NULL : first;
}

static QXLPHYSICAL read_palette(Reader *reader)
{
    uint32_t count = 0;
    QXLPalette *palette;

    scan_lines(reader->scan, "qp.num_ents %u\n", &count);
    if (!scan_failed(reader->scan) && (count == 0 || count > PALETTE_MAX)) {
        scan_fail(reader->scan, "qp.num_ents: no palette has %u colours", count);
    }
    palette = allot(reader, sizeof(*palette) + count * sizeof(palette->ents[0]), true);
    if (palette) {
        palette->num_ents = count;
        scan_lines(reader->scan, "unique %" U64 "\n", &palette->unique);
        for (uint32_t i = 0; i < count && scan_lines(reader->scan, "ents %d\n", &palette->ents[i]); i++) {
        }
    }
    return address(palette);
}

static void read_bitmap(Reader *reader, QXLBitmap *bitmap)
{
    RecordingScan *scan = reader->scan;
    uint8_t has_palette = 0;
    uint64_t wanted, size;

    scan_lines(scan, "bitmap.format %hhu\nbitmap.flags %hhu\nbitmap.x %d\nbitmap.y %d\nbitmap.stride %d\nhas_palette %hhu\n",
               &bitmap->format, &bitmap->flags, &bitmap->x, &bitmap->y, &bitmap->stride, &has_palette);
    if (has_palette) {
        bitmap->palette = read_palette(reader);
    }
    wanted = (uint64_t) bitmap->stride * bitmap->y;
    if (bitmap->flags & QXL_BITMAP_DIRECT) {
        bitmap->data = address(read_block_of(reader, "image_data_flat", wanted));
    } else {
        bitmap->data = address(read_chunks(reader, "bitmap.data", 0, &size));
        check_size(reader, "bitmap.data", size, wanted);
    }
}

/* A picture whose data follow it in place. */
static QXLImage *read_quic(Reader *reader, const QXLImageDescriptor *descriptor)
{
    uint32_t wanted = 0;
    uint64_t size;
    QXLImage *image;

    scan_lines(reader->scan, "quic.data_size %d\n", &wanted);
    image = read_chunks(reader, "quic.data", offsetof(QXLImage, quic.data), &size);
    if (check_size(reader, "quic.data", size, wanted)) {
        image->descriptor = *descriptor;
        image->quic.data_size = size;
    }
    return image;
}

/* 0 if there is none. */
static QXLPHYSICAL read_image(Reader *reader)
{
    RecordingScan *scan = reader->scan;
    uint8_t is_there = 0;
    int32_t id = 0;
    QXLImage *image;

    scan_lines(scan, "image %hhu\n", &is_there);
    image = is_there ? allot(reader, sizeof(*image), true) : NULL;
    if (!image) {
        return 0;
    }
    scan_lines(scan, "descriptor.id %" U64 "\ndescriptor.type %hhu\ndescriptor.flags %hhu\n"
               "descriptor.width %d\ndescriptor.height %d\n", &image->descriptor.id, &image->descriptor.type,
               &image->descriptor.flags, &image->descriptor.width, &image->descriptor.height);
    switch (image->descriptor.type) {
    case SPICE_IMAGE_TYPE_BITMAP:
        read_bitmap(reader, &image->bitmap);
        break;
    case SPICE_IMAGE_TYPE_QUIC:
        image = read_quic(reader, &image->descriptor);
        break;
    case SPICE_IMAGE_TYPE_SURFACE:
        scan_lines(scan, "surface_image.surface_id %d\n", &id);
        image->surface_image.surface_id = surfaces_use(reader->surfaces, scan, id);
        break;
    default:
        scan_fail(scan, "descriptor.type: pictures of type %u cannot be recorded", image->descriptor.type);
    }
    return address(image);
}

static void read_mask(Reader *reader, QXLQMask *mask)
{
    scan_lines(reader->scan, "flags %hhu\npoint %d %d\n", &mask->flags, POINT(&mask->pos));
    mask->bitmap = read_image(reader);
}

static void read_brush(Reader *reader, QXLBrush *brush)
{

    scan_lines(reader->scan, "type %d\n", &brush->type);
    switch (brush->type) {
    case SPICE_BRUSH_TYPE_NONE:
        break;
    case SPICE_BRUSH_TYPE_SOLID:
        scan_lines(reader->scan, "u.color %d\n", &brush->u.color);
        break;
    case SPICE_BRUSH_TYPE_PATTERN:
        brush->u.pattern.pat = read_image(reader);
        scan_lines(reader->scan, "point %d %d\n", POINT(&brush->u.pattern.pos));
        break;
    default:
        scan_fail(reader->scan, "type: no brush has type %u", brush->type);
    }
}

static QXLPHYSICAL read_source(Reader *reader, QXLRect *area)
{
    QXLPHYSICAL picture = read_image(reader);

    scan_lines(reader->scan, "rect src_area %d %d %d %d\n", RECT(area));
    return picture;
}

/* After a picture, how it is drawn; the same for COPY and BLEND. */
static void read_copy(Reader *reader, QXLCopy *copy)
{
    copy->src_bitmap = read_source(reader, &copy->src_area);
    scan_lines(reader->scan, "rop_descriptor %hu\nscale_mode %hhu\n", &copy->rop_descriptor, &copy->scale_mode);
    read_mask(reader, &copy->mask);
}

static void read_opaque(Reader *reader, QXLOpaque *opaque)
{
    opaque->src_bitmap = read_source(reader, &opaque->src_area);
    read_brush(reader, &opaque->brush);
    scan_lines(reader->scan, "rop_descriptor %hu\nscale_mode %hhu\n", &opaque->rop_descriptor, &opaque->scale_mode);
    read_mask(reader, &opaque->mask);
}

static void read_rop3(Reader *reader, QXLRop3 *rop3)
{
    rop3->src_bitmap = read_source(reader, &rop3->src_area);
    read_brush(reader, &rop3->brush);
    scan_lines(reader->scan, "rop3 %hhu\nscale_mode %hhu\n", &rop3->rop3, &rop3->scale_mode);
    read_mask(reader, &rop3->mask);
}

static void read_stroke(Reader *reader, QXLStroke *stroke)
{
    uint64_t size;
    QXLPath *path = read_chunks(reader, "path", offsetof(QXLPath, chunk), &size);

    if (path) {
        path->data_size = size;
    }
    stroke->path = address(path);
    scan_lines(reader->scan, "attr.flags %hhu\n", &stroke->attr.flags);
    if (stroke->attr.flags & SPICE_LINE_FLAGS_STYLED) {
        scan_lines(reader->scan, "attr.style_nseg %hhu\n", &stroke->attr.style_nseg);
        stroke->attr.style = address(read_block_of(reader, "style", stroke->attr.style_nseg * sizeof(QXLFIXED)));
    }
    read_brush(reader, &stroke->brush);
    scan_lines(reader->scan, "fore_mode %hu\nback_mode %hu\n", &stroke->fore_mode, &stroke->back_mode);
}

static void read_text(Reader *reader, QXLText *text)
{
    QXLString head = { 0, };
    uint64_t size;
    QXLString *string;

    scan_lines(reader->scan, "data_size %d\nlength %hu\nflags %hu\n", &head.data_size, &head.length, &head.flags);
    string = read_chunks(reader, "string", offsetof(QXLString, chunk), &size);
    if (check_size(reader, "string", size, head.data_size)) {
        memcpy(string, &head, offsetof(QXLString, chunk));
    }
    text->str = address(string);
    scan_lines(reader->scan, "rect back_area %d %d %d %d\n", RECT(&text->back_area));
    read_brush(reader, &text->fore_brush);
    read_brush(reader, &text->back_brush);
    scan_lines(reader->scan, "fore_mode %hu\nback_mode %hu\n", &text->fore_mode, &text->back_mode);
}

static void read_composite(Reader *reader, QXLComposite *composite)
{
    uint8_t is_there = 0;

    scan_lines(reader->scan, "flags %d\n", &composite->flags);
    composite->src = read_image(reader);
    scan_lines(reader->scan, "src_transform %hhu\n", &is_there);
    if (is_there) {
        composite->src_transform = address(read_block_of(reader, "transform", sizeof(QXLTransform)));
    }
    scan_lines(reader->scan, "mask %hhu\n", &is_there);
    if (is_there) {
        composite->mask = read_image(reader);
    }
    scan_lines(reader->scan, "mask_transform %hhu\n", &is_there);
    if (is_there) {
        composite->mask_transform = address(read_block_of(reader, "transform", sizeof(QXLTransform)));
    }
    scan_lines(reader->scan, "src_origin %hd %hd\nmask_origin %hd %hd\n", POINT(&composite->src_origin),
               POINT(&composite->mask_origin));
}

static void read_clip(Reader *reader, QXLClip *clip)
{
    uint64_t size;
    uint32_t count = 0;
    QXLClipRects *rects;

    scan_lines(reader->scan, "type %d\n", &clip->type);
    if (clip->type > SPICE_CLIP_TYPE_RECTS) {
        scan_fail(reader->scan, "type: no clip has type %u", clip->type);
    }
    if (clip->type != SPICE_CLIP_TYPE_RECTS) {
        return;
    }
    scan_lines(reader->scan, "num_rects %u\n", &count);
    rects = read_chunks(reader, "clip_rects", offsetof(QXLClipRects, chunk), &size);
    if (check_size(reader, "clip_rects", size, count * (uint64_t) sizeof(QXLRect))) {
        rects->num_rects = count;
    }
    clip->data = address(rects);
}

static void read_by_type(Reader *reader, QXLDrawable *drawable)
{
    RecordingScan *scan = reader->scan;

    switch (drawable->type) {
    case QXL_DRAW_NOP:
        break;
    case QXL_DRAW_FILL:
        read_brush(reader, &drawable->u.fill.brush);
        scan_lines(scan, "rop_descriptor %hu\n", &drawable->u.fill.rop_descriptor);
        read_mask(reader, &drawable->u.fill.mask);
        break;
    case QXL_DRAW_OPAQUE:
        read_opaque(reader, &drawable->u.opaque);
        break;
    case QXL_DRAW_COPY:
    case QXL_DRAW_BLEND:
        read_copy(reader, &drawable->u.copy);
        break;
    case QXL_COPY_BITS:
        scan_lines(scan, "point %d %d\n", POINT(&drawable->u.copy_bits.src_pos));
        break;
    case QXL_DRAW_BLACKNESS:
    case QXL_DRAW_WHITENESS:
    case QXL_DRAW_INVERS:
        read_mask(reader, &drawable->u.blackness.mask);
        break;
    case QXL_DRAW_ROP3:
        read_rop3(reader, &drawable->u.rop3);
        break;
    case QXL_DRAW_STROKE:
        read_stroke(reader, &drawable->u.stroke);
        break;
    case QXL_DRAW_TEXT:
        read_text(reader, &drawable->u.text);
        break;
    case QXL_DRAW_TRANSPARENT:
        drawable->u.transparent.src_bitmap = read_source(reader, &drawable->u.transparent.src_area);
        scan_lines(scan, "src_color %d\ntrue_color %d\n", &drawable->u.transparent.src_color, &drawable->u.transparent.true_color);
        break;
    case QXL_DRAW_ALPHA_BLEND:
        scan_lines(scan, "alpha_flags %hu\nalpha %hhu\n", &drawable->u.alpha_blend.alpha_flags, &drawable->u.alpha_blend.alpha);
        drawable->u.alpha_blend.src_bitmap = read_source(reader, &drawable->u.alpha_blend.src_area);
        break;
    case QXL_DRAW_COMPOSITE:
        read_composite(reader, &drawable->u.composite);
        break;
    default:
        scan_fail(scan, "type: there is no drawing of type %u", drawable->type);
    }
}

static QXLReleaseInfo *read_draw(Reader *reader)
{
    RecordingScan *scan = reader->scan;
    QXLDrawable *drawable = allot(reader, sizeof(*drawable), true);
    int32_t id = 0;

    scan_lines(scan, "drawable\nrect bbox %d %d %d %d\n", RECT(&drawable->bbox));
    read_clip(reader, &drawable->clip);
    scan_lines(scan, "effect %hhu\nmm_time %d\nself_bitmap %hhu\nrect self_bitmap_area %d %d %d %d\n", &drawable->effect,
               &drawable->mm_time, &drawable->self_bitmap, RECT(&drawable->self_bitmap_area));
    scan_lines(scan, "surface_id %d\n", &id);
    drawable->surface_id = surfaces_use(reader->surfaces, scan, id);
    for (unsigned int i = 0; i < G_N_ELEMENTS(drawable->surfaces_dest); i++) {
        scan_lines(scan, "surfaces_dest %d\n", &id);
        drawable->surfaces_dest[i] = id == -1 ? -1 : (int32_t) surfaces_use(reader->surfaces, scan, id);
        scan_lines(scan, "rect surfaces_rects %d %d %d %d\n", RECT(&drawable->surfaces_rects[i]));
    }
    if (scan_lines(scan, "type %hhu\n", &drawable->type)) {
        read_by_type(reader, drawable);
    }
    return &drawable->release_info;
}

static QXLReleaseInfo *read_update(Reader *reader)
{
    QXLUpdateCmd *update = allot(reader, sizeof(*update), true);
    int32_t id = 0;

    scan_lines(reader->scan, "update\nrect area %d %d %d %d\nupdate_id %d\nsurface_id %d\n", RECT(&update->area), &update->update_id, &id);
    update->surface_id = surfaces_use(reader->surfaces, reader->scan, id);
    return &update->release_info;
}

static void read_cursor_shape(Reader *reader, QXLCursorCmd *command)
{
    QXLCursorHeader header = { 0, };
    QXLCursor *cursor;
    uint64_t size;

    scan_lines(reader->scan, "header.unique %" U64 "\nheader.type %hu\nheader.width %hu\nheader.height %hu\n"
               "header.hot_spot_x %hu\nheader.hot_spot_y %hu\ndata_size %*u\n", &header.unique, &header.type,
               &header.width, &header.height, &header.hot_spot_x, &header.hot_spot_y);
    cursor = read_chunks(reader, "cursor", offsetof(QXLCursor, chunk), &size);
    if (cursor) {
        cursor->header = header;
        cursor->data_size = size;
    }
    command->u.set.shape = address(cursor);
}

static QXLReleaseInfo *read_cursor(Reader *reader)
{
    RecordingScan *scan = reader->scan;
    QXLCursorCmd *command = allot(reader, sizeof(*command), true);

    scan_lines(scan, "cursor_cmd\n");
    scan_lines(scan, "type %hhu\n", &command->type);
    switch (command->type) {
    case QXL_CURSOR_SET:
        scan_lines(scan, "point16 %hd %hd\nu.set.visible %hhu\n", POINT(&command->u.set.position), &command->u.set.visible);
        read_cursor_shape(reader, command);
        break;
    case QXL_CURSOR_MOVE:
        scan_lines(scan, "point16 %hd %hd\n", POINT(&command->u.position));
        break;
    case QXL_CURSOR_HIDE:
        break;
    case QXL_CURSOR_TRAIL:
        scan_lines(scan, "u.trail.length %hu\nu.trail.frequency %hu\n", &command->u.trail.length, &command->u.trail.frequency);
        break;
    default:
        scan_fail(scan, "type: there is no cursor command of type %u", command->type);
    }
    return &command->release_info;
}

static void read_surface_create(Reader *reader, QXLSurfaceCmd *command)
{
    QXLSurface *made = &command->u.surface_create;
    uint64_t size;

    scan_lines(reader->scan, "u.surface_create.format %d\nu.surface_create.width %d\nu.surface_create.height %d\n"
               "u.surface_create.stride %d\n", &made->format, &made->width, &made->height, &made->stride);
    size = surface_size(reader->scan, made->width, made->height, made->stride, made->format);
    /* a guest's video memory has been there since it booted; the server would wait for each page that is only reserved */
    made->data = address(command->flags & QXL_SURF_FLAG_KEEP_DATA ? read_block_of(reader, "data", size)
                                                                  : allot(reader, size, true));
}

static QXLReleaseInfo *read_surface_command(Reader *reader)
{
    RecordingScan *scan = reader->scan;
    QXLSurfaceCmd *command = allot(reader, sizeof(*command), true);
    int32_t id = 0;

    scan_lines(scan, "surface_cmd\nsurface_id %d\ntype %hhu\nflags %d\n", &id, &command->type, &command->flags);
    if (id == 0 || command->type > QXL_SURFACE_CMD_DESTROY) {
        scan_fail(scan, "surface_cmd: type %u of surface %d", command->type, id);
    } else if (command->type == QXL_SURFACE_CMD_CREATE) {
        command->surface_id = surfaces_create(reader->surfaces, scan, id);
        read_surface_create(reader, command);
    } else {
        command->surface_id = surfaces_destroy(reader->surfaces, scan, id);
    }
    return &command->release_info;
}

/* Its text is recorded without the 0 that ends it; each block has one. */
static QXLReleaseInfo *read_message(Reader *reader)
{
    uint64_t size;
    QXLMessage *message = read_block(reader, "message", MESSAGE_SIZE_MAX, sizeof(*message), &size);

    return message ? &message->release_info : NULL;
}

RecordedCommand *recording_read_command(RecordingScan *scan, RecordingSurfaces *surfaces, uint32_t type)
{
    RecordedCommand *command = g_new0(RecordedCommand, 1);
    Reader reader = { scan, surfaces, command };
    QXLReleaseInfo *info = NULL;

    command->size = sizeof(*command);
    switch (type) {
    case QXL_CMD_DRAW:
        info = read_draw(&reader);
        break;
    case QXL_CMD_UPDATE:
        info = read_update(&reader);
        break;
    case QXL_CMD_CURSOR:
        info = read_cursor(&reader);
        break;
    case QXL_CMD_MESSAGE:
        info = read_message(&reader);
        break;
    case QXL_CMD_SURFACE:
        info = read_surface_command(&reader);
        break;
    default:
        scan_fail(scan, "there is no command type %u", type);
    }
    if (scan_failed(scan)) {
        recorded_command_free(command);
        return NULL;
    }
    info->id = address(command);
    command->ext.cmd.type = type;
    command->ext.cmd.data = address(info);
    return command;
}

RecordedCommand *recording_read_primary(RecordingScan *scan, RecordingSurfaces *surfaces)
{
    RecordedCommand *command = g_new0(RecordedCommand, 1);
    Reader reader = { scan, surfaces, command };
    QXLSurfaceCreate *primary = &command->primary;

    scan_lines(scan, "%d %d %d %d\n%d %d %d %d\n", &primary->width, &primary->height, &primary->stride, &primary->format,
               &primary->position, &primary->mouse_mode, &primary->flags, &primary->type);
    primary->mem = address(read_block_of(&reader, "data", surface_size(scan, primary->width, primary->height,
                                                                  primary->stride, primary->format)));
    surfaces_create(surfaces, scan, 0);
    if (scan_failed(scan)) {
        recorded_command_free(command);
        return NULL;
    }
    return command;
}
