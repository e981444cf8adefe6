/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include <common/rect.h>

#include "display-channel-private.h"
#include "display-motion.h"
#include "red-stream-policy.h"
#include "video-stream.h"

/* Nanoseconds that a drawing is held, and drawings that are: a screen that QEMU sends in columns
 * of 32 pixels is some five hundred. */
#define MAX_HELD_TIME (NSEC_PER_SEC / 1000)
#define MAX_HELD 1024

/* Bytes of a screen, of which two copies are kept: 7680 x 4320. A guest may make larger ones. */
#define MAX_SCREEN (7680 * 4320 * 4)

/* Clip rectangles of a drawing: those of a guest's kernel are a few. */
#define MAX_CLIP_RECTS 64

/* Other drawings on the screen count as so many bitmaps. From so many on there is none of this,
 * until they have been forgotten. */
#define OTHER_WEIGHT 4
#define MAX_OTHERS 200

/* Of the pixels of the drawings one of so many at least must be saved, or so many times fewer
 * drawings be sent, of at least so many. */
#define MIN_SAVED 8
#define MIN_FEWER 2
#define MIN_HELD 4

/* Bytes of a drawing but for its pixels: 106 with a palette of two colours, 122 with GLZ. */
#define DRAWING_HEADER 120
/* One picture is made of all that has changed if it has not more than so many times the pixels. */
#define MAX_SPREAD 4

DisplayMotion::DisplayMotion(DisplayChannel *init_display):
    display(init_display),
    bitmaps(std::make_shared<size_t>(0))
{
}

DisplayMotion::~DisplayMotion() = default;

void DisplayMotion::new_screen()
{
    drop();
    traces.clear();
    others = 0;
    is_off = false;
}

/* Draws what is held: without a mirror it could not be looked at. */
void DisplayMotion::drop()
{
    flush();
    motion.reset();
}

/* Whether it is a bitmap that is drawn on the screen as it is; how many bytes its pixels have. */
bool DisplayMotion::is_fit(const RedDrawable *drawable, int *bytes) const
{
    const RedSurface *screen = display->priv->surfaces[0];
    const SpiceCopy &copy = drawable->u.copy;

    if (!screen || drawable->surface_id != 0 || drawable->type != QXL_DRAW_COPY ||
        drawable->effect != QXL_EFFECT_OPAQUE || drawable->self_bitmap ||
        copy.rop_descriptor != SPICE_ROPD_OP_PUT || copy.mask.bitmap || !copy.src_bitmap ||
        copy.src_bitmap->descriptor.type != SPICE_IMAGE_TYPE_BITMAP ||
        (copy.src_bitmap->descriptor.flags & SPICE_IMAGE_FLAGS_CACHE_ME)) {
        return false;
    }

    const SpiceBitmap &bitmap = copy.src_bitmap->u.bitmap;
    switch (bitmap.format) {
    case SPICE_BITMAP_FMT_32BIT:
    case SPICE_BITMAP_FMT_RGBA:
        /* its alpha goes nowhere on such a screen */
        *bytes = screen->context.format == SPICE_SURFACE_FMT_32_xRGB ? 4 : 0;
        break;
    case SPICE_BITMAP_FMT_16BIT:
        *bytes = screen->context.format == SPICE_SURFACE_FMT_16_555 ? 2 : 0;
        break;
    default:
        *bytes = 0;
    }
    /* one that the guest may write to meanwhile is nobody's to compare */
    if (!*bytes || bitmap.palette || (bitmap.data->flags & SPICE_CHUNKS_FLAGS_UNSTABLE)) {
        return false;
    }

    if (uint64_t{screen->context.width} * screen->context.height * *bytes > MAX_SCREEN) {
        return false;
    }

    const SpiceRect &area = copy.src_area, &bbox = drawable->bbox;
    if (bbox.left < 0 || bbox.left >= bbox.right || bbox.right > screen->context.width ||
        bbox.top < 0 || bbox.top >= bbox.bottom || bbox.bottom > screen->context.height ||
        area.left < 0 || area.right > static_cast<int64_t>(bitmap.x) ||
        area.top < 0 || area.bottom > static_cast<int64_t>(bitmap.y) ||
        area.right - area.left != bbox.right - bbox.left ||
        area.bottom - area.top != bbox.bottom - bbox.top) {
        return false;
    }
    switch (drawable->clip.type) {
    case SPICE_CLIP_TYPE_NONE:
        return true;
    case SPICE_CLIP_TYPE_RECTS:
        return drawable->clip.rects->num_rects <= MAX_CLIP_RECTS;
    default:
        return false;
    }
}

