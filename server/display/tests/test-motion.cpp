/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Move detection: in the end the screen shows the new image to the pixel, whatever moved, and
 * pixels that moved or are equal are not sent.
 */
#include <config.h>

#include <cstring>
#include <functional>

#include <common/rect.h>

#include "red-motion.h"
#include "red-stream-path.h"
#include "red-stream-policy.h"
#include "test-glib-compat.h"

#include "push-visibility.h"

/* A line of text is so many lines of pixels. */
enum { LINE = 16, LETTER = 8 };

/* A screen, as a guest has it, and as a client has it that does what was found. */
template <typename Pixel>
struct Screen
{
    const int width, height;
    std::vector<Pixel> guest, client;
    RedMotion motion;
    QRegion written;
    RedMotionFound last;
    uint32_t state = 1;

    Screen(int init_width, int init_height):
        width(init_width), height(init_height),
        guest(init_width * init_height), client(init_width * init_height),
        motion(init_width, init_height, sizeof(Pixel))
    {
        region_init(&written);
    }
    ~Screen() { region_destroy(&written); }

    uint32_t random()
    {
        state = state * 1664525 + 1013904223;
        return state >> 8;
    }

    int random(int below) { return random() % below; }

    /* A letter, of some twenty, in two colours */
    void letter(int left, int top, uint32_t which)
    {
        for (int y = 0; y < LINE; ++y) {
            for (int x = 0; x < LETTER; ++x) {
                const uint32_t bits = (which * 2654435761u) ^ (y * 40503u * (which + 7));

                at(left + x, top + y) = y > 2 && y < 14 && (bits >> (x + 8) & 1) ? 0xaaaaaa : 0;
            }
        }
    }

    /* Text, of words, a part of the line's width. */
    void text(const SpiceRect &where)
    {
        for (int y = where.top; y + LINE <= where.bottom; y += LINE) {
            const int end = where.left + random(where.right - where.left);

            for (int x = where.left; x + LETTER <= where.right; x += LETTER) {
                letter(x, y, x < end && random(6) ? 1 + random(20) : 0);
            }
        }
    }

    void noise(const SpiceRect &where)
    {
        for (int y = where.top; y < where.bottom; ++y) {
            for (int x = where.left; x < where.right; ++x) {
                at(x, y) = random();
            }
        }
    }

    void fill(const SpiceRect &where, Pixel pixel)
    {
        for (int y = where.top; y < where.bottom; ++y) {
            std::fill_n(&at(where.left, y), where.right - where.left, pixel);
        }
    }

    Pixel &at(int x, int y)
    {
        g_assert_true(x >= 0 && x < width && y >= 0 && y < height);
        return guest[y * width + x];
    }

    /* What is in @where goes there by so much, and what is not within it any more is lost. */
    void move(const SpiceRect &where, int dx, int dy)
    {
        const std::vector<Pixel> before = guest;

        for (int y = where.top; y < where.bottom; ++y) {
            for (int x = where.left; x < where.right; ++x) {
                const int from_x = x - dx, from_y = y - dy;

                if (from_x >= where.left && from_x < where.right &&
                    from_y >= where.top && from_y < where.bottom) {
                    at(x, y) = before[from_y * width + from_x];
                }
            }
        }
    }

    void scroll(const SpiceRect &where)
    {
        move(where, 0, -LINE);
        text({ where.left, where.bottom - LINE, where.right, where.bottom });
    }

    /* The guest sends that. */
    void write(const SpiceRect &where)
    {
        for (int y = where.top; y < where.bottom; ++y) {
            motion.write(where.left, y, reinterpret_cast<const uint8_t *>(&at(where.left, y)),
                         where.right - where.left);
        }
        motion.wrote(where);
        region_add(&written, &where);
    }

