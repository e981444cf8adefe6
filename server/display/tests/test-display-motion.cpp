/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A guest without a drawing driver sends rectangles of its frame buffer, through a server to
 * clients. The clients show it to the pixel and are sent little for what moved or is equal. The
 * guest gets each of its resources back once. Videos are detected as without the display stage.
 */
#include <config.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "display-channel-private.h"
#include "reds.h"
#include "test-picture-client.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

enum { WIDTH = 320, HEIGHT = 208, LINE = 16 };

using Client = TestPictureClient;

/* How a bitmap is sent. */
struct Form
{
    uint8_t format = SPICE_BITMAP_FMT_32BIT;
    uint8_t flags = QXL_BITMAP_DIRECT | QXL_BITMAP_TOP_DOWN;
    /* pixels beside it, of each line */
    int beside = 0;
    /* with a clip rectangle inside of something larger that must not be seen */
    bool is_clipped = false;
    /* how often that rectangle is in the list */
    int clips = 1;
    bool is_cached = false;
    /* lines of the bitmap that are not drawn, below those that are */
    int below = 0;
    /* that the drawing names as read; none */
    int surface = -1;
};

struct Guest
{
    std::vector<std::shared_ptr<void>> memory;
    TestDevice device;
    std::vector<uint32_t> screen_memory;
    Picture screen;
    /* what was sent */
    Picture sent;
    Pictures shown;
    uint64_t commands = 0;
    /* of noise */
    uint32_t colours = 1 << 24;
    GRand *const rand = g_rand_new_with_seed(11);

    explicit Guest(int width=WIDTH, int height=HEIGHT)
    {
        g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
        spice_server_set_image_compression(device.server, SPICE_IMAGE_COMPRESSION_OFF);
        device.run();
        new_screen(width, height);
    }

    ~Guest() { g_rand_free(rand); }

    int random(int end) { return g_rand_int_range(rand, 0, end); }

    void new_screen(int width, int height)
    {
        spice_qxl_destroy_primary_surface(&device.qxl, 0);
        screen_memory.assign(width * height, 0);
        device.create_screen(width, height, screen_memory.data());
        screen = sent = Picture(width, height);
        shown[0] = sent;
    }

    Box all() const { return { 0, 0, screen.width, screen.height }; }

    void noise(const Box &box)
    {
        for (int y = box.top; y < box.top + box.height; ++y) {
            for (int x = box.left; x < box.left + box.width; ++x) {
                screen.at(x, y) = random(colours) * (colours < 1000 ? 0x151413 : 1);
            }
        }
    }

    /* What is within @box goes there by so much. */
    void move(const Box &box, int dx, int dy)
    {
        const Picture before = screen;
        Picture from = before;

        for (int y = box.top; y < box.top + box.height; ++y) {
            for (int x = box.left; x < box.left + box.width; ++x) {
                const int from_x = x - dx, from_y = y - dy;

                if (from_x >= box.left && from_x < box.left + box.width &&
                    from_y >= box.top && from_y < box.top + box.height) {
                    screen.at(x, y) = from.at(from_x, from_y);
                }
            }
        }
    }

    /* As a line of text that is written, and scrolls. */
    void scroll()
    {
        move(all(), 0, -LINE);
        noise({ 0, screen.height - LINE, screen.width, LINE });
    }

    /* Send of a part of the screen what is there. */
    void send(const Box &box, const Form &form=Form())
    {
        Box outer = box;

        if (form.is_clipped) {
            outer.left = random(box.left + 1);
            outer.top = random(box.top + 1);
            outer.width = box.left + box.width - outer.left;
            outer.height = box.top + box.height - outer.top;
        }
        const int stride = outer.width + form.beside;
        uint32_t *const pixels = keep<uint32_t>(stride * (outer.height + form.below));
        QXLImage *const image = keep<QXLImage>();
        QXLDrawable *const drawable = draw(outer, QXL_DRAW_COPY);

        for (int y = 0; y < outer.height; ++y) {
            const int line = form.flags & QXL_BITMAP_TOP_DOWN ? y : outer.height - 1 - y;

            for (int x = 0; x < outer.width; ++x) {
                const bool is_inside = x + outer.left >= box.left && y + outer.top >= box.top;

                pixels[line * stride + x] =
                    is_inside ? screen.at(outer.left + x, outer.top + y) : 0xbadbad;
            }
        }
        image->descriptor.id = commands;
        image->descriptor.type = SPICE_IMAGE_TYPE_BITMAP;
        image->descriptor.flags = form.is_cached ? QXL_IMAGE_CACHE : 0;
        image->descriptor.width = image->bitmap.x = stride;
        image->descriptor.height = image->bitmap.y = outer.height + form.below;
        image->bitmap.format = form.format;
        image->bitmap.flags = form.flags;
        image->bitmap.stride = stride * 4;
        if (form.flags & QXL_BITMAP_DIRECT) {
            image->bitmap.data = reinterpret_cast<uintptr_t>(pixels);
        } else {
            image->bitmap.data = chunks(reinterpret_cast<uint8_t *>(pixels),
                                        stride * outer.height * 4, stride * 4);
        }
        if (form.is_clipped) {
            const std::vector<QXLRect> inner(form.clips, rect(box));
            const size_t size = inner.size() * sizeof(QXLRect);
            auto clip = reinterpret_cast<QXLClipRects *>(keep<uint8_t>(sizeof(QXLClipRects) + size));

            clip->num_rects = inner.size();
            clip->chunk.data_size = size;
            memcpy(clip->chunk.data, inner.data(), size);
            drawable->clip.type = SPICE_CLIP_TYPE_RECTS;
            drawable->clip.data = reinterpret_cast<uintptr_t>(clip);
        }
        drawable->surfaces_dest[0] = form.surface;
        drawable->u.copy.src_bitmap = reinterpret_cast<uintptr_t>(image);
        drawable->u.copy.src_area = rect({ 0, 0, outer.width, outer.height });
        drawable->u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
        device.push(QXL_CMD_DRAW, drawable);
        sent.copy(box, screen, box.left, box.top);
        shown[0] = sent;
    }

