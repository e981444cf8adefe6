/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A fuzzer of the display channel: display stage, catch-up, videos, JPEG, planes and off-screen
 * surfaces together. A guest draws at random, and up to three clients come and go, read at any
 * speed or not at all. In between all come to rest: then each client shows what the guest drew,
 * pixel by pixel, and the guest's memory has it as well. Where a client got losses it shows garbage
 * (test-picture-client.h), so whatever is copied from there, or stays there, is seen. Losses may
 * stay where the guest drew something like a photo; with exact=on, or without JPEG, nowhere.
 *
 * Without arguments, as a test: some seeds; it fails, too, if these did not try everything.
 * Otherwise:
 *
 *   fuzz-display --time SECONDS [--first SEED]    seeds from SEED on, for so long
 *   fuzz-display --seed SEED [--steps 0-9,12]     one, or these of its steps
 *   fuzz-display --seed SEED --shrink             finds fewer steps that fail as well
 *
 * Each fourth guest writes what it draws into its screen before it sends the command, as Linux did
 * on QXL before 4.15, and x11spice does. --strict: losses may stay only where all of a bitmap is
 * like a photo.
 *
 * A step draws its random numbers from seed and place, so steps can be left out. The threads run as
 * they like: the same seed need not fail twice.
 */
#include <config.h>

#include <cstdio>
#include <initializer_list>
#include <string>

#include <glib/gstdio.h>

#include "test-dcc-guest.h"

#include "push-visibility.h"

enum {
    WIDTH = 320,
    HEIGHT = 208,
    LINE = 16,
    COLUMN = 32,
    STEPS = 60,
    CLIENTS = 3,
    MAX_SURFACES = 6,
    /* seconds without a message, after which a wrong pixel counts as wrong for good; refinement
     * takes two when nothing is drawn */
    QUIET = 10,
    /* seconds until a run has failed, whatever it does */
    RUN_LIMIT = 600,
    /* what a run tells of itself, see Runner::has_seen_all() */
    N_TOLD = 6,
};

/* Of spice-gtk with and without MJPEG only, and of a client that decodes no planes. */
static const uint32_t client_caps[] = {
    0x6f3f, 0x6f3f & ~(1u << SPICE_DISPLAY_CAP_MULTI_CODEC), 0
};

static bool is_strict;

/* What a seed stands for. */
struct Kind
{
    const char *mode;
    SpiceImageCompression compression;
    bool jpeg;
    int max_clients;
    /* draws ahead of its commands */
    bool is_ahead;
    /* at most so many of three drawings are no bitmaps; more turn the display stage off */
    int others;

    explicit Kind(uint32_t seed)
    {
        static const SpiceImageCompression compressions[] = {
            SPICE_IMAGE_COMPRESSION_OFF, SPICE_IMAGE_COMPRESSION_AUTO_LZ,
            SPICE_IMAGE_COMPRESSION_AUTO_GLZ
        };

        mode = seed % 2 ? "flow,exact=on" : seed / 8 % 4 == 3 ? "flow,catchup=off" : "flow";
        compression = compressions[seed / 2 % 3];
        jpeg = compression != SPICE_IMAGE_COMPRESSION_OFF;
        max_clients = 1 + seed % CLIENTS;
        is_ahead = seed / 2 % 4 == 3;
        others = is_ahead ? 0 : seed / 2 % 4 == 0 ? 1 : 3;
    }

    bool is_exact() const { return !jpeg || g_str_has_suffix(mode, "exact=on"); }
};

struct FuzzGuest: Guest
{
    std::vector<uint32_t> screen_memory;
    uint32_t last_id = 0;
    const bool is_ahead, stays_lossy;
    /* the screen's, whose moves the server did not find itself */
    unsigned num_copies = 0;

    explicit FuzzGuest(const Kind &kind):
        is_ahead(kind.is_ahead),
        stays_lossy(kind.jpeg && g_str_has_suffix(kind.mode, "catchup=off"))
    {
        spice_server_set_image_compression(device.server, kind.compression);
        spice_server_set_jpeg_compression(device.server, kind.jpeg ? SPICE_WAN_COMPRESSION_ALWAYS :
                                                                     SPICE_WAN_COMPRESSION_NEVER);
        spice_server_set_zlib_glz_compression(device.server, SPICE_WAN_COMPRESSION_NEVER);
        spice_server_set_streaming_video(device.server, SPICE_STREAM_VIDEO_FILTER);
        new_screen(WIDTH, HEIGHT);
    }