    /* It sends of columns of 32 pixels the lines that have changed, as QEMU does. */
    void sweep()
    {
        for (int x = 0; x < width; x += 32) {
            const int right = MIN(x + 32, width);
            int top = -1;

            for (int y = 0; y <= height; ++y) {
                const bool changed = y < height &&
                    memcmp(&guest[y * width + x], &client[y * width + x],
                           (right - x) * sizeof(Pixel)) != 0;

                if (changed && top < 0) {
                    top = y;
                } else if (!changed && top >= 0) {
                    write({ x, top, right, y });
                    top = -1;
                }
            }
        }
    }

    void write_all() { write({ 0, 0, width, height }); }

    /* Does what is found, and sees that the client shows what was written. */
    const RedMotionFound &find()
    {
        last = motion.find();
        for (const auto &move : last.moves) {
            const std::vector<Pixel> before = client;

            g_assert_true(is_inside(move.dest));
            for (int y = move.dest.top; y < move.dest.bottom; ++y) {
                for (int x = move.dest.left; x < move.dest.right; ++x) {
                    const int from_x = move.src.x + x - move.dest.left;
                    const int from_y = move.src.y + y - move.dest.top;

                    g_assert_true(from_x >= 0 && from_x < width && from_y >= 0 && from_y < height);
                    client[y * width + x] = before[from_y * width + from_x];
                }
            }
        }
        uint64_t pixels = 0;
        for (const auto &rect : last.changed) {
            g_assert_true(is_inside(rect));
            for (int y = rect.top; y < rect.bottom; ++y) {
                memcpy(&client[y * width + rect.left], motion.line(rect.left, y),
                       (rect.right - rect.left) * sizeof(Pixel));
            }
            pixels += rect_get_area(&rect);
        }
        g_assert_cmpuint(pixels, ==, last.changed_pixels);

        for (int y = 0; y < height; ++y) {
            for (int x = 0; x < width; ++x) {
                if (region_contains_point(&written, x, y)) {
                    g_assert_cmphex(client[y * width + x], ==, guest[y * width + x]);
                }
            }
        }
        return last;
    }

    bool is_inside(const SpiceRect &rect)
    {
        return rect.left >= 0 && rect.left < rect.right && rect.right <= width &&
               rect.top >= 0 && rect.top < rect.bottom && rect.bottom <= height;
    }

    /* It begins with that, which the client has. */
    void begin()
    {
        write_all();
        find();
    }
};

static void equal()
{
    Screen<uint32_t> screen(721, 403);

    screen.noise({ 0, 0, 721, 403 });
    screen.begin();
    g_assert_cmpuint(screen.last.changed_pixels, ==, 721 * 403);
    g_assert_cmpuint(screen.last.changed.size(), ==, 1);
    screen.write_all();
    screen.find();
    g_assert_cmpuint(screen.last.changed.size() + screen.last.moves.size(), ==, 0);
    g_assert_cmpuint(screen.last.written_pixels, ==, 721 * 403);

    /* one pixel of it */
    screen.at(720, 402) ^= 1;
    screen.write_all();
    screen.find();
    g_assert_cmpuint(screen.last.changed_pixels, ==, 1);
}

/* Text scrolls up: a copy and the new line, in one piece, whether all or what changed is sent. */
template <typename Pixel>
static void scrolled_text(bool sweeps)
{
    Screen<Pixel> screen(720, 400);
    const SpiceRect all = { 0, 0, 720, 400 };

    screen.text(all);
    screen.begin();
    for (int i = 0; i < 20; ++i) {
        screen.scroll(all);
        if (sweeps) {
            screen.sweep();
        } else {
            screen.write_all();
        }
        screen.find();
        g_assert_cmpuint(screen.last.moves.size(), ==, 1);
        g_assert_cmpint(screen.last.moves[0].src.y - screen.last.moves[0].dest.top, ==, LINE);
        g_assert_cmpuint(screen.last.changed.size(), <=, 2);
        g_assert_cmpuint(screen.last.changed_pixels, <=, 720 * LINE * 3 / 2);
    }
}

static void scrolled()
{
    scrolled_text<uint32_t>(false);
    scrolled_text<uint32_t>(true);
    scrolled_text<uint16_t>(false);
    scrolled_text<uint16_t>(true);
}