    /* Columns of 32 pixels, the lines that have changed in each. */
    void sweep()
    {
        for (int left = 0; left < screen.width; left += 32) {
            const int width = std::min(32, screen.width - left);
            int top = -1;

            for (int y = 0; y <= screen.height; ++y) {
                const bool changed = y < screen.height &&
                    memcmp(&screen.at(left, y), &sent.at(left, y), width * 4) != 0;

                if (changed && top < 0) {
                    top = y;
                } else if (!changed && top >= 0) {
                    send({ left, top, width, y - top });
                    top = -1;
                }
            }
        }
    }

    void fill(const Box &box, uint32_t colour)
    {
        QXLDrawable *const drawable = draw(box, QXL_DRAW_FILL);

        drawable->u.fill.brush.type = SPICE_BRUSH_TYPE_SOLID;
        drawable->u.fill.brush.u.color = colour;
        drawable->u.fill.rop_descriptor = SPICE_ROPD_OP_PUT;
        device.push(QXL_CMD_DRAW, drawable);
        screen.fill(box, colour, false);
        sent.fill(box, colour, false);
        shown[0] = sent;
    }

    void copy_bits(const Box &box, int left, int top)
    {
        QXLDrawable *const drawable = draw(box, QXL_COPY_BITS);

        drawable->u.copy_bits.src_pos.x = left;
        drawable->u.copy_bits.src_pos.y = top;
        device.push(QXL_CMD_DRAW, drawable);
        sent.copy(box, sent, left, top);
        screen.copy(box, sent, box.left, box.top);
        shown[0] = sent;
    }

    Box random_box()
    {
        const int width = 1 + random(screen.width), height = 1 + random(screen.height);

        return { random(screen.width - width + 1), random(screen.height - height + 1), width,
                 height };
    }

    Form random_form()
    {
        Form form;

        if (random(2)) {
            form.format = SPICE_BITMAP_FMT_RGBA;
        }
        if (random(3) == 0) {
            form.flags &= ~QXL_BITMAP_TOP_DOWN;
        }
        if (random(4) == 0) {
            form.flags &= ~QXL_BITMAP_DIRECT;
        }
        form.beside = random(3) ? 0 : random(9);
        form.is_clipped = random(4) == 0;
        return form;
    }

    /* Each command is back, once. */
    void check_released()
    {
        QXLRect area = rect(all()), dirty;

        spice_qxl_update_area(&device.qxl, 0, &area, &dirty, 1, 0);
        device.run();
        std::vector<uint64_t> released = device.released;
        std::sort(released.begin(), released.end());
        g_assert_cmpuint(released.size(), ==, commands);
        for (uint64_t i = 0; i < commands; ++i) {
            g_assert_cmpuint(released[i], ==, i + 1);
        }
    }

protected:
    static QXLRect rect(const Box &box)
    {
        return { box.top, box.left, box.top + box.height, box.left + box.width };
    }

    template <typename T> T *keep(size_t n=1)
    {
        void *const data = g_malloc0_n(n, sizeof(T));

        memory.push_back(std::shared_ptr<void>(data, g_free));
        return static_cast<T *>(data);
    }

    /* In pieces of up to three lines, and some of no whole number of them. */
    uintptr_t chunks(const uint8_t *data, uint32_t size, uint32_t stride)
    {
        QXLDataChunk *first = nullptr, *last = nullptr;

        while (size) {
            const uint32_t part = std::min<uint32_t>(size, random(8) ? stride * (1 + random(3)) :
                                                           1 + random(stride));
            auto chunk = reinterpret_cast<QXLDataChunk *>(
                keep<uint8_t>(sizeof(QXLDataChunk) + part));

            chunk->data_size = part;
            memcpy(chunk->data, data, part);
            if (last) {
                last->next_chunk = reinterpret_cast<uintptr_t>(chunk);
                chunk->prev_chunk = reinterpret_cast<uintptr_t>(last);
            } else {
                first = chunk;
            }
            last = chunk;
            data += part;
            size -= part;
        }
        return reinterpret_cast<uintptr_t>(first);
    }

    QXLDrawable *draw(const Box &box, uint8_t type)
    {
        QXLDrawable *drawable = keep<QXLDrawable>();

        drawable->release_info.id = ++commands;
        drawable->surface_id = 0;
        drawable->type = type;
        drawable->effect = QXL_EFFECT_OPAQUE;
        drawable->bbox = rect(box);
        drawable->clip.type = SPICE_CLIP_TYPE_NONE;
        memset(drawable->surfaces_dest, 0xff, sizeof(drawable->surfaces_dest));
        return drawable;
    }
};