/* Where the lines of a bitmap are. False if it has fewer than it says. */
bool DisplayMotion::find_lines(const SpiceBitmap *bitmap)
{
    const SpiceChunks *chunks = bitmap->data;

    lines.clear();
    for (uint32_t i = 0; i < chunks->num_chunks && lines.size() < bitmap->y; ++i) {
        const SpiceChunk &chunk = chunks->chunk[i];

        for (uint32_t pos = 0; chunk.len - pos >= bitmap->stride && lines.size() < bitmap->y;
             pos += bitmap->stride) {
            lines.push_back(chunk.data + pos);
        }
    }
    if (!(bitmap->flags & SPICE_BITMAP_FLAGS_TOP_DOWN)) {
        std::reverse(lines.begin(), lines.end());
    }
    return lines.size() == bitmap->y;
}

/* Whether a video is shown there: its frames are all that it can go on from. */
bool DisplayMotion::plays(const RedDrawable *drawable) const
{
    RingItem *item;

    RING_FOREACH(item, &display->priv->streams) {
        const VideoStream *stream = SPICE_CONTAINEROF(item, VideoStream, link);

        if (rect_intersects(&stream->dest_area, &drawable->bbox)) {
            return true;
        }
    }
    return false;
}

/* Whether it may be the next frame of what will be found to be a video: is_next_stream_frame() and
 * video_stream_add_frame() ask the same. */
bool DisplayMotion::may_play(const RedDrawable *drawable, uint64_t now)
{
    if (display->priv->stream_video == SPICE_STREAM_VIDEO_OFF ||
        rect_get_area(&drawable->bbox) < RED_STREAM_MIN_SIZE) {
        return false;
    }

    for (auto &trace : traces) {
        if (!rect_is_equal(&trace.where, &drawable->bbox)) {
            continue;
        }
        const bool is_next = now - trace.time <= RED_STREAM_DETECTION_MAX_DELTA;
        SpiceBitmap *bitmap = &drawable->u.copy.src_bitmap->u.bitmap;

        trace.time = now;
        if (!is_next) {
            trace.since_gradual = RED_STREAM_FRAMES_RESET_CONDITION + 1;
            return false;
        }
        if (bitmap_has_extra_stride(bitmap) ||
            bitmap_get_graduality_level(bitmap) != BITMAP_GRADUAL_LOW) {
            trace.since_gradual = 0;
        } else if (trace.since_gradual <= RED_STREAM_FRAMES_RESET_CONDITION) {
            ++trace.since_gradual;
        }
        return trace.since_gradual <= RED_STREAM_FRAMES_RESET_CONDITION;
    }

    const Trace trace = { drawable->bbox, now, RED_STREAM_FRAMES_RESET_CONDITION + 1 };
    if (traces.size() < TRACES) {
        traces.push_back(trace);
    } else {
        traces[next_trace++ % TRACES] = trace;
    }
    return false;
}

/* A guest that draws other things than bitmaps need not be helped, nor pay for it. */
void DisplayMotion::know(const RedDrawable *drawable, bool is_fit)
{
    if (drawable->surface_id != 0) {
        return;
    }
    const int before = others;
    others = is_fit ? MAX(others - 1, 0) : MIN(others + OTHER_WEIGHT, MAX_OTHERS);
    if (others == MAX_OTHERS) {
        is_off = true;
        drop();
    } else if (others == 0) {
        is_off = false;
        looks = looks || before > 0;
    }
}

bool DisplayMotion::overlaps(const RedDrawable *drawable) const
{
    return !held.empty() && motion->is_written(drawable->bbox);
}

/* Learn what the screen shows, from the canvas that drew it. */
void DisplayMotion::look()
{
    const RedSurface *screen = display->priv->surfaces[0];
    const SpiceRect all = { 0, 0, motion->get_width(), motion->get_height() };
    RingItem *item;

    display_channel_draw(display, &all, 0);
    screen->context.canvas->ops->read_bits(screen->context.canvas, motion->line(0, 0),
                                           motion->get_width() * motion->get_bytes(), &all);
    motion->know_all();
    /* but where a client has been shown frames, which are only like it */
    RING_FOREACH(item, &display->priv->streams) {
        forget(SPICE_CONTAINEROF(item, VideoStream, link)->dest_area);
    }
}