/* A part of the screen goes by that much, each way and askew. */
static void directions()
{
    for (const auto &by : std::vector<SpicePoint>{ { 0, 3 }, { 0, -7 }, { 5, 0 }, { -41, 0 },
                                                   { 13, 29 }, { -64, 17 }, { 1, -1 } }) {
        Screen<uint32_t> screen(640, 480);
        const SpiceRect where = { 77, 53, 500, 411 };

        screen.fill({ 0, 0, 640, 480 }, 0x336699);
        screen.noise(where);
        screen.begin();
        screen.move(where, by.x, by.y);
        screen.write_all();
        screen.find();
        g_assert_cmpuint(screen.last.moves.size(), >=, 1);
        g_assert_cmpint(screen.last.moves[0].dest.left - screen.last.moves[0].src.x, ==, by.x);
        g_assert_cmpint(screen.last.moves[0].dest.top - screen.last.moves[0].src.y, ==, by.y);
        /* what moved has no place that it came from at an edge: that is equal to what was there */
        g_assert_cmpuint(screen.last.changed_pixels, <=, 2048);
    }
}

/* A window goes over a desktop: what it uncovers is drawn, not what it covered before. */
static void dragged()
{
    Screen<uint32_t> screen(800, 600);
    std::vector<uint32_t> desktop;

    screen.noise({ 0, 0, 800, 600 });
    desktop = screen.guest;
    screen.text({ 100, 100, 404, 340 });
    const std::vector<uint32_t> before = screen.guest;
    screen.begin();
    for (int step = 1; step < 12; ++step) {
        const int dx = step * 9, dy = step * 5;

        screen.guest = desktop;
        for (int y = 100; y < 340; ++y) {
            for (int x = 100; x < 404; ++x) {
                screen.at(x + dx, y + dy) = before[y * 800 + x];
            }
        }
        screen.sweep();
        screen.find();
        g_assert_cmpuint(screen.last.moves.size(), >=, 1);
        /* it uncovers 9 and 5 lines on two sides */
        g_assert_cmpuint(screen.last.changed_pixels, <, (9 * 240 + 5 * 304) * 3);
    }
}

/* A terminal scrolls beside a page that scrolls the other way. */
static void two_regions()
{
    Screen<uint32_t> screen(1000, 600);
    const SpiceRect terminal = { 10, 20, 458, 580 }, page = { 500, 40, 990, 590 };

    screen.text(terminal);
    screen.noise(page);
    screen.begin();
    for (int i = 0; i < 5; ++i) {
        screen.scroll(terminal);
        screen.move(page, 0, 23);
        screen.noise({ 500, 40, 990, 63 });
        screen.sweep();
        screen.find();
        g_assert_cmpuint(screen.last.moves.size(), ==, 2);
        g_assert_cmpuint(screen.last.changed_pixels, <, 448 * LINE * 2 + 490 * 23 * 2);
    }
}

/* Nothing of a new picture was there: it is sent as one. */
static void nothing_moved()
{
    Screen<uint32_t> screen(640, 400);

    screen.noise({ 0, 0, 640, 400 });
    screen.begin();
    for (int i = 0; i < 40; ++i) {
        screen.noise({ 0, 0, 640, 400 });
        screen.write_all();
        screen.find();
        g_assert_cmpuint(screen.last.moves.size(), ==, 0);
        g_assert_cmpuint(screen.last.changed.size(), ==, 1);
    }
}