    void new_screen(int width, int height)
    {
        spice_qxl_destroy_primary_surface(&device.qxl, 0);
        screen_memory.assign(width * height, 0);
        device.create_screen(width, height, screen_memory.data());
        pictures[0] = Picture(width, height);
    }

    Picture &screen() { return pictures[0]; }
    Box all() { return { 0, 0, screen().width, screen().height }; }
    Box any_box(const Picture &picture, int max) { return any_box(picture, max, max); }

    Box any_box(const Picture &picture, int max_width, int max_height)
    {
        const int width = 1 + random(std::min(max_width, picture.width));
        const int height = 1 + random(std::min(max_height, picture.height));

        return { random(picture.width - width + 1), random(picture.height - height + 1), width,
                 height };
    }

    uint32_t any_surface(bool but_screen=false)
    {
        auto picture = std::next(pictures.begin(), but_screen);

        std::advance(picture, random(pictures.size() - but_screen));
        return picture->first;
    }

    void each_pixel(const Box &box, const std::function<uint32_t(int, int)> &colour)
    {
        for (int y = box.top; y < box.top + box.height; ++y) {
            for (int x = box.left; x < box.left + box.width; ++x) {
                screen().at(x, y) = colour(x, y);
            }
        }
    }

    void noise(const Box &box) { each_pixel(box, [&](int, int) { return random(1 << 24); }); }

    /* Few colours far from each other, none like a photo's. */
    void text(const Box &box)
    {
        static const uint32_t colours[] = { 0, 0xffffff, 0xff0000, 0x00ff00, 0x0000ff };
        const int n = 2 + random(4);

        each_pixel(box, [&](int, int) { return colours[random(6) ? random(2) : random(n)]; });
    }

    void photo(const Box &box)
    {
        const int base = random(64), step = 1 + random(4);

        each_pixel(box, [&](int x, int y) {
            return TEST_LOSSY | 0x10101 * (((x + y) / step + base + random(4)) & 0xff);
        });
    }

    /* What is within @box goes there by so much. */
    void move(const Box &box, int dx, int dy)
    {
        const Box dest = box & Box{ box.left + dx, box.top + dy, box.width, box.height };

        if (!dest.is_empty()) {
            screen().copy(dest, screen(), dest.left - dx, dest.top - dy);
        }
    }

    /* Sends what is there, in any form. A bitmap of which a part is like a photo may be sent with
     * losses, if none is it may not. */
    void send(const Box &box)
    {
        QXLDrawable *const drawable = draw(0, box, QXL_DRAW_COPY, QXL_EFFECT_OPAQUE);
        QXLImage *const image = keep<QXLImage>();
        const int stride = box.width + (random(4) ? 0 : random(9));
        const bool top_down = random(4);
        uint32_t *const pixels = keep<uint32_t>(stride * box.height);
        size_t lossy = 0;

        for (int y = 0; y < box.height; ++y) {
            const int line = top_down ? y : box.height - 1 - y;

            for (int x = 0; x < box.width; ++x) {
                const uint32_t pixel = screen().at(box.left + x, box.top + y);

                lossy += (pixel & TEST_LOSSY) != 0;
                pixels[line * stride + x] = pixel & ~TEST_LOSSY;
            }
        }
        if (lossy && (!is_strict || lossy == size_t(box.width) * box.height)) {
            each_pixel(box, [&](int x, int y) { return screen().at(x, y) | TEST_LOSSY; });
        }
        image->descriptor.id = ++last_id;
        image->descriptor.type = SPICE_IMAGE_TYPE_BITMAP;
        image->descriptor.width = image->bitmap.x = stride;
        image->descriptor.height = image->bitmap.y = box.height;
        image->bitmap.format = random(3) ? SPICE_BITMAP_FMT_32BIT : SPICE_BITMAP_FMT_RGBA;
        image->bitmap.flags = QXL_BITMAP_DIRECT | (top_down ? QXL_BITMAP_TOP_DOWN : 0);
        image->bitmap.stride = stride * 4;
        image->bitmap.data = reinterpret_cast<uintptr_t>(pixels);
        drawable->u.copy.src_bitmap = reinterpret_cast<uintptr_t>(image);
        drawable->u.copy.src_area = rect({ 0, 0, box.width, box.height });
        drawable->u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
        if (random(8) == 0) {
            drawable->clip.type = SPICE_CLIP_TYPE_RECTS;
            drawable->clip.data = reinterpret_cast<uintptr_t>(clip_rects({ box }));
        }
        if (is_ahead) {
            for (int y = box.top; y < box.top + box.height; ++y) {
                for (int x = box.left; x < box.left + box.width; ++x) {
                    screen_memory[y * screen().width + x] = screen().at(x, y) & ~TEST_LOSSY;
                }
            }
        }
        device.push(QXL_CMD_DRAW, drawable);
    }

