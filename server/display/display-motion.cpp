/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include <common/rect.h>

#include "display-channel-private.h"
#include "dcc-private.h"
#include "display-motion.h"
#include "red-stream-observer.h"
#include "video-stream.h"

/* The result is used if it saves at least one in MIN_SAVED pixels, or half of the drawings. */
#define MIN_SAVED 8

/* Bytes of a drawing without its pixels: 106 with a palette of two colours, 122 with GLZ. */
#define DRAWING_HEADER 120
/* All changed areas become one image if their bounds have at most so many times their pixels. */
#define MAX_SPREAD 4

DisplayMotion::DisplayMotion(DisplayChannel *init_display):
    display(init_display),
    bitmaps(std::make_shared<size_t>(0))
{
    region_init(&doubtful);
}

DisplayMotion::~DisplayMotion()
{
    region_destroy(&doubtful);
}

void DisplayMotion::new_screen()
{
    drop();
    region_clear(&doubtful);
    traces.clear();
    others = 0;
    is_off = false;
}

/* Removes the mirror. Draws the held drawings first, as these are compared with the mirror. */
void DisplayMotion::drop()
{
    flush();
    motion.reset();
}

/* Whether @bbox is not empty, and all of it on the screen. The display rejects other drawings. */
static bool is_inside(const SpiceRect &bbox, const RedSurface *screen)
{
    return bbox.left >= 0 && bbox.left < bbox.right && bbox.right <= screen->context.width &&
           bbox.top >= 0 && bbox.top < bbox.bottom && bbox.bottom <= screen->context.height;
}

/* Whether @drawable draws an unchanged bitmap on the screen. @bytes: set to its bytes per pixel. */
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
        /* such a screen has no alpha, so that of the bitmap is ignored */
        *bytes = screen->context.format == SPICE_SURFACE_FMT_32_xRGB ? 4 : 0;
        break;
    case SPICE_BITMAP_FMT_16BIT:
        *bytes = screen->context.format == SPICE_SURFACE_FMT_16_555 ? 2 : 0;
        break;
    default:
        *bytes = 0;
    }
    /* the guest may still write to an unstable bitmap, so it cannot be compared */
    if (!*bytes || bitmap.palette || (bitmap.data->flags & SPICE_CHUNKS_FLAGS_UNSTABLE)) {
        return false;
    }

    /* its lines are listed, however few are drawn */
    if (bitmap.y > static_cast<uint32_t>(screen->context.height)) {
        return false;
    }
    /* the display checks these, and may reject the drawing */
    for (const int surface_id : drawable->surface_deps) {
        if (surface_id != -1) {
            return false;
        }
    }

    const SpiceRect &area = copy.src_area, &bbox = drawable->bbox;
    if (!is_inside(bbox, screen) || area.left < 0 || area.right > static_cast<int64_t>(bitmap.x) ||
        area.top < 0 || area.bottom > static_cast<int64_t>(bitmap.y) ||
        area.right - area.left != bbox.right - bbox.left ||
        area.bottom - area.top != bbox.bottom - bbox.top) {
        return false;
    }
    switch (drawable->clip.type) {
    case SPICE_CLIP_TYPE_NONE:
        return true;
    case SPICE_CLIP_TYPE_RECTS: {
        const SpiceClipRects *clip = drawable->clip.rects;
        uint64_t pixels = 0;

        if (clip->num_rects > RED_MOTION_MAX_RECTS) {
            return false;
        }
        for (uint32_t i = 0; i < clip->num_rects; ++i) {
            SpiceRect where = bbox;

            rect_sect(&where, &clip->rects[i]);
            pixels += rect_is_empty(&where) ? 0 : rect_get_area(&where);
        }
        /* what overlaps would be compared once per rectangle */
        return pixels <= static_cast<uint64_t>(rect_get_area(&bbox));
    }
    default:
        return false;
    }
}

/* Fill lines with the addresses of the lines of @bitmap. False if its chunks have fewer than
 * bitmap->y. */
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