/* Searches in vain are left out, but not what is elsewhere, and none for long. */
static void in_vain()
{
    Screen<uint32_t> screen(640, 400);
    const SpiceRect video = { 100, 100, 420, 340 };
    unsigned searched = 0;

    screen.noise({ 0, 0, 640, 400 });
    screen.begin();
    const auto find_all = [&] {
        screen.write_all();
        screen.find();
    };
    for (int i = 0; i < 40; ++i) {
        screen.noise(video);
        find_all();
        g_assert_cmpuint(screen.last.moves.size(), ==, 0);
        /* a search looks at six times as many pixels; the rest looks at each pixel once */
        searched += screen.last.looked > 2 * 320 * 240;
    }
    g_assert_cmpuint(searched, >=, 5);
    g_assert_cmpuint(searched, <=, 12);

    screen.move({ 0, 0, 640, 400 }, 0, -9);
    find_all();
    g_assert_cmpuint(screen.last.moves.size(), ==, 1);

    for (int i = 0; i < 40; ++i) {
        screen.noise(video);
        find_all();
    }
    int frames = 0;
    do {
        screen.move(video, 0, -7);
        find_all();
        ++frames;
    } while (screen.last.moves.empty());
    g_assert_cmpint(frames, <=, 8);
}

/* Little changes at two corners: the screen between them is not searched. */
static void two_corners()
{
    const int width = 1920, height = 1080;
    Screen<uint32_t> screen(width, height);

    screen.noise({ 0, 0, width, height });
    screen.begin();
    screen.noise({ 0, 0, 64, 40 });
    screen.noise({ width - 64, height - 40, width, height });
    screen.write_all();
    screen.find();
    g_assert_cmpuint(screen.last.changed_pixels, ==, 2 * 64 * 40);
    g_assert_cmpuint(screen.last.looked, <, width * height / 4);
}

/* All of a screen is of one colour, or of a pattern that repeats: no end of guesses. */
static void patterns()
{
    Screen<uint32_t> screen(640, 400);

    screen.begin();
    screen.fill({ 0, 0, 640, 400 }, 1);
    screen.write_all();
    screen.find();
    g_assert_cmpuint(screen.last.changed_pixels, ==, 640 * 400);
    for (int i = 0; i < 10; ++i) {
        for (int y = 0; y < 400; ++y) {
            for (int x = 0; x < 640; ++x) {
                screen.at(x, y) = (x + i) % 7 * 3 + (y * (i + 1)) % 5;
            }
        }
        screen.write_all();
        screen.find();
    }
}

/* Pixels of a hostile picture, as so many were shown before it. */
static uint32_t hostile_pixel(int kind, int i, int x, int y)
{
    const auto noise = [](uint32_t at_x, uint32_t at_y) {
        const uint32_t hash = (at_x * 2654435761u ^ at_y * 2246822519u) * 3266489917u;

        return (hash ^ hash >> 15) & 0xffffff;
    };

    switch (kind) {
    case 0: /* each part of it is everywhere */
        return noise((x + i) % 33, (y + 3 * i) % 5);
    case 1: /* more parts than moves, each by its own number of lines */
        return noise(x, y / 24 * 1000 + (y + i * (y / 24 + 1)) % 24);
    case 2:
        return noise(x, y + i * (x / 32 + 1));
    case 3: /* each by its own number of pixels */
        return noise(x + i * (y / 16 + 1), y);
    case 4: /* a few places, just as often as counts */
        return noise((x + 5 * i) % 320, (y + 7 * i) % 240);
    default: /* no cell is like the next one, but nearly */
        return (x + y + i) % 2 ? 0xffffff : (x / 31 + y / 7 * i) % 3;
    }
}

/* What a guest draws to be searched for long: what is looked at stays in proportion to the screen,
 * also where a part of it is not known. */
static void hostile()
{
    for (int kind = 0; kind < 12; ++kind) {
        Screen<uint32_t> screen(640, 480);

        screen.begin();
        for (int i = 0; i < 24; ++i) {
            for (int y = 0; y < 480; ++y) {
                for (int x = 0; x < 640; ++x) {
                    screen.at(x, y) = hostile_pixel(kind % 6, i, x, y);
                }
            }
            for (int hole = 0; kind >= 6 && hole < 600; ++hole) {
                const int x = hole % 20 * 32 + 3, y = hole / 20 * 16 + 5;
                const SpiceRect where = { x, y, x + 7, y + 3 };

                screen.motion.forget(&where);
            }
            screen.write_all();
            screen.find();
            /* these take 11.9 per pixel at most; 31 without the limit to the moves, 12.2 without
             * that to the guesses in any direction */
            g_assert_cmpuint(screen.last.looked, <=, 12 * 640 * 480);
        }
    }
}

