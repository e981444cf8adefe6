/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random drawings through the display stage, right and wrong ones: clients that come and go show
 * them to the pixel. */
#include <config.h>

#include "test-display-guest.h"

#include "push-visibility.h"

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
        test_set_bitmap(image, SPICE_BITMAP_FMT_1BIT_BE, box.width, box.height, stride, data);
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

/* Clients that connect early and late show the same, whatever is drawn in whatever order. */
static void storm(uint32_t colours, uint32_t caps, bool writes_ahead=false)
{
    Guest guest;
    Client client(guest.device.server, TEST_UNIX, caps);
    std::unique_ptr<Client> late;

    guest.colours = colours;
    guest.writes_ahead = writes_ahead;
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
static void storm_ahead() { storm(5, SPICE_GTK, true); }

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    if (!g_test_subprocess()) {
        g_setenv("SPICE_STREAM", "flow", TRUE);
    }
    g_setenv("SPICE_DEBUG_ALLOW_MC", "1", TRUE);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));

    g_test_add_func("/server/display-storms/odd-storm", odd_storm);
    g_test_add_func("/server/display-storms/storm", storm_of_many_colours);
    g_test_add_func("/server/display-storms/storm-of-text", storm_of_text);
    g_test_add_func("/server/display-storms/storm-ahead", storm_ahead);

    return g_test_run();
}