/* Whether @drawable overlaps a video. A video only continues from frames that are passed on
 * unchanged. */
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

/* The trace of an earlier drawing at the place of this one, or null. */
DisplayMotion::Trace *DisplayMotion::find_trace(const RedDrawable *drawable)
{
    for (auto &trace : traces) {
        if (rect_is_equal(&trace.where, &drawable->bbox)) {
            return &trace;
        }
    }
    return nullptr;
}

/* Whether @drawable may be the next frame of a video that is not detected yet. Uses the
 * conditions of is_next_stream_frame() and video_stream_add_frame(). */
bool DisplayMotion::may_play(const RedDrawable *drawable)
{
    const bool is_small = rect_get_area(&drawable->bbox) < RED_STREAM_MIN_SIZE;
    const Trace *trace = is_small ? nullptr : find_trace(drawable);

    return trace && trace->since_gradual <= RED_STREAM_FRAMES_RESET_CONDITION &&
           spice_get_monotonic_time_ns() - trace->time <= RED_STREAM_DETECTION_MAX_DELTA;
}

/* Note where those held drawings are that may be frames, and whether their content is smooth.
 * That takes long to find out, and need not be for text, for what mostly moved (in a camera's
 * video hardly any pixel moves exactly), and for a change smaller than any video. Returns
 * whether a single drawing may be one. */
bool DisplayMotion::note_frames(const RedMotionFound &found, bool is_text)
{
    const bool is_known = is_text || found.moved_pixels > found.changed_pixels ||
                          found.changed_pixels < RED_STREAM_MIN_SIZE;
    const unsigned long_ago = RED_STREAM_FRAMES_RESET_CONDITION + 1;
    const uint64_t now = spice_get_monotonic_time_ns();

    for (const auto &drawable : held) {
        if (display->priv->stream_video == SPICE_STREAM_VIDEO_OFF ||
            rect_get_area(&drawable->bbox) < RED_STREAM_MIN_SIZE) {
            continue;
        }
        Trace *trace = find_trace(drawable.get());
        if (!trace) {
            const Trace added = { drawable->bbox, now, long_ago };

            if (traces.size() < RED_MOTION_MAX_RECTS) {
                traces.push_back(added);
            } else {
                traces[next_trace++ % traces.size()] = added;
            }
            continue;
        }
        const bool is_next = now - trace->time <= RED_STREAM_DETECTION_MAX_DELTA;
        SpiceBitmap *bitmap = &drawable->u.copy.src_bitmap->u.bitmap;

        trace->time = now;
        if (!is_next) {
            trace->since_gradual = long_ago;
        } else if (!is_known && (bitmap_has_extra_stride(bitmap) ||
                                 bitmap_get_graduality_level(bitmap) != BITMAP_GRADUAL_LOW)) {
            trace->since_gradual = 0;
        } else {
            trace->since_gradual = MIN(trace->since_gradual + 1, long_ago);
        }
    }
    return held.size() == 1 && !is_known && may_play(held[0].get());
}

/* Turn the stage off when other drawings have drawn a screen more than bitmaps, and on again
 * when bitmaps have drawn as much: guests that mainly draw other things gain nothing from the
 * mirror. */
void DisplayMotion::know(const RedDrawable *drawable, bool is_fit)
{
    const RedSurface *screen = display->priv->surfaces[0];

    if (!screen || drawable->surface_id != 0) {
        return;
    }
    SpiceRect where = { 0, 0, static_cast<int>(screen->context.width),
                        static_cast<int>(screen->context.height) };
    const uint64_t all = uint64_t{screen->context.width} * screen->context.height, before = others;
    rect_sect(&where, &drawable->bbox);
    const uint64_t pixels = rect_is_empty(&where) ? 0 :
                            uint64_t(where.right - where.left) * (where.bottom - where.top);
    others = is_fit ? others - MIN(others, pixels) : MIN(others + pixels, all);
    if (!is_fit && before + pixels > all) {
        is_off = true;
        drop();
    } else if (others == 0) {
        is_off = false;
        looks = looks || before > 0;
    }
}