/* A guest that draws bitmaps of any kind and shape, also such as are wrong. What the server shows
 * is looked at in the memory of the screen. */
struct OddGuest: Guest
{
    enum { MAX_SIDE = 160 };
    std::vector<uint32_t> memory_of_screen = std::vector<uint32_t>(MAX_SIDE * MAX_SIDE);
    int depth = 32;

    /* What was drawn on the last one may not have been taken yet. */
    void other_screen()
    {
        QXLDevSurfaceCreate surface = {};

        spice_qxl_destroy_primary_surface(&device.qxl, 0);
        depth = random(3) ? 32 : 16;
        sent = Picture(33 + random(MAX_SIDE - 33), 33 + random(MAX_SIDE - 33));
        std::fill(memory_of_screen.begin(), memory_of_screen.end(), 0);
        surface.width = sent.width;
        surface.height = sent.height;
        surface.stride = stride_of(sent.width, depth);
        surface.format = depth == 32 ? SPICE_SURFACE_FMT_32_xRGB : SPICE_SURFACE_FMT_16_555;
        surface.mem = reinterpret_cast<uintptr_t>(memory_of_screen.data());
        spice_qxl_create_primary_surface(&device.qxl, 0, &surface);
    }

    /* What the server shows. */
    Picture look()
    {
        QXLRect area = rect({ 0, 0, sent.width, sent.height }), dirty;
        Picture picture(sent.width, sent.height);
        const auto bytes = reinterpret_cast<const uint8_t *>(memory_of_screen.data());

        spice_qxl_update_area(&device.qxl, 0, &area, &dirty, 1, 0);
        for (int y = 0; y < picture.height; ++y) {
            for (int x = 0; x < picture.width; ++x) {
                const uint8_t *pixel = bytes + y * stride_of(picture.width, depth) + x * depth / 8;
                uint16_t narrow;

                if (depth == 32) {
                    memcpy(&picture.at(x, y), pixel, sizeof(uint32_t));
                } else {
                    memcpy(&narrow, pixel, sizeof(narrow));
                    picture.at(x, y) = narrow & 0x7fff;
                }
            }
        }
        return picture;
    }

    /* @is_wrong: one thing about it is; what that draws is for the server to say */
    void draw_bitmap(bool is_wrong)
    {
        static const struct { uint8_t format; int bits; } kinds[] = {
            { SPICE_BITMAP_FMT_16BIT, 16 }, { SPICE_BITMAP_FMT_32BIT, 32 },
            { SPICE_BITMAP_FMT_RGBA, 32 }, { SPICE_BITMAP_FMT_32BIT, 32 },
            { SPICE_BITMAP_FMT_8BIT, 8 }, { SPICE_BITMAP_FMT_4BIT_BE, 4 },
            { SPICE_BITMAP_FMT_1BIT_BE, 1 },
        };
        const auto &kind = kinds[depth == 16 ? 0 : random(G_N_ELEMENTS(kinds))];
        const Box box = random_box_of(sent);
        const int left = random(3) ? 0 : random(9), top = random(3) ? 0 : random(9);
        const int width = left + box.width + (random(3) ? 0 : random(9));
        const int height = top + box.height + (random(3) ? 0 : random(9));
        const int stride = stride_of(width, kind.bits) + (random(3) ? 0 : 4 * random(5));
        uint8_t *const data = keep<uint8_t>(stride * height);
        const uint32_t size = stride * height;
        const bool top_down = random(3) != 0;
        const int dx = random(21) - 10, dy = random(21) - 10;
        const bool is_new = random(3) == 0;
        QXLPalette *const palette = reinterpret_cast<QXLPalette *>(
            keep<uint8_t>(sizeof(QXLPalette) + 256 * sizeof(uint32_t)));
        Picture bitmap(width, height);
        QXLImage *const image = keep<QXLImage>();

        palette->num_ents = 1 << MIN(kind.bits, 8);
        for (int i = 0; i < palette->num_ents; ++i) {
            palette->ents[i] = random(1 << 24);
        }
        for (int y = 0; y < height; ++y) {
            uint8_t *const line = data + (top_down ? y : height - 1 - y) * stride;

            for (int x = 0; x < width; ++x) {
                const int from_x = box.left + x - left + dx, from_y = box.top + y - top + dy;
                uint32_t value = random(1 << 24);

                if (!is_new && from_x >= 0 && from_x < sent.width && from_y >= 0 &&
                    from_y < sent.height) {
                    value = sent.at(from_x, from_y);
                }
                bitmap.at(x, y) = put(line, x, kind.bits, value, palette);
            }
        }
        image->descriptor.id = commands;
        image->descriptor.type = SPICE_IMAGE_TYPE_BITMAP;
        image->descriptor.width = image->bitmap.x = width;
        image->descriptor.height = image->bitmap.y = height;
        image->bitmap.format = kind.format;
        image->bitmap.flags = (top_down ? QXL_BITMAP_TOP_DOWN : 0) |
                              (random(20) ? 0 : QXL_BITMAP_UNSTABLE);
        image->bitmap.stride = stride;
        if (random(3)) {
            image->bitmap.flags |= QXL_BITMAP_DIRECT;
            image->bitmap.data = reinterpret_cast<uintptr_t>(data);
        } else {
            image->bitmap.data = chunks(data, size, stride);
        }
        if (kind.bits <= 8) {
            image->bitmap.palette = reinterpret_cast<uintptr_t>(palette);
        }

        QXLDrawable *const drawable = draw(box, QXL_DRAW_COPY);
        drawable->u.copy.src_bitmap = reinterpret_cast<uintptr_t>(image);
        drawable->u.copy.src_area = rect({ left, top, box.width, box.height });
        drawable->u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
        const std::vector<Box> parts = clip(drawable, box);
        const std::vector<bool> mask = add_mask(drawable, box);
        if (is_wrong) {
            spoil(drawable, image);
        }
        device.push(QXL_CMD_DRAW, drawable);

        for (const Box &part : parts) {
            for (int y = part.top; y < part.top + part.height; ++y) {
                for (int x = part.left; x < part.left + part.width; ++x) {
                    if (mask[(y - box.top) * box.width + x - box.left]) {
                        sent.at(x, y) = bitmap.at(left + x - box.left, top + y - box.top);
                    }
                }
            }
        }
        if (is_wrong) {
            sent = look();
        }
    }