/* Of more rectangles than what is known can be cut along, they are what is drawn. */
static void many_rectangles()
{
    Screen<uint32_t> screen(640, 480);

    screen.noise({ 0, 0, 640, 480 });
    for (int y = 0; y < 480; y += 2) {
        for (int x = y % 4; x + 2 < 640; x += 8) {
            screen.write({ x, y, x + 3, y + 1 });
        }
    }
    screen.find();
    g_assert_cmpuint(screen.last.changed.size(), ==, 240 * 80);
    g_assert_cmpuint(screen.last.changed_pixels, ==, screen.last.written_pixels);
    g_assert_cmpuint(screen.last.looked, ==, 0);
}

/* What was drawn by others is neither taken for known nor copied, nor drawn over. */
static void forgotten()
{
    Screen<uint32_t> screen(640, 400);
    const SpiceRect all = { 0, 0, 640, 400 }, hole = { 101, 75, 333, 222 };

    screen.text(all);
    screen.begin();
    screen.motion.forget(&hole);
    region_remove(&screen.written, &hole);
    /* only the client has it */
    for (int y = hole.top; y < hole.bottom; ++y) {
        std::fill_n(&screen.client[y * 640 + hole.left], hole.right - hole.left, 0x123456);
    }
    screen.move(all, 0, -LINE);
    for (int y = 0; y < 400; ++y) {
        if (y < hole.top || y >= hole.bottom) {
            screen.write({ 0, y, 640, y + 1 });
        } else {
            screen.write({ 0, y, hole.left, y + 1 });
            screen.write({ hole.right, y, 640, y + 1 });
        }
    }
    screen.find();
    g_assert_cmpuint(screen.last.moves.size(), >=, 1);
    for (int y = hole.top; y < hole.bottom; ++y) {
        for (int x = hole.left; x < hole.right; ++x) {
            g_assert_cmphex(screen.client[y * 640 + x], ==, 0x123456);
        }
    }
    /* it is sent whole when it is drawn, though the picture has it from before */
    screen.write(hole);
    screen.find();
    g_assert_cmpuint(screen.last.changed_pixels, >=,  (333 - 101) * (222 - 75));
}

/* A pixel that is not known is not copied, however much matches around it. */
static void unknown_pixel()
{
    const int width = 3840, height = 2160;
    Screen<uint32_t> screen(width, height);
    const SpiceRect all = { 0, 0, width, height };
    const SpiceRect hole = { width / 2, height / 2, width / 2 + 1, height / 2 + 1 };

    screen.noise(all);
    screen.begin();
    screen.motion.forget(&hole);
    screen.client[height / 2 * width + width / 2] ^= 0xffffff;
    screen.move(all, 0, 24);
    screen.write_all();
    screen.find();
    g_assert_cmpuint(screen.last.moves.size(), >=, 1);
}

/* The cells that are sampled are not all of one column, which may be the one that did not move. */
static void sampled_columns()
{
    /* 32 columns, and one cell in 31 + 1 */
    Screen<uint32_t> screen(1024, 124);
    const SpiceRect all = { 0, 0, 1024, 124 };

    screen.noise(all);
    screen.begin();
    screen.move(all, 0, -7);
    screen.noise({ 0, 0, 32, 124 });
    screen.noise({ 0, 117, 1024, 124 });
    screen.write_all();
    screen.find();
    g_assert_cmpuint(screen.last.moves.size(), ==, 1);
}