/* Note what a composite has drawn, and what may be copied from there. Canvases differ: in that of a
 * client without fixes/0080 the transform of an earlier composite may still be in effect. */
void DisplayMotion::doubt(const RedDrawable *drawable, bool is_fit)
{
    const RedSurface *screen = display->priv->surfaces[0];
    const SpiceRect &bbox = drawable->bbox;
    const bool is_composite = drawable->type == QXL_DRAW_COMPOSITE;
    const bool reads_surface =
        std::any_of(std::begin(drawable->surface_deps), std::end(drawable->surface_deps),
                    [](int surface_id) { return surface_id >= 0; });
    const bool doubts = !region_is_empty(&doubtful);

    if (drawable->surface_id != 0) {
        doubts_surfaces = doubts_surfaces || is_composite || (reads_surface && doubts);
        return;
    }
    if (!screen || !is_inside(bbox, screen)) {
        return;
    }
    bool copies = reads_surface && (doubts_surfaces || doubts);
    if (drawable->type == QXL_COPY_BITS && doubts) {
        const SpiceRect all = dcc_surface_bounds(screen);
        SpiceRect from = dcc_copy_source(drawable);

        rect_sect(&from, &all);
        pixman_box32_t source = { from.left, from.top, from.right, from.bottom };
        copies = !rect_is_empty(&from) &&
                 pixman_region32_contains_rectangle(&doubtful, &source) != PIXMAN_REGION_OUT;
    }
    if (is_composite || copies) {
        region_add(&doubtful, &bbox);
    } else if (doubts && is_fit && drawable->clip.type == SPICE_CLIP_TYPE_NONE) {
        region_remove(&doubtful, &bbox);
    }
    if (pixman_region32_n_rects(&doubtful) > RED_MOTION_MAX_RECTS) {
        const SpiceRect extents = {
            doubtful.extents.x1, doubtful.extents.y1, doubtful.extents.x2, doubtful.extents.y2
        };

        region_add(&doubtful, &extents);
    }
}

bool DisplayMotion::overlaps(const RedDrawable *drawable) const
{
    return !held.empty() && motion->is_written(drawable->bbox);
}

/* More than RED_MOTION_MAX_RECTS drawings cannot be passed on unchanged, as the display has no
 * room for them. They are held if what is found can be drawn instead, whatever it is: the screen
 * is known, so that is bounded (RedMotion::find()), and catch-up repairs what it leaves lossy. */
bool DisplayMotion::is_full()
{
    if (held.size() < RED_MOTION_MAX_RECTS) {
        return false;
    }
    if (MAX(held.size(), motion->count_written()) >= RED_MOTION_MAX_WRITTEN) {
        return true;
    }
    return held.size() == RED_MOTION_MAX_RECTS &&
           !(red_catch_up_setting.get(red_stream_policy_get()) && motion->knows_all() &&
             has_room(motion->get_stride() * motion->get_height()));
}

/* Fill unknown parts of the mirror from the canvas, except what clients may show otherwise, and what
 * the next drawing covers (null: nothing). */
void DisplayMotion::look(const SpiceRect *covered)
{
    const RedSurface *screen = display->priv->surfaces[0];
    const SpiceRect all = { 0, 0, motion->get_width(), motion->get_height() };
    QRegion unknown;
    uint32_t n_rects;

    looks = false;
    region_init(&unknown);
    region_add(&unknown, &all);
    region_exclude(&unknown, motion->get_known());
    region_exclude(&unknown, &doubtful);
    if (covered) {
        region_remove(&unknown, covered);
    }
    SpiceRect *rects = region_dup_rects(&unknown, &n_rects);
    region_destroy(&unknown);
    for (uint32_t i = 0; i < n_rects; ++i) {
        const SpiceRect &where = rects[i];

        counters.read += rect_get_area(&where);
        display_channel_draw(display, &where, 0);
        screen->context.canvas->ops->read_bits(screen->context.canvas,
                                               motion->line(where.left, where.top),
                                               motion->get_stride(), &where);
        motion->know(where);
    }
    g_free(rects);
}