    /* Columns, the lines that have changed in each, as QEMU does for a guest without a driver. */
    void sweep(const Picture &before)
    {
        for (int left = 0; left < screen().width; left += COLUMN) {
            const int width = std::min<int>(COLUMN, screen().width - left);
            int top = -1;

            for (int y = 0; y <= screen().height; ++y) {
                const auto line = screen().pixels.begin() + y * screen().width + left;
                const bool changed = y < screen().height &&
                    !std::equal(line, line + width,
                                before.pixels.begin() + y * screen().width + left);

                if (changed && top < 0) {
                    top = y;
                } else if (!changed && top >= 0) {
                    send({ left, top, width, y - top });
                    top = -1;
                }
            }
        }
    }

    void scroll()
    {
        const Picture before = screen();
        const Box last = { 0, screen().height - LINE, screen().width, LINE };

        move(all(), 0, -LINE);
        random(4) ? text(last) : random(2) ? photo(last) : noise(last);
        sweep(before);
    }

    void move_something()
    {
        const Picture before = screen();
        const Box box = any_box(screen(), screen().width);

        move(box, random(41) - 20, random(41) - 20);
        random(2) ? send(box) : sweep(before);
    }

    void draw_bitmap()
    {
        const Box box = any_box(screen(), screen().width);

        switch (random(8)) {
        case 0:
            noise(box);
            break;
        case 1:
        case 2:
            text(box);
            break;
        case 3:
            photo(box);
            break;
        case 4:
            scroll();
            return;
        case 5:
        case 6:
            move_something();
            return;
        default:
            /* what is there, again */
            break;
        }
        send(box);
    }

    /* What is no bitmap, and meets or waits behind something with losses, upstream may send as an
     * image of the screen, with losses. Catch-up sends it again without. */
    void may_lose(uint32_t surface, const Box &box)
    {
        Picture &picture = pictures[surface];

        if (!stays_lossy) {
            return;
        }
        for (int y = box.top; y < box.top + box.height; ++y) {
            for (int x = box.left; x < box.left + box.width; ++x) {
                picture.at(x, y) |= TEST_LOSSY;
            }
        }
    }

    void draw_other()
    {
        const uint32_t surface = random(3) ? 0 : any_surface();
        const Picture &picture = pictures[surface];
        const Box box = any_box(picture, 90);

        switch (random(32)) {
        case 0:
            if (pictures.size() < MAX_SURFACES) {
                create(++last_surface);
            } else {
                destroy(any_surface(true));
            }
            break;
        case 1: case 2: case 3: case 4: case 5: case 6: case 7: case 8:
            fill(surface, box, random(1 << 24), random(3) != 0);
            may_lose(surface, box);
            break;
        case 9: case 10: case 11: case 12: case 13: case 14: case 15: case 16: case 17:
            num_copies += surface == 0;
            copy_bits(surface, box, random(picture.width - box.width + 1),
                      random(picture.height - box.height + 1));
            may_lose(surface, box);
            break;
        default: {
            const uint32_t from = any_surface();
            const Picture &source = pictures[from];
            const Box part = any_box(picture, std::min(source.width, 90),
                                     std::min(source.height, 90));

            if (from != surface) {
                copy(surface, part, from, random(source.width - part.width + 1),
                     random(source.height - part.height + 1));
                may_lose(surface, part);
            }
        }
        }
    }

    /* @others: of three drawings so many are no bitmaps */
    void draw_something(int others=1)
    {
        if (random(3) >= others) {
            draw_bitmap();
        } else {
            draw_other();
        }
    }

    void wake() { spice_qxl_wakeup(&device.qxl); }
};