/* What is there is not known any more. */
void DisplayMotion::forget(SpiceRect where)
{
    const SpiceRect all = { 0, 0, motion->get_width(), motion->get_height() };

    rect_sect(&where, &all);
    if (!rect_is_empty(&where)) {
        motion->forget(&where);
    }
}

/* Take it. False if it is not what it says. */
bool DisplayMotion::hold(red::shared_ptr<RedDrawable> &&drawable, int bytes)
{
    const RedSurface *screen = display->priv->surfaces[0];
    const SpiceRect &bbox = drawable->bbox;
    const SpicePoint from = { drawable->u.copy.src_area.left, drawable->u.copy.src_area.top };
    const SpiceClipRects *clip = drawable->clip.type == SPICE_CLIP_TYPE_RECTS ?
                                 drawable->clip.rects : nullptr;

    if (!find_lines(&drawable->u.copy.src_bitmap->u.bitmap)) {
        return false;
    }
    if (motion && motion->get_bytes() != bytes) {
        drop();
    }
    if (!motion) {
        motion.reset(new RedMotion(screen->context.width, screen->context.height, bytes));
        looks = true;
    }
    if (held.empty() && looks) {
        looks = false;
        if (!motion->knows_all()) {
            look();
        }
    }
    for (uint32_t i = 0; i < (clip ? clip->num_rects : 1); ++i) {
        SpiceRect where = bbox;

        if (clip) {
            rect_sect(&where, &clip->rects[i]);
        }
        if (rect_is_empty(&where)) {
            continue;
        }
        const size_t offset = static_cast<size_t>(where.left - bbox.left + from.x) * bytes;
        const size_t size = static_cast<size_t>(where.right - where.left) * bytes;
        for (int y = where.top; y < where.bottom; ++y) {
            memcpy(motion->line(where.left, y), lines[y - bbox.top + from.y] + offset, size);
        }
        motion->wrote(where);
    }
    held.push_back(std::move(drawable));
    return true;
}

/* As it came. What it draws is not known then. */
void DisplayMotion::pass(red::shared_ptr<RedDrawable> &&drawable)
{
    if (motion && drawable->surface_id == 0) {
        forget(drawable->bbox);
    }
    display_channel_process_draw(display, std::move(drawable), generation);
}

void DisplayMotion::draw(red::shared_ptr<RedDrawable> &&drawable, uint32_t init_generation)
{
    int bytes;
    const bool fits = is_fit(drawable.get(), &bytes);

    generation = init_generation;
    know(drawable.get(), fits);
    /* nobody looks; with SPICE_STREAM_VIDEO_ALL anything may be a video */
    if (!display->is_connected()) {
        drop();
    }
    if (!fits || is_off || !display->is_connected() ||
        display->priv->stream_video == SPICE_STREAM_VIDEO_ALL) {
        flush();
        pass(std::move(drawable));
        return;
    }
    if (plays(drawable.get())) {
        if (overlaps(drawable.get())) {
            flush();
        }
        pass(std::move(drawable));
        return;
    }

    const uint64_t now = spice_get_monotonic_time_ns();
    const bool is_frame = may_play(drawable.get(), now);
    if (is_frame || overlaps(drawable.get()) || held.size() >= MAX_HELD ||
        (!held.empty() && now - held_since >= MAX_HELD_TIME)) {
        flush();
    }
    if (held.empty()) {
        held_since = now;
    }
    if (!hold(std::move(drawable), bytes)) {
        flush();
        pass(std::move(drawable));
    } else if (is_frame) {
        flush(true);
    }
}

void DisplayMotion::flush()
{
    flush(false);
}

/* Whether to do what was found instead of what the guest drew. */
bool DisplayMotion::is_worth(const RedMotionFound &found, bool may_play) const
{
    const size_t bytes = found.changed_pixels * motion->get_bytes();

    if (*bitmaps + bytes > DISPLAY_MOTION_BITMAPS) {
        return false;
    }
    if (may_play) {
        /* pictures of the world do not move by whole pixels, nor all of them */
        return found.moved_pixels * 2 > found.written_pixels;
    }
    if (!found.moves.empty() ||
        (found.written_pixels - MIN(found.changed_pixels, found.written_pixels)) * MIN_SAVED >=
        found.written_pixels) {
        return true;
    }
    return held.size() >= MIN_HELD && found.changed.size() * MIN_FEWER <= held.size();
}