    void draw_copy_bits()
    {
        const Box box = random_box_of(sent);

        copy_bits_of(box, random(sent.width - box.width + 1), random(sent.height - box.height + 1));
    }

private:
    static int stride_of(int width, int bits) { return (width * bits + 31) / 32 * 4; }

    Box random_box_of(const Picture &picture)
    {
        const int width = 1 + random(picture.width), height = 1 + random(picture.height);

        return { random(picture.width - width + 1), random(picture.height - height + 1), width,
                 height };
    }

    void copy_bits_of(const Box &box, int left, int top)
    {
        QXLDrawable *const drawable = draw(box, QXL_COPY_BITS);

        drawable->u.copy_bits.src_pos.x = left;
        drawable->u.copy_bits.src_pos.y = top;
        device.push(QXL_CMD_DRAW, drawable);
        sent.copy(box, sent, left, top);
    }

    /* Returns what the pixel shows on this screen. */
    uint32_t put(uint8_t *line, int x, int bits, uint32_t value, const QXLPalette *palette)
    {
        if (bits == 32) {
            memcpy(line + x * 4, &value, sizeof(value));
            return value;
        }
        if (bits == 16) {
            const uint16_t narrow = value & 0x7fff;
            const auto widen = [&](int shift) { const uint32_t five = narrow >> shift & 31;
                                                return five << 3 | five >> 2; };

            memcpy(line + x * 2, &narrow, sizeof(narrow));
            return depth == 16 ? narrow : widen(10) << 16 | widen(5) << 8 | widen(0);
        }
        const uint32_t index = value % (1 << bits);
        const int pixels = 8 / bits;

        line[x / pixels] |= index << (pixels - 1 - x % pixels) * bits;
        return palette->ents[index];
    }

    /* Returns the parts of @box that are drawn. */
    std::vector<Box> clip(QXLDrawable *drawable, const Box &box)
    {
        if (random(2)) {
            return { box };
        }
        const int n_rects = random(10) ? 1 + random(4) : 60 + random(10);
        std::vector<Box> parts;
        std::vector<QXLRect> rects;
        auto clip = reinterpret_cast<QXLClipRects *>(
            keep<uint8_t>(sizeof(QXLClipRects) + n_rects * sizeof(QXLRect)));

        for (int i = 0; i < n_rects; ++i) {
            const int width = 1 + random(box.width), height = 1 + random(box.height);

            parts.push_back({ box.left + random(box.width - width + 1),
                              box.top + random(box.height - height + 1), width, height });
            rects.push_back(rect(parts.back()));
        }
        clip->num_rects = n_rects;
        clip->chunk.data_size = n_rects * sizeof(QXLRect);
        memcpy(clip->chunk.data, rects.data(), n_rects * sizeof(QXLRect));
        drawable->clip.type = SPICE_CLIP_TYPE_RECTS;
        drawable->clip.data = reinterpret_cast<uintptr_t>(clip);
        return parts;
    }

    /* Returns of each pixel of @box whether it is drawn. */
    std::vector<bool> add_mask(QXLDrawable *drawable, const Box &box)
    {
        std::vector<bool> mask(box.width * box.height, true);

        if (random(10)) {
            return mask;
        }
        const int stride = stride_of(box.width, 1);
        uint8_t *const data = keep<uint8_t>(stride * box.height);
        QXLImage *const image = keep<QXLImage>();

        for (int y = 0; y < box.height; ++y) {
            for (int x = 0; x < box.width; ++x) {
                const bool is_drawn = random(2);

                mask[y * box.width + x] = is_drawn;
                data[y * stride + x / 8] |= is_drawn << (7 - x % 8);
            }
        }
        image->descriptor.type = SPICE_IMAGE_TYPE_BITMAP;
        image->descriptor.width = image->bitmap.x = box.width;
        image->descriptor.height = image->bitmap.y = box.height;
        image->bitmap.format = SPICE_BITMAP_FMT_1BIT_BE;
        image->bitmap.flags = QXL_BITMAP_DIRECT | QXL_BITMAP_TOP_DOWN;
        image->bitmap.stride = stride;
        image->bitmap.data = reinterpret_cast<uintptr_t>(data);
        drawable->u.copy.mask.bitmap = reinterpret_cast<uintptr_t>(image);
        drawable->effect = QXL_EFFECT_BLEND;
        return mask;
    }

