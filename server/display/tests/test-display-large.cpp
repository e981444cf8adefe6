/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The display stage on large screens: an update of thousands of drawings is compared at once. */
#include <config.h>

#include <cstdlib>

#include "test-display-guest.h"

#include "push-visibility.h"

/* So slow that the time of a batch ends before it is complete: only pixels are compared. */
#ifdef __SANITIZE_ADDRESS__
enum { IS_SLOW = true };
#else
enum { IS_SLOW = false };
#endif

/* A page that scrolls on a large screen: the lines of a terminal, or paragraphs and photos. */
struct LargePage
{
    const int width, height, step;
    Picture page;

    LargePage(int init_width, int init_height, int steps, bool is_terminal):
        width(init_width),
        height(init_height),
        step(is_terminal ? LINE : 120),
        page(width, height + steps * step)
    {
        GRand *const rand = g_rand_new_with_seed(5);

        page.fill({ 0, 0, width, page.height }, is_terminal ? 0 : 0xffffff, false);
        for (int top = 0; top + LINE <= page.height; top += LINE) {
            const int left = is_terminal ? 0 : width / 5;
            const int end = left + g_rand_int_range(rand, width / 10, width * 3 / 5);

            for (int x = left; x + 8 < end; x += 8) {
                draw_letter(x, top, is_terminal ? 0xaaaaaa : 0x303030,
                            g_rand_int_range(rand, 0, 64));
            }
        }
        for (int top = 200; !is_terminal && top + 400 < page.height; top += 700) {
            for (int y = 0; y < 400; ++y) {
                for (int x = 0; x < 600; ++x) {
                    page.at(width / 2 + x, top + y) =
                        0x10101 * ((x + y) / 8 + g_rand_int_range(rand, 0, 8));
                }
            }
        }
        g_rand_free(rand);
    }

    void show(Guest *guest, int at) const
    {
        guest->screen.copy({ 0, 0, width, height }, page, 0, at * step);
    }

private:
    /* One of 64, in a cell of 8 x 16 pixels that it does not fill. */
    void draw_letter(int left, int top, uint32_t colour, uint32_t letter)
    {
        for (int y = 3; letter && y < 13; ++y) {
            for (int x = 0; x < 7; ++x) {
                if ((letter * 2654435761u >> ((x * 5 + y * 3) % 28)) & 1) {
                    page.at(left + x, top + y) = colour;
                }
            }
        }
    }
};

static const struct LargeScreen
{
    int width, height;
    bool is_terminal;
} large_screens[] = {
    { 3840, 2160, true }, { 3840, 2160, false }, { 3440, 1440, true }, { 3440, 1440, false },
};

/* What a line or a turn of the wheel changes is compared at once, however many drawings it is: the
 * client is sent no more pixels than have come into the screen. */
static void large_screen(gconstpointer data)
{
    const auto &large = *static_cast<const LargeScreen *>(data);
    enum { STEPS = 4, SWEEPS = IS_SLOW ? 1 : 6 };
    const LargePage page(large.width, large.height, STEPS, large.is_terminal);
    Guest guest(large.width, large.height);
    Client client(guest.device.server, TEST_UNIX, 0, 1 << 20, 0);
    unsigned n_few[2] = {};

    page.show(&guest, 0);
    guest.send(guest.all());
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.shown));
    /* on a busy machine the worker may draw what it holds before it has taken all */
    for (int at = 1; at <= 2 * STEPS * SWEEPS && !(n_few[0] && n_few[1]); ++at) {
        const bool is_down = (at - 1) % (2 * STEPS) < STEPS;
        const uint64_t commands = guest.commands;
        const auto before = guest.counters();

        page.show(&guest, STEPS - std::abs(at % (2 * STEPS) - STEPS));
        guest.sweep_lines();
        client.read_while([&] { guest.device.run(); });
        const auto after = guest.counters();
        const uint64_t drawn = after.sent - before.sent;

        g_test_message("%s: %u drawings, %u copies, %.1f %% of the screen drawn",
                       is_down ? "down" : "up", (unsigned)(guest.commands - commands),
                       (unsigned)(after.moves - before.moves),
                       100.0 * drawn / (large.width * large.height));
        g_assert_cmpuint(guest.commands - commands, >, RED_MOTION_MAX_RECTS);
        n_few[is_down] += drawn <= uint64_t(large.width) * page.step;
    }
    if (!IS_SLOW) {
        g_assert_cmpuint(n_few[0], >, 0);
        g_assert_cmpuint(n_few[1], >, 0);
    }
    g_assert_true(client.comes_to_show(guest.shown));
    guest.check_released();
}

/* More changes than may be drawn at once, far from each other, do not become the whole screen. */
static void scattered()
{
    /* Fibonacci numbers: no two of the changes are near each other */
    enum { CHANGES = 987, STEP = 610 };
    Guest guest(3840, 2160);
    Client client(guest.device.server, TEST_UNIX, 0, 1 << 20, 0);

    guest.send(guest.all());
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.shown));
    const auto before = guest.counters();
    for (int i = 0; i < CHANGES; ++i) {
        const Box box = { i * STEP % CHANGES * guest.screen.width / CHANGES,
                          i * guest.screen.height / CHANGES, 2, 2 };

        guest.noise(box);
        guest.send(box);
    }
    client.read_while([&] { guest.device.run(); });
    const auto after = guest.counters();
    g_test_message("%u pixels drawn", (unsigned)(after.sent - before.sent));
    g_assert_cmpuint(after.sent - before.sent, <, guest.screen.width * guest.screen.height / 2);
    g_assert_true(client.comes_to_show(guest.shown));
    guest.check_released();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_setenv("SPICE_STREAM", "flow", TRUE);
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));

    for (const auto &large : large_screens) {
        char *const name = g_strdup_printf("/server/display-large/%dx%d-%s", large.width,
                                           large.height,
                                           large.is_terminal ? "terminal" : "browser");

        g_test_add_data_func(name, &large, large_screen);
        g_free(name);
    }
    g_test_add_func("/server/display-large/scattered", scattered);
    return g_test_run();
}