/* A pixel that is not known does not enlarge what is drawn elsewhere. */
static void trimmed()
{
    Screen<uint32_t> screen(640, 400);
    const SpiceRect hole = { 600, 300, 601, 301 };

    screen.text({ 0, 0, 640, 400 });
    screen.begin();
    screen.motion.forget(&hole);
    region_remove(&screen.written, &hole);
    screen.letter(40, 32, 33);
    screen.write({ 32, 32, 64, 48 });
    screen.find();
    g_assert_cmpuint(screen.last.changed.size(), ==, 1);
    g_assert_cmpint(screen.last.changed[0].right - screen.last.changed[0].left, <=, LETTER);
}

/* Whatever happens, on screens of any size. */
template <typename Pixel>
static void storm(uint32_t seed)
{
    Screen<Pixel> screen(1 + seed * 37 % 300, 1 + seed * 53 % 260);
    const auto some = [&]() -> SpiceRect {
        const int left = screen.random(screen.width), top = screen.random(screen.height);

        return { left, top, left + 1 + screen.random(screen.width - left),
                 top + 1 + screen.random(screen.height - top) };
    };

    screen.state = seed;
    for (int i = 0; i < 60; ++i) {
        std::vector<SpiceRect> drawn;

        for (int drawings = 1 + screen.random(3); drawings > 0; --drawings) {
            const SpiceRect where = some();

            switch (screen.random(6)) {
            case 0:
                screen.noise(where);
                break;
            case 1:
                screen.text(where);
                break;
            case 2:
                screen.fill(where, screen.random(4));
                break;
            default:
                screen.move(where, screen.random(41) - 20, screen.random(41) - 20);
                break;
            }
            drawn.push_back(where);
        }
        switch (screen.random(4)) {
        case 0:
            screen.sweep();
            break;
        case 1:
            screen.write_all();
            break;
        default:
            for (const auto &where : drawn) {
                screen.write(where);
            }
            break;
        }
        screen.find();
        if (screen.random(5) == 0) {
            const SpiceRect where = some();

            screen.motion.forget(&where);
            region_remove(&screen.written, &where);
            for (int y = where.top; y < where.bottom; ++y) {
                for (int x = where.left; x < where.right; ++x) {
                    screen.client[y * screen.width + x] = screen.random();
                }
            }
        }
    }
}

static void storms()
{
    for (uint32_t seed = 1; seed <= 40; ++seed) {
        storm<uint32_t>(seed);
        storm<uint16_t>(seed + 1000);
    }
}

static void setting()
{
    RedStreamPolicy policy = { };

    g_assert_true(red_stream_policy_parse("cork", &policy));
    g_assert_false(red_motion_setting.get(&policy));
    g_assert_true(red_stream_policy_parse("cork,display=on", &policy));
    g_assert_true(red_motion_setting.get(&policy));
    g_assert_true(red_stream_policy_parse(red_stream_mode_flow.name, &policy));
    g_assert_true(red_motion_setting.get(&policy));
    g_assert_true(red_stream_policy_parse("flow,display=off", &policy));
    g_assert_false(red_motion_setting.get(&policy));
    g_assert_false(red_stream_policy_parse("flow,display=0", &policy));
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);

    g_test_add_func("/motion/setting", setting);
    g_test_add_func("/motion/equal", equal);
    g_test_add_func("/motion/scrolled", scrolled);
    g_test_add_func("/motion/directions", directions);
    g_test_add_func("/motion/dragged", dragged);
    g_test_add_func("/motion/two-regions", two_regions);
    g_test_add_func("/motion/nothing-moved", nothing_moved);
    g_test_add_func("/motion/in-vain", in_vain);
    g_test_add_func("/motion/two-corners", two_corners);
    g_test_add_func("/motion/patterns", patterns);
    g_test_add_func("/motion/hostile", hostile);
    g_test_add_func("/motion/many-rectangles", many_rectangles);
    g_test_add_func("/motion/forgotten", forgotten);
    g_test_add_func("/motion/unknown-pixel", unknown_pixel);
    g_test_add_func("/motion/sampled-columns", sampled_columns);
    g_test_add_func("/motion/trimmed", trimmed);
    g_test_add_func("/motion/storms", storms);

    return g_test_run();
}