    /* Nothing behind its memory is pointed to: that is the guest's own. */
    void spoil(QXLDrawable *drawable, QXLImage *image)
    {
        QXLRect *const area = random(2) ? &drawable->u.copy.src_area : &drawable->bbox;
        const int by = random(200) - 100;

        switch (random(6)) {
        case 0:
            area->left += by;
            break;
        case 1:
            area->bottom += by;
            break;
        case 2:
            area->right = random(2) ? G_MAXINT32 : G_MININT32;
            break;
        case 3:
            area->top = random(2) ? G_MAXINT32 : G_MININT32;
            break;
        case 4:
            image->bitmap.stride -= 1 + random(image->bitmap.stride);
            break;
        default:
            image->bitmap.y = random(image->bitmap.y);
        }
    }
};

static void begin(Guest *guest, Client *client)
{
    guest->noise(guest->all());
    guest->sweep();
    guest->device.run();
    g_assert_true(client->comes_to_show(guest->shown));
    client->plain_pixels = 0;
}

/* Overlapping clip rectangles would have a guest's pixels compared once for each: such a drawing passes. */
static void overlapping_clips()
{
    Guest guest;
    Client client(guest.device.server);
    Form form;

    begin(&guest, &client);
    form.is_clipped = true;
    for (form.clips = 1; form.clips <= 2; ++form.clips) {
        client.received.clear();
        guest.scroll();
        guest.send(guest.all(), form);
        guest.device.run();
        g_assert_true(client.comes_to_show(guest.shown));
        g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], ==, form.clips == 1);
    }
    guest.check_released();
}

/* Each line that scrolls is a copy and what is new. */
static void scrolled()
{
    const int lines = 20;
    Guest guest;
    Client client(guest.device.server);

    begin(&guest, &client);
    for (int i = 0; i < lines; ++i) {
        guest.scroll();
        guest.sweep();
        guest.device.run();
        g_assert_true(client.comes_to_show(guest.shown));
    }
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], >=, lines);
    g_assert_cmpint(client.plain_pixels, <, lines * WIDTH * HEIGHT / 3);
    guest.check_released();
}

/* The same picture again is not sent, whatever its form. */
static void equal()
{
    Guest guest;
    Client client(guest.device.server);

    begin(&guest, &client);
    for (int i = 0; i < 20; ++i) {
        guest.send(guest.random_box(), guest.random_form());
        guest.device.run();
    }
    /* what is new is seen after it */
    guest.noise({ 5, 5, 10, 10 });
    guest.send({ 5, 5, 10, 10 });
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.shown));
    g_assert_cmpint(client.plain_pixels, <=, 2 * 32 * 10);
    guest.check_released();
}

/* Bitmaps that may change, that clients are to cache, or that have more lines than the screen, are passed
 * on unchanged. */
static void untouched()
{
    Guest guest;
    Client client(guest.device.server);
    const Box box = { 10, 20, 100, 50 };
    Form unstable, cached, tall;

    unstable.flags |= QXL_BITMAP_UNSTABLE;
    cached.is_cached = true;
    tall.below = HEIGHT;
    begin(&guest, &client);
    int pixels = 0;
    for (const Form &form : { unstable, cached, tall }) {
        for (int i = 0; i < 2; ++i) {
            guest.send(box, form);
            guest.device.run();
            pixels += box.width * box.height;
            g_assert_true(client.reads_until([&] { return client.plain_pixels == pixels; }));
        }
    }
    g_assert_true(client.comes_to_show(guest.shown));
    guest.check_released();
}

/* A drawing that the display rejects is not taken for drawn. */
static void rejected()
{
    Guest guest;
    Client client(guest.device.server);
    const Box box = { 10, 20, 100, 50 };
    Form form;

    form.surface = 7;
    begin(&guest, &client);
    guest.noise(box);
    g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*surface 7 is NULL*");
    guest.send(box, form);
    guest.device.run();
    g_test_assert_expected_messages();
    guest.send(box);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.shown));
    guest.check_released();
}

/* The mirror goes as so much else is drawn, while bitmaps are held. */
static void other_drawings_meanwhile()
{
    Guest guest;
    Client client(guest.device.server);

    begin(&guest, &client);
    for (int i = 0; i < 100; ++i) {
        guest.fill({ i, 10, 40, 40 }, i);
        /* it takes some more fills until they have drawn a screen more */
        if (i >= WIDTH * HEIGHT / (40 * 40) - 2) {
            guest.noise({ 0, 0, 30, 30 });
            guest.send({ 0, 0, 30, 30 });
        }
    }
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.shown));
    /* it comes back when bitmaps have drawn as much */
    client.received.clear();
    for (int i = 0; i < 5; ++i) {
        guest.scroll();
        guest.sweep();
        guest.device.run();
        g_assert_true(client.comes_to_show(guest.shown));
        g_assert_true(i > 0 || client.received[SPICE_MSG_DISPLAY_COPY_BITS] == 0);
    }
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], >=, 1);
    guest.check_released();
}