/*
 * Whether all clients decode pictures with palettes, and XOR them. Both are as old as the protocol,
 * but spice-html5 and ryll do not, and there is no capability that says so. Those that are known to
 * do have the canvas of spice-common. They composite, have A8 surfaces, and play VP8 (where
 * GStreamer's plugin is installed; without it they get pictures as ever). spice-html5 does not do
 * the first two, ryll not the last.
 */
bool DisplayMotion::takes_planes() const
{
    DisplayChannelClient *dcc;

    if (motion->get_bytes() != 4) {
        return false;
    }
    FOREACH_DCC(display, dcc) {
        if (!dcc->test_remote_cap(SPICE_DISPLAY_CAP_COMPOSITE) ||
            !dcc->test_remote_cap(SPICE_DISPLAY_CAP_A8_SURFACE) ||
            !dcc->test_remote_cap(SPICE_DISPLAY_CAP_CODEC_VP8)) {
            return false;
        }
    }
    return true;
}

/* Whether @where, which has all of @rects, is less as pictures of two colours than these are as they
 * are. */
bool DisplayMotion::find_planes(const SpiceRect &where, const SpiceRect *rects, size_t n_rects)
{
    const size_t stride = motion->get_stride();
    size_t bytes = n_rects * DRAWING_HEADER, size = *bitmaps;

    if (!red_planes_split(motion->line(where.left, where.top), stride, where.right - where.left,
                          where.bottom - where.top, &planes)) {
        return false;
    }
    for (const auto &plane : planes) {
        size += plane.bits.size();
    }
    if (size > DISPLAY_MOTION_BITMAPS) {
        return false;
    }
    for (size_t i = 0; i < n_rects; ++i) {
        bytes += red_planes_count_changes(motion->line(rects[i].left, rects[i].top), stride,
                                          rects[i].right - rects[i].left,
                                          rects[i].bottom - rects[i].top);
    }
    return planes.size() * DRAWING_HEADER + red_planes_estimate(planes) < bytes;
}

static SpiceRect bounds_of(const std::vector<SpiceRect> &rects)
{
    SpiceRect bounds = rects[0];

    for (const auto &rect : rects) {
        rect_union(&bounds, &rect);
    }
    return bounds;
}

/* The same of one picture of all that has changed. */
bool DisplayMotion::find_planes(const std::vector<SpiceRect> &changed)
{
    uint64_t pixels = 0;

    if (changed.empty()) {
        return false;
    }
    for (const auto &rect : changed) {
        pixels += rect_get_area(&rect);
    }
    const SpiceRect bounds = bounds_of(changed);
    return uint64_t(rect_get_area(&bounds)) <= pixels * MAX_SPREAD && motion->is_shown(&bounds) &&
           find_planes(bounds, changed.data(), changed.size());
}

void DisplayMotion::flush(bool may_play)
{
    if (held.empty()) {
        return;
    }

    std::vector<red::shared_ptr<RedDrawable>> drawn;
    const RedMotionFound &found = motion->find();
    const bool can_plane = !may_play && takes_planes();
    const bool all_planes = can_plane && find_planes(found.changed);
    const bool worth = all_planes || is_worth(found, may_play);

    std::swap(drawn, held);
    if (!worth) {
        counters.sent += found.written_pixels;
        for (auto &drawable : drawn) {
            display_channel_process_draw(display, std::move(drawable), generation);
        }
        return;
    }
    counters.moves += found.moves.size();
    counters.moved += found.moved_pixels;
    counters.equal += found.written_pixels - MIN(found.written_pixels, found.moved_pixels +
                                                 found.changed_pixels);
    counters.sent += found.changed_pixels;
    for (const auto &move : found.moves) {
        emit(move);
    }
    if (all_planes) {
        emit_planes(bounds_of(found.changed));
        return;
    }
    for (const auto &where : found.changed) {
        if (can_plane && find_planes(where, &where, 1)) {
            emit_planes(where);
        } else {
            emit(where);
        }
    }
}