/* One run of one seed. */
class Fuzz
{
public:
    explicit Fuzz(uint32_t init_seed): seed(init_seed), kind(init_seed), guest(kind)
    {
        come(0);
    }

    /* Returns whether all was right. */
    bool step(int number)
    {
        g_rand_set_seed(guest.rand, seed * 1000 + number);
        switch (guest.random(16)) {
        case 0:
        case 1:
        case 2:
            video();
            return true;
        case 3: {
            const int i = guest.random(kind.max_clients);

            clients[i] ? leave(&clients[i]) : come(i);
            return true;
        }
        case 4:
            disturb();
            return true;
        case 5:
        case 6:
            return comes_to_rest(number);
        case 7:
        case 8:
        case 9:
            fall_behind();
            return true;
        default:
            draw(guest.random(12) ? guest.random(12) : guest.random(300));
            return true;
        }
    }

    bool comes_to_rest(int number);

    /* For Runner: what the clients got to see. */
    void report()
    {
        for (auto &client : clients) {
            leave(&client);
        }
        printf("seen:");
        for (unsigned number : seen) {
            printf(" %u", number);
        }
        printf("\n");
        fflush(stdout);
    }

private:
    /* The worker, which must let it in, may be waiting for another client. */
    void come(int i)
    {
        while_they_read([&] { guest.device.run(); });
        /* whoever comes last decides for all */
        if (kind.jpeg) {
            spice_server_set_jpeg_compression(guest.device.server,
                                              guest.random(3) ? SPICE_WAN_COMPRESSION_ALWAYS :
                                                                SPICE_WAN_COMPRESSION_NEVER);
        }
        const uint32_t caps = client_caps[i == 0 ? 0 : guest.random(3)];
        clients[i].reset(new Client(guest.device.server, TEST_TCP, caps));
        clients[i]->came_later = true;
        clients[i]->frame_delay = (seed / 3 + i) % 3 * 8;
    }

    void leave(std::unique_ptr<Client> *client)
    {
        if (*client) {
            const unsigned copies = (*client)->received[SPICE_MSG_DISPLAY_COPY_BITS];

            seen[0] += (*client)->two_colour_pixels;
            seen[1] += (*client)->lossy_pixels;
            seen[2] += (*client)->glz_images;
            seen[3] += (*client)->frames;
            seen[4] += (*client)->received[SPICE_MSG_DISPLAY_SURFACE_CREATE] > 1;
            seen[5] += copies > guest.num_copies;
            client->reset();
        }
    }

    void read(int messages)
    {
        for (auto &client : clients) {
            if (client) {
                client->read_some(guest.random(3) ? guest.random(messages + 1) : 0);
            }
        }
    }

    /* A large image, and what waits behind it for so long that it becomes damage. */
    void fall_behind()
    {
        const Box box = guest.any_box(guest.screen(), guest.screen().width);

        guest.noise(box);
        guest.send(box);
        guest.wake();
        g_usleep(3000);
        for (int i = guest.random(5); i >= 0; --i) {
            for (int n = guest.random(guest.random(3) ? 20 : 100); n >= 0; --n) {
                guest.draw_something(kind.others);
                if (guest.random(8) == 0) {
                    guest.wake();
                }
            }
            guest.wake();
            g_usleep(1000 * guest.random(90));
            read(guest.random(6));
        }
    }

    void draw(int drawings)
    {
        const int others = std::min(guest.random(3), kind.others);

        while (drawings-- >= 0) {
            guest.draw_something(others);
            if (guest.random(20) == 0) {
                guest.wake();
                read(3);
            }
        }
        guest.wake();
        if (guest.random(4) == 0) {
            g_usleep(1000 * guest.random(150));
        }
        read(20);
    }

    /* With little in between, or much, also behind a large image. */
    void video()
    {
        static const Box places[] = { { 16, 16, 160, 100 }, { 60, 40, 120, 112 } };
        const Box usual = places[guest.random(2)] & guest.all();
        /* a video goes on with frames of up to twice the size */
        const Box larger = Box{ usual.left, usual.top, usual.width, 3 * usual.height / 2 } &
                           guest.all();
        const int speed = guest.random(3) * 50, between = guest.random(3);

        for (int i = 0; !usual.is_empty() && i < 40; ++i) {
            const Box &box = i > 20 && guest.random(6) == 0 ? larger : usual;

            guest.photo(box);
            guest.send(box);
            if (between == 0 ? guest.random(12) == 0 : i > 20) {
                for (int n = guest.random(between == 2 ? 12 : 3); n >= 0; --n) {
                    guest.draw_something(kind.others);
                }
            }
            guest.wake();
            g_usleep(3000);
            read(between == 2 && i > 20 ? 1 : speed);
            if (between == 2 && guest.random(10) == 0) {
                fall_behind();
            }
        }
    }