/* What other drawings changed is read back from the canvas when bitmaps have drawn as much, and only that. */
static void other_drawings_read()
{
    Guest guest;
    Client client(guest.device.server);

    begin(&guest, &client);
    const auto read_after = [&](const std::initializer_list<Box> &fills, int side) {
        for (const Box &box : fills) {
            guest.fill(box, guest.random(1 << 24));
        }
        for (int i = 0; i < 12; ++i) {
            const Box box = { 40, 40, side, side };

            guest.noise(box);
            guest.send(box);
            guest.device.run();
        }
        g_assert_true(client.comes_to_show(guest.shown));
        return static_cast<DisplayChannel *>(reds_find_channel(
            guest.device.server, SPICE_CHANNEL_DISPLAY, 0))->priv->motion->get_counters().read;
    };
    auto read = read_after({}, 1);
    g_assert_cmpuint(read, <, WIDTH * HEIGHT);
    const Box filled = { 100, 100, 20, 30 };
    const Picture before = guest.screen;
    read += 20 * 30;
    g_assert_cmpuint(read_after({ filled }, 50), ==, read);
    /* what was there before is not taken for equal */
    guest.screen.copy(filled, before, filled.left, filled.top);
    guest.send(filled);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.shown));
    /* two corners */
    for (int i = 0; i < 20; ++i) {
        read += 2 * 2 * 2;
        g_assert_cmpuint(read_after({ { 0, 0, 2, 2 }, { WIDTH - 2, HEIGHT - 2, 2, 2 } }, 10), ==, read);
    }
    /* 12 * 10 * 10 pixels of bitmaps are fewer */
    g_assert_cmpuint(read_after({ { 0, 0, 100, 20 } }, 10), ==, read);
    read += 100 * 20;
    g_assert_cmpuint(read_after({}, 10), ==, read);
    /* nor what the next bitmap covers, as when a guest clears each area before it draws there */
    g_assert_cmpuint(read_after({ { 40, 40, 50, 50 } }, 50), ==, read);
    for (int i = 0; i < 5; ++i) {
        guest.fill(guest.all(), i);
        guest.noise(guest.all());
        guest.send(guest.all());
        guest.device.run();
    }
    g_assert_cmpuint(read_after({}, 10), ==, read);
    guest.check_released();
}

/* Capabilities of clients' displays. */
enum {
    SPICE_GTK = 0x6f3f,
    SPICE_HTML5 = 1 << SPICE_DISPLAY_CAP_SIZED_STREAM | 1 << SPICE_DISPLAY_CAP_STREAM_REPORT |
                  1 << SPICE_DISPLAY_CAP_MULTI_CODEC | 1 << SPICE_DISPLAY_CAP_CODEC_MJPEG |
                  1 << SPICE_DISPLAY_CAP_CODEC_VP8,
    RYLL = 0x1b7f,
};

/* As text: two colours, and some words in so many others. */
static void write_text(Guest *guest, int others=6)
{
    for (int y = 0; y < guest->screen.height; ++y) {
        for (int x = 0; x < guest->screen.width; ++x) {
            const bool is_paper = y % LINE < 4 || guest->random(2);
            const int word = x / 64 % 3 == 1 ? y / LINE % (others + 1) : 0;

            guest->screen.at(x, y) = is_paper ? 0 : 0xaaaaaa ^ word * 0x111100;
        }
    }
}

/* A screen of text goes as pictures of two colours, in few drawings, but where a batch ended early
 * as the machine was busy. */
static void text(int others)
{
    /* enough for a video, which this is none of */
    const int screens = 40;
    Guest guest;
    Client client(guest.device.server, TEST_UNIX, SPICE_GTK);

    begin(&guest, &client);
    client.received.clear();
    client.two_colour_pixels = 0;
    const uint64_t before = guest.commands;
    for (int i = 0; i < screens; ++i) {
        write_text(&guest, others);
        /* all of it changes */
        guest.screen.at(0, 0) = guest.screen.at(WIDTH - 1, HEIGHT - 1) = i % 2 ? 0 : 0xaaaaaa;
        guest.sweep();
        guest.device.run();
        g_assert_true(client.comes_to_show(guest.shown));
    }
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_DRAW_COPY] * 4, <, guest.commands - before);
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_STREAM_CREATE], ==, 0);
    g_assert_cmpint(client.two_colour_pixels, >, screens * WIDTH * HEIGHT / 2);
    g_assert_cmpint(client.plain_pixels, <, screens * WIDTH * HEIGHT / 10);
    guest.check_released();
}

static void text_in_colours() { text(6); }
static void text_in_two_colours() { text(0); }