/* Invalidate the mirror inside @where. */
void DisplayMotion::forget(SpiceRect where)
{
    const SpiceRect all = { 0, 0, motion->get_width(), motion->get_height() };

    rect_sect(&where, &all);
    if (!rect_is_empty(&where)) {
        motion->forget(&where);
    }
}

/* Invalidate the mirror where videos are. Clients have lossy frames there. */
void DisplayMotion::forget_videos()
{
    RingItem *item;

    RING_FOREACH(item, &display->priv->streams) {
        forget(SPICE_CONTAINEROF(item, VideoStream, link)->dest_area);
    }
}

/* Write @drawable into the mirror and hold it. False if its bitmap has too few lines. */
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
    if (held.empty()) {
        if (looks) {
            look(clip ? nullptr : &bbox);
        }
        /* the last drawings may have started one */
        forget_videos();
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
        for (int y = where.top; y < where.bottom; ++y) {
            motion->write(where.left, y, lines[y - bbox.top + from.y] + offset,
                          where.right - where.left);
        }
        motion->wrote(where);
    }
    held.push_back(std::move(drawable));
    return true;
}

/* Pass @drawable on unchanged. The mirror is invalidated where it draws. */
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
    doubt(drawable.get(), fits);
    /* no client, so no mirror is needed; with SPICE_STREAM_VIDEO_ALL anything may be a video */
    if (!display->is_connected()) {
        drop();
    }
    if (!fits || is_off || !display->is_connected() ||
        display->priv->stream_video == SPICE_STREAM_VIDEO_ALL || keeps_losses()) {
        flush();
        pass(std::move(drawable));
        return;
    }
    if (plays(drawable.get())) {
        /* the mirror is to know less, see is_full() */
        if (overlaps(drawable.get()) || held.size() > RED_MOTION_MAX_RECTS) {
            flush();
        }
        pass(std::move(drawable));
        return;
    }

    const bool is_frame = may_play(drawable.get());
    if (is_frame || overlaps(drawable.get()) || is_full()) {
        flush();
    }
    if (!hold(std::move(drawable), bytes)) {
        flush();
        pass(std::move(drawable));
    } else if (is_frame) {
        flush();
    }
}

/* Whether most changed pixels differ from their neighbours, as in photos and video. */
bool DisplayMotion::is_noise(const RedMotionFound &found) const
{
    size_t changes = 0;

    for (const auto &where : found.changed) {
        changes += red_planes_count_changes(motion->line(where.left, where.top),
                                            motion->get_stride(),
                                            where.right - where.left, where.bottom - where.top,
                                            motion->get_bytes());
    }
    return changes * 2 > found.changed_pixels;
}

/* Whether there may be so many bytes of bitmaps more. If not, those that were sent, and that
 * only the GLZ dictionaries of clients keep, make room. */
bool DisplayMotion::has_room(size_t bytes)
{
    if (bytes <= DISPLAY_MOTION_BITMAPS && *bitmaps + bytes > DISPLAY_MOTION_BITMAPS) {
        display_channel_free_glz_drawables(display);
    }
    return *bitmaps + bytes <= DISPLAY_MOTION_BITMAPS;
}

/* Whether to draw what the comparison has found instead of what the guest drew. */
bool DisplayMotion::is_worth(const RedMotionFound &found) const
{
    if (found.moves.size() + found.changed.size() > RED_MOTION_MAX_RECTS) {
        return false;
    }
    const uint64_t saved = found.written_pixels - MIN(found.changed_pixels, found.written_pixels);

    if (!found.moves.empty() || saved * MIN_SAVED >= found.written_pixels) {
        return true;
    }
    /* one image of a photo or a video is no smaller than several, and while it is sent, no part
     * of it can be replaced by the next frame */
    return found.changed.size() * 2 <= held.size() && !is_noise(found);
}