static red::shared_ptr<RedDrawable> new_drawable(uint8_t type, const SpiceRect &where)
{
    auto drawable = red::make_shared<RedDrawable>();

    drawable->surface_id = 0;
    drawable->effect = QXL_EFFECT_OPAQUE;
    drawable->type = type;
    drawable->bbox = where;
    drawable->clip.type = SPICE_CLIP_TYPE_NONE;
    for (auto &surface_id : drawable->surface_deps) {
        surface_id = -1;
    }
    return drawable;
}

void DisplayMotion::emit(const RedMotionMove &move)
{
    auto drawable = new_drawable(QXL_COPY_BITS, move.dest);

    drawable->u.copy_bits.src_pos = move.src;
    display_channel_process_draw(display, std::move(drawable), generation);
}

/* Takes the data of @bitmap, and its palette. */
void DisplayMotion::emit(const SpiceRect &where, SpiceBitmap *bitmap, uint16_t rop)
{
    auto drawable = new_drawable(QXL_DRAW_COPY, where);
    auto image = g_new0(SpiceImage, 1);
    const size_t size = bitmap->data->data_size;

    bitmap->x = where.right - where.left;
    bitmap->y = where.bottom - where.top;
    bitmap->flags = SPICE_BITMAP_FLAGS_TOP_DOWN;
    bitmap->data->flags |= SPICE_CHUNKS_FLAGS_FREE;
    image->descriptor.type = SPICE_IMAGE_TYPE_BITMAP;
    QXL_SET_IMAGE_ID(image, QXL_IMAGE_GROUP_RED, display_channel_generate_uid(display));
    image->descriptor.width = bitmap->x;
    image->descriptor.height = bitmap->y;
    image->u.bitmap = *bitmap;

    if (rop != SPICE_ROPD_OP_PUT) {
        drawable->effect = QXL_EFFECT_BLEND;
    }
    drawable->u.copy.src_bitmap = image;
    drawable->u.copy.src_area = { 0, 0, static_cast<int32_t>(bitmap->x),
                                  static_cast<int32_t>(bitmap->y) };
    drawable->u.copy.rop_descriptor = rop;

    const std::shared_ptr<size_t> total = bitmaps;
    *total += size;
    drawable->goes_with = std::shared_ptr<void>(nullptr, [total, size](void *) { *total -= size; });
    display_channel_process_draw(display, std::move(drawable), generation);
}

void DisplayMotion::emit(const SpiceRect &where)
{
    const int width = where.right - where.left, height = where.bottom - where.top;
    const size_t line = static_cast<size_t>(width) * motion->get_bytes();
    const size_t stride = SPICE_ALIGN(line, 4);
    auto pixels = static_cast<uint8_t *>(spice_malloc_n(height, stride));
    SpiceBitmap bitmap = {};

    for (int y = 0; y < height; ++y) {
        memcpy(pixels + y * stride, motion->line(where.left, where.top + y), line);
    }
    bitmap.format = motion->get_bytes() == 2 ? SPICE_BITMAP_FMT_16BIT : SPICE_BITMAP_FMT_32BIT;
    bitmap.stride = stride;
    bitmap.data = spice_chunks_new_linear(pixels, stride * height);
    emit(where, &bitmap, SPICE_ROPD_OP_PUT);
}

/* What find_planes() has found of @where. */
void DisplayMotion::emit_planes(const SpiceRect &where)
{
    uint16_t rop = SPICE_ROPD_OP_PUT;

    for (const auto &plane : planes) {
        SpiceRect dest = plane.where;
        SpiceBitmap bitmap = {};

        rect_offset(&dest, where.left, where.top);
        /* no id: those in the client's cache are the guest's */
        bitmap.palette = static_cast<SpicePalette *>(
            g_malloc0(sizeof(SpicePalette) + sizeof(plane.colours)));
        bitmap.palette->num_ents = G_N_ELEMENTS(plane.colours);
        memcpy(bitmap.palette->ents, plane.colours, sizeof(plane.colours));
        bitmap.format = SPICE_BITMAP_FMT_1BIT_BE;
        bitmap.stride = plane.stride();
        bitmap.data = spice_chunks_new_linear(
            static_cast<uint8_t *>(spice_memdup(plane.bits.data(), plane.bits.size())),
            plane.bits.size());
        emit(dest, &bitmap, rop);
        rop = SPICE_ROPD_OP_XOR;
    }
    planes.clear();
}