/* Clients that may not know it get what they got, and all others, too, as long as one is there. */
static void text_for_any_client()
{
    for (uint32_t caps : std::initializer_list<uint32_t>{ SPICE_HTML5, RYLL, 0 }) {
        Guest guest;
        Client able(guest.device.server, TEST_UNIX, SPICE_GTK);
        begin(&guest, &able);
        able.two_colour_pixels = 0;
        {
            Client client(guest.device.server, TEST_UNIX, caps);

            write_text(&guest);
            guest.sweep();
            guest.device.run();
            g_assert_true(client.comes_to_show(guest.shown));
            g_assert_true(able.comes_to_show(guest.shown));
            g_assert_cmpint(client.two_colour_pixels, ==, 0);
            g_assert_cmpint(able.two_colour_pixels, ==, 0);
        }
    }
}

/* What is different everywhere is no smaller with palettes, or has no palette. */
static void no_text()
{
    Guest guest;
    Client client(guest.device.server, TEST_UNIX, SPICE_GTK);

    begin(&guest, &client);
    guest.noise(guest.all());
    guest.sweep();
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.shown));
    g_assert_cmpint(client.two_colour_pixels, ==, 0);
}

/* Clients that connect early and late show the same, whatever is drawn in whatever order. */
static void storm(uint32_t colours, uint32_t caps)
{
    Guest guest;
    Client client(guest.device.server, TEST_UNIX, caps);
    std::unique_ptr<Client> late;

    guest.colours = colours;
    for (int round = 0; round < 120; ++round) {
        if (round == 60) {
            g_assert_true(client.comes_to_show(guest.shown));
            late.reset(new Client(guest.device.server, TEST_UNIX, caps));
            late->came_later = true;
        }
        if (round == 80 || round == 100) {
            g_assert_true(client.comes_to_show(guest.shown));
            g_assert_true(late->comes_to_show(guest.shown));
            /* what changes nothing may be on its way yet, and the server waits until it is taken */
            client.read_while([&] {
                late->read_while([&] {
                    guest.new_screen(100 + guest.random(200), 80 + guest.random(150));
                });
            });
        }
        for (int i = guest.random(6); i >= 0; --i) {
            const Box box = guest.random_box();

            switch (guest.random(12)) {
            case 0:
                guest.fill(box, guest.random(1 << 24));
                break;
            case 1: {
                const Box from = { guest.random(guest.screen.width - box.width + 1),
                                   guest.random(guest.screen.height - box.height + 1), 0, 0 };

                guest.copy_bits(box, from.left, from.top);
                break;
            }
            case 2:
                guest.noise(box);
                guest.send(box, guest.random_form());
                break;
            case 3:
                guest.noise(box);
                guest.sweep();
                break;
            default:
                guest.move(box, guest.random(41) - 20, guest.random(41) - 20);
                if (guest.random(2)) {
                    guest.sweep();
                } else {
                    guest.send(box, guest.random_form());
                }
                break;
            }
        }
        if (guest.random(3)) {
            guest.device.run();
        }
        client.read_some(guest.random(50));
    }
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.shown));
    g_assert_true(late->comes_to_show(guest.shown));
    g_assert_true((client.two_colour_pixels != 0) == (caps != 0));
    guest.check_released();
}

/* This may wait for what is being sent to any one of them, and for nothing of the others. */
static void while_they_read(std::unique_ptr<Client> *clients, const std::function<void()> &waits)
{
    std::atomic<bool> is_done(false);
    std::vector<std::thread> threads;

    for (int i = 0; i < 2; ++i) {
        if (clients[i]) {
            threads.emplace_back([&is_done](Client *client) {
                while (!is_done) {
                    client->read_some(100);
                    g_usleep(500);
                }
            }, clients[i].get());
        }
    }
    waits();
    is_done = true;
    for (auto &thread : threads) {
        thread.join();
    }
}

/* Bitmaps of any kind, right and wrong ones, while clients of different speed come and go, the
 * machine stops, memory runs out and the screen is another one: the server shows what was drawn. */
static void odd_storm()
{
    OddGuest guest;
    std::unique_ptr<Client> clients[2];

    guest.other_screen();
    for (int round = 0; round < 400; ++round) {
        auto &client = clients[guest.random(2)];

        if (!client) {
            client.reset(new Client(guest.device.server, TEST_UNIX,
                                    guest.random(4) ? SPICE_GTK : 0));
            client->draws = false;
        } else if (guest.random(30) == 0) {
            client.reset();
        }
        for (int i = guest.random(8); i >= 0; --i) {
            const int what = guest.random(40);

            if (what == 0) {
                guest.draw_bitmap(true);
            } else if (what < 5) {
                guest.draw_copy_bits();
            } else {
                guest.draw_bitmap(false);
            }
        }
        /* in the middle of what may be held */
        switch (guest.random(12)) {
        case 0:
            spice_qxl_oom(&guest.device.qxl);
            break;
        case 1:
            while_they_read(clients, [&] { guest.other_screen(); });
            break;
        case 2:
            while_they_read(clients, [&] { spice_server_vm_stop(guest.device.server); });
            spice_server_vm_start(guest.device.server);
            break;
        case 3:
            spice_qxl_reset_image_cache(&guest.device.qxl);
            break;
        }
        if (clients[0]) {
            clients[0]->read_some(100);
        }
        if (clients[1]) {
            clients[1]->read_some(guest.random(5));
        }
        if (guest.random(4) == 0) {
            g_assert_true(guest.look().shows(guest.sent));
        }
    }
    g_assert_true(guest.look().shows(guest.sent));
}

