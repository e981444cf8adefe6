/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A guest without a drawing driver, for tests of the display stage: it sends rectangles of its
 * frame buffer. */
#ifndef TEST_DISPLAY_GUEST_H_
#define TEST_DISPLAY_GUEST_H_

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <unistd.h>

#include "test-picture-client.h"
#include "test-qxl-device.h"
#include "test-worker.h"

#include "push-visibility.h"

/* in the library all of it is hidden, here only what its headers hide */
#include "display-channel-private.h"

enum { WIDTH = 320, HEIGHT = 208, LINE = 16 };

using Client = TestPictureClient;

/* Capabilities of clients' displays. */
enum {
    SPICE_GTK = 0x6f3f,
    SPICE_HTML5 = 1 << SPICE_DISPLAY_CAP_SIZED_STREAM | 1 << SPICE_DISPLAY_CAP_STREAM_REPORT |
                  1 << SPICE_DISPLAY_CAP_MULTI_CODEC | 1 << SPICE_DISPLAY_CAP_CODEC_MJPEG |
                  1 << SPICE_DISPLAY_CAP_CODEC_VP8,
    RYLL = 0x1b7f,
};

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
    /* what is on the screen is in its memory, too, before any command draws it */
    bool writes_ahead = false;
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

    /* What the worker's thread sees, between two of its events. */
    template <typename Seen> Seen in_worker(Seen (*look)(const DisplayChannelPrivate *)) const
    {
        auto *const display = static_cast<DisplayChannel *>(
            reds_find_channel(device.server, SPICE_CHANNEL_DISPLAY, 0));
        Seen seen;

        test_in_worker(const_cast<TestDevice *>(&device),
                       [&] { seen = look(display->priv.get()); });
        return seen;
    }

    DisplayMotionCounters counters() const
    {
        return in_worker<DisplayMotionCounters>([](const DisplayChannelPrivate *display) {
            return display->motion->get_counters();
        });
    }

    /* Bytes of bitmaps that the stage keeps. */
    size_t bitmaps() const
    {
        return in_worker<size_t>([](const DisplayChannelPrivate *display) {
            return display->motion->get_bitmaps();
        });
    }

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

    /* The server has written no pixel that the guest has not drawn, or that it has not asked
     * for. */
    void check_memory() const
    {
        g_assert_cmpmem(screen_memory.data(), screen_memory.size() * 4, screen.pixels.data(),
                        screen.pixels.size() * 4);
    }

    /* Send of a part of the screen what is there. */
    void send(const Box &box, const Form &form=Form())
    {
        Box outer = box;

        if (writes_ahead) {
            screen_memory = screen.pixels;
        }

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
            auto clip =
                reinterpret_cast<QXLClipRects *>(keep<uint8_t>(sizeof(QXLClipRects) + size));

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
        shown[0].copy(box, screen, box.left, box.top);
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

    /* As QEMU does for any device but QXL: the changed lines of each column of 32 pixels, in the
     * order in which they end. */
    void sweep_lines()
    {
        std::vector<int> tops((screen.width + 31) / 32, -1);

        for (int y = 0; y <= screen.height; ++y) {
            for (size_t column = 0; column < tops.size(); ++column) {
                const int left = column * 32, width = std::min(32, screen.width - left);
                const bool changed = y < screen.height &&
                    memcmp(&screen.at(left, y), &sent.at(left, y), width * 4) != 0;

                if (changed && tops[column] < 0) {
                    tops[column] = y;
                } else if (!changed && tops[column] >= 0) {
                    send({ left, tops[column], width, y - tops[column] });
                    tops[column] = -1;
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

    /* Of one colour. The client here draws no composites. */
    void composite(const Box &box, uint32_t colour)
    {
        QXLDrawable *const drawable = draw(box, QXL_DRAW_COMPOSITE);
        QXLImage *const image = keep<QXLImage>();
        uint32_t *const pixels = keep<uint32_t>(box.width * box.height);

        std::fill_n(pixels, box.width * box.height, colour);
        test_set_bitmap(image, SPICE_BITMAP_FMT_32BIT, box.width, box.height, box.width * 4,
                        pixels);
        drawable->u.composite.flags = PIXMAN_OP_SRC;
        drawable->u.composite.src = reinterpret_cast<uintptr_t>(image);
        device.push(QXL_CMD_DRAW, drawable);
        screen.fill(box, colour, false);
        sent.fill(box, colour, false);
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

    /* The guest wants to read this. */
    void update(const Box &box)
    {
        QXLRect area = rect(box), dirty;

        spice_qxl_update_area(&device.qxl, 0, &area, &dirty, 1, 0);
    }

    /* Each command is back, once. */
    void check_released()
    {
        update(all());
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

static inline void begin(Guest *guest, Client *client)
{
    guest->noise(guest->all());
    guest->sweep();
    guest->device.run();
    g_assert_true(client->comes_to_show(guest->shown));
    client->plain_pixels = 0;
}

#include "pop-visibility.h"

#endif /* TEST_DISPLAY_GUEST_H_ */