/* Whether all clients decode images with palettes and support XOR. The protocol has always had
 * both, but spice-html5 and ryll support neither, and no capability says so. Clients with the
 * canvas of spice-common support both. These have the capabilities COMPOSITE, A8_SURFACE, and
 * CODEC_VP8 (where GStreamer's plugin is installed; without it they get images as before).
 * spice-html5 lacks the first two, ryll the last. */
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

/* Whether @where takes fewer bytes as images of two colours than @rects, all of which are inside
 * @where, take as ordinary images. planes becomes these images. */
bool DisplayMotion::find_planes(const SpiceRect &where, const SpiceRect *rects, size_t n_rects)
{
    const size_t stride = motion->get_stride();
    size_t bytes = n_rects * DRAWING_HEADER;

    if (!red_planes_split(motion->line(where.left, where.top), stride, where.right - where.left,
                          where.bottom - where.top, &planes)) {
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

/* The same for one image of all changed areas. */
bool DisplayMotion::find_planes(const RedMotionFound &found)
{
    const auto &changed = found.changed;

    if (changed.empty()) {
        return false;
    }
    const SpiceRect bounds = bounds_of(changed);
    return uint64_t(rect_get_area(&bounds)) <= found.changed_pixels * MAX_SPREAD &&
           motion->is_shown(&bounds) && find_planes(bounds, changed.data(), changed.size());
}

/* The observers of all clients of the display are told the same. */
static void publish(DisplayChannel *display, const DisplayMotionCounters &counters)
{
    DisplayChannelClient *dcc;

    FOREACH_DCC(display, dcc) {
        if (RedStreamObserver *const observer = red_stream_get_observer(dcc->get_stream())) {
            observer->event("motion", { int64_t(counters.moves), int64_t(counters.moved),
                                        int64_t(counters.equal), int64_t(counters.sent) });
        }
    }
}

/* Where the guest's drawings look like photos. An image of text, too, would be sent with the
 * codec of one of them only: text as JPEG, or the photo in several times the bytes. */
void DisplayMotion::find_smooth(const Drawings &drawn, QRegion *smooth)
{
    for (const auto &drawable : drawn) {
        SpiceBitmap *bitmap = &drawable->u.copy.src_bitmap->u.bitmap;
        QRegion where;

        if (bitmap_has_extra_stride(bitmap) ||
            bitmap_get_graduality_level(bitmap) != BITMAP_GRADUAL_HIGH) {
            continue;
        }
        dcc_drawing_region(drawable.get(), &where);
        region_or(smooth, &where);
        region_destroy(&where);
    }
}

static void add_rects(const QRegion *region, std::vector<SpiceRect> *rects)
{
    uint32_t n_rects;
    SpiceRect *added = region_dup_rects(region, &n_rects);

    rects->insert(rects->end(), added, added + n_rects);
    g_free(added);
}

/* The parts of @where inside and outside of @smooth, if these are at most @limit. */
static std::vector<SpiceRect> split(const SpiceRect &where, const QRegion *smooth, size_t limit)
{
    QRegion inside, outside;
    std::vector<SpiceRect> parts;

    region_init(&outside);
    region_add(&outside, &where);
    region_clone(&inside, &outside);
    region_and(&inside, smooth);
    region_exclude(&outside, smooth);
    add_rects(&inside, &parts);
    add_rects(&outside, &parts);
    region_destroy(&inside);
    region_destroy(&outside);
    return parts.size() <= limit ? parts : std::vector<SpiceRect>(1, where);
}

/* Whether a client would get current pixels instead of one of the moves. What the guest has drawn
 * is smaller, as its photos are JPEG and its text is not. */
bool DisplayMotion::gets_no_copy(const RedMotionFound &found) const
{
    DisplayChannelClient *dcc;

    FOREACH_DCC(display, dcc) {
        for (const auto &move : found.moves) {
            const SpiceRect source = {
                move.src.x, move.src.y, move.src.x + move.dest.right - move.dest.left,
                move.src.y + move.dest.bottom - move.dest.top
            };
            if (dcc->priv->catch_up.gets_no_copy(source)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether losses of a client would stay where equal pixels are not drawn, or where a move copies
 * them to: also those of images that wait. */
bool DisplayMotion::keeps_losses() const
{
    DisplayChannelClient *dcc;

    FOREACH_DCC(display, dcc) {
        if (dcc->priv->catch_up.keeps_losses()) {
            return true;
        }
    }
    return false;
}

void DisplayMotion::flush()
{
    if (held.empty()) {
        return;
    }

    Drawings drawn;
    const RedMotionFound &found = motion->find();
    const bool fits = has_room(found.changed_pixels * motion->get_bytes());
    const bool can_plane = takes_planes();
    const bool all_planes = fits && can_plane && find_planes(found);
    const bool is_frame = note_frames(found, all_planes);
    const bool is_many = held.size() > RED_MOTION_MAX_RECTS;
    const bool worth = is_many || ((all_planes || (fits && !is_frame && is_worth(found))) &&
                                   !keeps_losses() && !gets_no_copy(found));

    std::swap(drawn, held);
    if (!worth) {
        counters.sent += found.written_pixels;
        publish(display, counters);
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
    publish(display, counters);
    if (const auto &screen = display->priv->surfaces[0]->screen) {
        for (const auto &drawable : drawn) {
            screen->drew(drawable.get());
        }
    }
    for (const auto &move : found.moves) {
        emit(move);
    }
    if (all_planes) {
        emit_planes(bounds_of(found.changed));
    } else {
        emit_changed(found, drawn, can_plane);
    }
    /* upstream would have sent these, with losses or not */
    DisplayChannelClient *dcc;
    FOREACH_DCC(display, dcc) {
        for (const auto &drawable : drawn) {
            dcc->priv->catch_up.replaced(drawable.get());
        }
    }
}

void DisplayMotion::emit_changed(const RedMotionFound &found, const Drawings &drawn, bool can_plane)
{
    size_t drawings = found.moves.size() + found.changed.size();
    QRegion smooth;

    region_init(&smooth);
    /* smaller ones are no photos, and differ little with the codec */
    if (drawn.size() > 1 && found.changed_pixels >= RED_STREAM_MIN_SIZE) {
        find_smooth(drawn, &smooth);
    }
    for (const auto &where : found.changed) {
        /* if it is all that changed, it was tried, unless nothing is known any more */
        if (can_plane && found.changed.size() > 1 && find_planes(where, &where, 1) &&
            drawings + planes.size() <= RED_MOTION_MAX_RECTS) {
            drawings += planes.size() - 1;
            emit_planes(where);
            continue;
        }
        const auto parts =
            split(where, &smooth, RED_MOTION_MAX_RECTS - MIN(drawings, RED_MOTION_MAX_RECTS) + 1);
        drawings += parts.size() - 1;
        for (const auto &part : parts) {
            emit(part);
        }
    }
    region_destroy(&smooth);
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

/* Takes ownership of the data and the palette of @bitmap. */
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
    auto pixels = static_cast<uint8_t *>(spice_malloc0_n(height, stride));
    SpiceBitmap bitmap = {};

    for (int y = 0; y < height; ++y) {
        memcpy(pixels + y * stride, motion->line(where.left, where.top + y), line);
    }
    bitmap.format = motion->get_bytes() == 2 ? SPICE_BITMAP_FMT_16BIT : SPICE_BITMAP_FMT_32BIT;
    bitmap.stride = stride;
    bitmap.data = spice_chunks_new_linear(pixels, stride * height);
    emit(where, &bitmap, SPICE_ROPD_OP_PUT);
}

/* Draw the images of two colours that find_planes() has made of @where. */
void DisplayMotion::emit_planes(const SpiceRect &where)
{
    uint16_t rop = SPICE_ROPD_OP_PUT;

    for (const auto &plane : planes) {
        SpiceRect dest = plane.where;
        SpiceBitmap bitmap = {};

        rect_offset(&dest, where.left, where.top);
        /* no id, as ids in the client's palette cache belong to the guest */
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