static void storm_of_many_colours() { storm(1 << 24, 0); }
static void storm_of_text() { storm(5, SPICE_GTK); }

/* Frames that follow each other at one place are a video after twenty of them, as in
 * video-stream.h, though parts of each are as in the one before. */
static void video()
{
    Guest guest;
    const Box box = { 16, 16, 200, 150 };
    unsigned frames = 0;

    spice_server_set_streaming_video(guest.device.server, SPICE_STREAM_VIDEO_FILTER);
    Client client(guest.device.server);
    begin(&guest, &client);
    client.received.clear();
    while (!client.received[SPICE_MSG_DISPLAY_STREAM_CREATE]) {
        const Box changed = { 16, 16 + 75 * (frames ? 1 : 0), 200, 75 };

        for (int y = changed.top; y < changed.top + changed.height; ++y) {
            for (int x = changed.left; x < changed.left + changed.width; ++x) {
                guest.screen.at(x, y) = 0x10101 * ((x + y) / 4 + guest.random(4));
            }
        }
        guest.send(box);
        guest.device.run();
        ++frames;
        g_assert_cmpuint(frames, <, 40);
        g_assert_true(client.reads_until([&] {
            return client.received[SPICE_MSG_DISPLAY_STREAM_CREATE] ||
                   client.received[SPICE_MSG_DISPLAY_DRAW_COPY] >= frames;
        }));
    }
    g_assert_cmpuint(frames, >=, 20);
    g_assert_cmpuint(frames, <=, 22);

    /* what moves out of it is sent, not copied: a copy would make the server send all of the frame again,
     * as the client has it only as a lossy one */
    const int end = box.top + box.height;
    client.plain_pixels = 0;
    guest.move({ box.left, box.top, box.width, HEIGHT - box.top }, 0, LINE);
    guest.send({ box.left, end, box.width, HEIGHT - end });
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.plain_pixels >= box.width * LINE; }));
    g_assert_cmpint(client.plain_pixels, <=, box.width * (HEIGHT - end));
}

/* A photo or a frame of a video stays in the guest's columns: a column can be replaced while the others
 * are sent. Text becomes few images. */
static void noise()
{
    Guest guest;
    Client client(guest.device.server);

    begin(&guest, &client);
    const auto count_images = [&] {
        client.received.clear();
        guest.sweep();
        guest.device.run();
        g_assert_true(client.comes_to_show(guest.shown));
        return client.received[SPICE_MSG_DISPLAY_DRAW_COPY];
    };
    guest.noise(guest.all());
    const auto columns = count_images();
    g_assert_cmpuint(columns, ==, WIDTH / 32);
    /* on a loaded machine a sweep may take longer than the worker goes on without a pause, and then
     * becomes more images */
    auto fewest = columns;
    for (int i = 0; i < 10 && fewest >= columns / 2; ++i) {
        for (int y = 0; y < HEIGHT; ++y) {
            for (int x = 0; x < WIDTH; ++x) {
                guest.screen.at(x, y) = guest.random(4) ? guest.screen.at(MAX(x - 1, 0), y) : guest.random(1u << 24);
            }
        }
        fewest = MIN(fewest, count_images());
    }
    g_assert_cmpuint(fewest, <, columns / 2);
    guest.check_released();
}

/* A VM that stops has sent everything, and continues. */
static void stopped()
{
    Guest guest;
    Client client(guest.device.server);

    begin(&guest, &client);
    for (int i = 0; i < 3; ++i) {
        guest.scroll();
        guest.sweep();
        client.read_while([&] { spice_server_vm_stop(guest.device.server); });
        spice_server_vm_start(guest.device.server);
        guest.device.run();
        g_assert_true(client.comes_to_show(guest.shown));
    }
    guest.check_released();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_setenv("SPICE_STREAM", "flow", TRUE);
    g_setenv("SPICE_DEBUG_ALLOW_MC", "1", TRUE);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));

    g_test_add_func("/server/display-motion/scrolled", scrolled);
    g_test_add_func("/server/display-motion/equal", equal);
    g_test_add_func("/server/display-motion/untouched", untouched);
    g_test_add_func("/server/display-motion/rejected", rejected);
    g_test_add_func("/server/display-motion/overlapping-clips", overlapping_clips);
    g_test_add_func("/server/display-motion/other-drawings-meanwhile", other_drawings_meanwhile);
    g_test_add_func("/server/display-motion/other-drawings-read", other_drawings_read);
    g_test_add_func("/server/display-motion/odd-storm", odd_storm);
    g_test_add_func("/server/display-motion/text-in-colours", text_in_colours);
    g_test_add_func("/server/display-motion/text-in-two-colours", text_in_two_colours);
    g_test_add_func("/server/display-motion/text-for-any-client", text_for_any_client);
    g_test_add_func("/server/display-motion/no-text", no_text);
    g_test_add_func("/server/display-motion/storm", storm_of_many_colours);
    g_test_add_func("/server/display-motion/storm-of-text", storm_of_text);
    g_test_add_func("/server/display-motion/video", video);
    g_test_add_func("/server/display-motion/noise", noise);
    g_test_add_func("/server/display-motion/stopped", stopped);

    return g_test_run();
}