    /* The worker may wait for what is being sent to any client. */
    void disturb()
    {
        switch (guest.random(4)) {
        case 0:
            while_they_read([&] { spice_qxl_oom(&guest.device.qxl); });
            break;
        case 1:
            while_they_read([&] { spice_qxl_reset_image_cache(&guest.device.qxl); });
            break;
        case 2:
            while_they_read([&] { spice_server_vm_stop(guest.device.server); });
            spice_server_vm_start(guest.device.server);
            break;
        default:
            /* surfaces may have been drawn from the screen: its drawings are taken first */
            while_they_read([&] { guest.device.run(); });
            while_they_read([&] {
                guest.new_screen(200 + guest.random(160), 120 + guest.random(120));
            });
        }
    }

    void while_they_read(const std::function<void()> &waits)
    {
        std::atomic<bool> is_done(false);
        std::thread thread([&] {
            waits();
            is_done = true;
        });

        while (!is_done) {
            for (auto &client : clients) {
                if (client) {
                    client->read_some(5);
                }
            }
            g_usleep(200);
        }
        thread.join();
    }

    int find_wrong(const char *who, const Picture &picture, const Picture &wanted, bool is_exact,
                   bool tells) const;
    int find_wrong(bool tells) const;

    const uint32_t seed;
    const Kind kind;
    FuzzGuest guest;
    std::unique_ptr<Client> clients[CLIENTS];
    /* planes, JPEG, GLZ, frames, off-screen surfaces, moves */
    unsigned seen[N_TOLD] = {};
};

/* Returns how many pixels are wrong. @is_exact: may none have losses? */
int Fuzz::find_wrong(const char *who, const Picture &picture, const Picture &wanted, bool is_exact,
                     bool tells) const
{
    int n_wrong = 0, left = G_MAXINT, top = G_MAXINT, right = 0, bottom = 0;

    if (picture.width != wanted.width || picture.height != wanted.height) {
        return 1;
    }
    for (int y = 0; y < picture.height; ++y) {
        for (int x = 0; x < picture.width; ++x) {
            const uint32_t has = picture.pixels[y * picture.width + x];
            const uint32_t wants = wanted.pixels[y * picture.width + x];

            if (((has ^ wants) & 0xffffff) && (is_exact || !(has & wants & TEST_LOSSY))) {
                ++n_wrong;
                left = std::min(left, x);
                top = std::min(top, y);
                right = std::max(right, x + 1);
                bottom = std::max(bottom, y + 1);
            }
        }
    }
    if (tells && n_wrong) {
        const size_t first = std::mismatch(
            picture.pixels.begin(), picture.pixels.end(), wanted.pixels.begin(),
            [&](uint32_t has, uint32_t wants) {
                return !((has ^ wants) & 0xffffff) || (!is_exact && (has & wants & TEST_LOSSY));
            }).first - picture.pixels.begin();

        g_printerr("%s: %d pixels wrong within %d,%d %dx%d; the first is %06x%s, not %06x\n", who,
                   n_wrong, left, top, right - left, bottom - top,
                   picture.pixels[first] & 0xffffff,
                   picture.pixels[first] & TEST_LOSSY ? " (lossy)" : "",
                   wanted.pixels[first] & 0xffffff);
    }
    return n_wrong;
}

int Fuzz::find_wrong(bool tells) const
{
    int n_wrong = 0;

    for (int i = 0; i < CLIENTS; ++i) {
        const Pictures none;

        for (const auto &picture : clients[i] ? clients[i]->pictures : none) {
            const auto wanted = guest.pictures.find(picture.first);
            char who[50];

            g_snprintf(who, sizeof(who), "client %d, surface %u", i, picture.first);
            if (wanted == guest.pictures.end()) {
                ++n_wrong;
                if (tells) {
                    g_printerr("%s: the guest has destroyed it\n", who);
                }
            } else {
                n_wrong += find_wrong(who, picture.second, wanted->second, kind.is_exact(), tells);
            }
        }
        n_wrong += clients[i] && !clients[i]->pictures.count(0);
    }
    return n_wrong;
}

bool Fuzz::comes_to_rest(int number)
{
    int64_t last = g_get_monotonic_time();

    guest.wake();
    while (guest.device.num_left() > 0 || find_wrong(false) > 0) {
        const int64_t before = last;

        for (auto &client : clients) {
            if (client && client->read_some(1000)) {
                last = g_get_monotonic_time();
            }
        }
        if (last == before) {
            g_usleep(2000);
        }
        if (g_get_monotonic_time() - last > QUIET * G_USEC_PER_SEC) {
            find_wrong(true);
            g_printerr("at rest in step %d, %d commands left\n", number, guest.device.num_left());
            return false;
        }
    }
    /* now it need not wait for a client */
    QXLRect area = { 0, 0, guest.screen().height, guest.screen().width }, dirty;
    while_they_read([&] { spice_qxl_update_area(&guest.device.qxl, 0, &area, &dirty, 1, 0); });
    Picture memory = guest.screen();
    memory.pixels = guest.screen_memory;
    return find_wrong("the guest's memory", memory, guest.screen(), true, true) == 0;
}

using Steps = std::vector<int>;

/* As 0-9,12. */
static std::string to_string(const Steps &steps)
{
    std::string text;

    for (size_t i = 0; i < steps.size(); ) {
        size_t end = i + 1;

        while (end < steps.size() && steps[end] == steps[end - 1] + 1) {
            ++end;
        }
        text += (text.empty() ? "" : ",") + std::to_string(steps[i]);
        if (end > i + 1) {
            text += "-" + std::to_string(steps[end - 1]);
        }
        i = end;
    }
    return text;
}

static Steps to_steps(const char *text)
{
    char **const parts = g_strsplit(text, ",", -1);
    Steps steps;

    for (char **part = parts; *part; ++part) {
        int first, last;
        const int n = sscanf(*part, "%d-%d", &first, &last);

        for (int step = first; n >= 1 && step <= (n == 2 ? last : first); ++step) {
            steps.push_back(step);
        }
    }
    g_strfreev(parts);
    return steps;
}

static int run_here(uint32_t seed, const Steps &steps)
{
    alarm(RUN_LIMIT);
    g_setenv("SPICE_STREAM", Kind(seed).mode, TRUE);
    g_setenv("SPICE_DEBUG_ALLOW_MC", "1", TRUE);
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    /* the server warns of clients that go */
    g_log_set_default_handler([](const char *domain, GLogLevelFlags level, const char *message,
                                 gpointer data) {
        if (level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL)) {
            g_log_default_handler(domain, level, message, data);
        }
    }, nullptr);

    Fuzz fuzz(seed);
    for (int step : steps) {
        if (!fuzz.step(step)) {
            return 1;
        }
    }
    if (!fuzz.comes_to_rest(STEPS)) {
        return 1;
    }
    fuzz.report();
    return 0;
}

/* In a process of its own, as the policy is read once per process, and a run may crash. */
class Runner
{
public:
    explicit Runner(const char *init_program): program(init_program)
    {
        g_setenv("SPICE_STREAM_STATS", stats.c_str(), TRUE);
    }

    ~Runner() { g_unlink(stats.c_str()); }

    /* Returns whether all was right. @tells: print how to repeat it if not */
    bool run(uint32_t seed, const Steps &steps, bool tells=true)
    {
        const std::string number = std::to_string(seed), list = to_string(steps);
        std::vector<const char *> argv = { program, "--seed", number.c_str() };
        char *output = nullptr;
        int status = 1;

        if (steps.size() < STEPS) {
            argv.insert(argv.end(), { "--steps", list.c_str() });
        }
        if (is_strict) {
            argv.push_back("--strict");
        }
        std::string command;
        for (const char *arg : argv) {
            command += std::string(command.empty() ? "" : " ") + arg;
        }
        argv.push_back(nullptr);
        const GSpawnFlags flags = tells ? G_SPAWN_DEFAULT : G_SPAWN_STDERR_TO_DEV_NULL;
        g_unlink(stats.c_str());
        g_assert_true(g_spawn_sync(nullptr, const_cast<char **>(argv.data()), nullptr, flags,
                                   nullptr, nullptr, &output, nullptr, &status, nullptr));
        if (const char *const told = strstr(output, "seen: ")) {
            char *next = const_cast<char *>(told) + strlen("seen: ");

            for (int i = 0; i < N_TOLD; ++i) {
                seen[i] += g_ascii_strtoull(next, &next, 10) != 0;
            }
        }
        g_free(output);
        seen[N_TOLD] += counted("\"refreshes\":");
        seen[N_TOLD + 1] += counted("\"refined_bytes\":");
        if (tells && status) {
            g_printerr("FAILED (%s): %s\n", Kind(seed).mode, command.c_str());
        }
        return status == 0;
    }

    /* Leaves out steps, half of them first, as long as it fails. */
    void shrink(uint32_t seed, Steps steps)
    {
        for (size_t part = steps.size() / 2; part > 0; part /= 2) {
            for (size_t begin = 0; begin < steps.size(); ) {
                Steps fewer = steps;

                fewer.erase(fewer.begin() + begin,
                            fewer.begin() + std::min(begin + part, steps.size()));
                if (run(seed, fewer, false)) {
                    begin += part;
                } else {
                    steps = fewer;
                    g_printerr("%zu steps: %s\n", steps.size(), to_string(steps).c_str());
                }
            }
        }
        run(seed, steps);
    }

    /* Returns whether the seeds have tried all. */
    bool has_seen_all() const
    {
        static const char *const names[N_SEEN] = {
            "planes", "JPEG", "GLZ", "videos", "off-screen surfaces", "moves", "refreshes",
            "refinement"
        };
        bool all = true;

        for (int i = 0; i < N_SEEN; ++i) {
            if (!seen[i]) {
                g_printerr("no seed had %s\n", names[i]);
                all = false;
            }
        }
        return all;
    }

private:
    /* Whether any stream of the last run has that above zero. */
    bool counted(const char *member) const
    {
        char *text = nullptr;
        bool found = false;

        g_file_get_contents(stats.c_str(), &text, nullptr, nullptr);
        for (const char *at = text; at && (at = strstr(at, member)); ) {
            at += strlen(member);
            found = found || *at != '0';
        }
        g_free(text);
        return found;
    }

    /* with what the statistics of the streams tell */
    enum { N_SEEN = N_TOLD + 2 };
    const char *const program;
    const std::string stats = std::string(g_get_tmp_dir()) + "/fuzz-display-" +
                              std::to_string(getpid());
    unsigned seen[N_SEEN] = {};
};

int main(int argc, char *argv[])
{
    int seconds = 0, first = 0, seed = -1;
    gboolean shrink = FALSE, strict = FALSE;
    char *list = nullptr;
    const GOptionEntry entries[] = {
        { "time", 0, 0, G_OPTION_ARG_INT, &seconds, "run seeds for so long", "SECONDS" },
        { "first", 0, 0, G_OPTION_ARG_INT, &first, "the first of them", "SEED" },
        { "seed", 0, 0, G_OPTION_ARG_INT, &seed, "run this one", "SEED" },
        { "steps", 0, 0, G_OPTION_ARG_STRING, &list, "only these of its steps", "0-9,12" },
        { "shrink", 0, 0, G_OPTION_ARG_NONE, &shrink, "find fewer steps that fail", nullptr },
        { "strict", 0, 0, G_OPTION_ARG_NONE, &strict, "losses only in photos", nullptr },
        { nullptr }
    };
    GOptionContext *const context = g_option_context_new("- fuzz the display channel");
    GError *error = nullptr;

    g_option_context_add_main_entries(context, entries, nullptr);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        g_printerr("%s\n", error->message);
        return 2;
    }
    g_option_context_free(context);
    is_strict = strict;

    Steps steps = to_steps(list ? list : "0-59");
    if (seed >= 0 && !shrink) {
        return run_here(seed, steps);
    }
    Runner runner(argv[0]);
    if (shrink) {
        runner.shrink(seed, steps);
        return 1;
    }

    const int64_t end = g_get_monotonic_time() + int64_t{seconds} * G_USEC_PER_SEC;
    int n_seeds = 0, n_failed = 0;
    do {
        n_failed += !runner.run(first + n_seeds++, steps);
    } while (seconds ? g_get_monotonic_time() < end : n_seeds < 8);
    printf("%d seeds, %d failed\n", n_seeds, n_failed);
    return n_failed || (!seconds && !runner.has_seen_all());
}
