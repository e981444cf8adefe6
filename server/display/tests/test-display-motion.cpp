/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A guest without a drawing driver sends rectangles of its frame buffer, through a server to
 * clients. The clients show it to the pixel and are sent little for what moved or is equal. The
 * guest gets each of its resources back once. Videos are detected as without the display stage.
 */
#include <config.h>

#include "test-display-guest.h"

#include "push-visibility.h"

/* Overlapping clip rectangles would have a guest's pixels compared once for each: such a drawing
 * passes. */
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

/* Bitmaps that may change, that clients are to cache, or that have more lines than the screen,
 * are passed on unchanged. */
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

/* What a composite has drawn is not read back: a client may draw that otherwise. What is drawn there
 * again is sent, also where it was copied to. */
static void composites_not_read()
{
    const Box drawn = { 100, 100, 20, 30 }, copied = { 140, 100, 20, 30 };
    Guest guest;
    Client client(guest.device.server);

    begin(&guest, &client);
    guest.composite(drawn, 0x123456);
    guest.copy_bits(copied, drawn.left, drawn.top);
    for (int i = 0; i < 12; ++i) {
        const Box box = { 40, 40, 50, 50 };

        guest.noise(box);
        guest.send(box);
        guest.device.run();
    }
    guest.send(drawn);
    guest.send(copied);
    guest.shown[0] = guest.screen;
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.shown));
    /* from then on it is known */
    client.plain_pixels = 0;
    guest.send(drawn);
    guest.send(copied);
    guest.device.run();
    client.read_for(300);
    g_assert_cmpint(client.plain_pixels, ==, 0);
}

/* What other drawings changed is read back from the canvas when bitmaps have drawn as much, and
 * only that. */
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
        g_assert_cmpuint(read_after({ { 0, 0, 2, 2 }, { WIDTH - 2, HEIGHT - 2, 2, 2 } }, 10), ==,
                         read);
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

/* Clients that may not know it get what they got, and all others, too, as long as one is there,
 * whichever came first. */
static void text_for_any_client()
{
    for (uint32_t caps : std::initializer_list<uint32_t>{ SPICE_HTML5, RYLL, 0 }) {
        for (const bool is_first : { false, true }) {
            Guest guest;
            Client able(guest.device.server, TEST_UNIX, is_first ? caps : uint32_t{SPICE_GTK});
            begin(&guest, &able);
            able.two_colour_pixels = 0;
            Client client(guest.device.server, TEST_UNIX, is_first ? uint32_t{SPICE_GTK} : caps);

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

/* A guest that has written pixels into the memory of its screen before it sends them, and many
 * more by the time its commands are taken: clients get what is sent, and a copy for what moved.
 * The server does not write into that memory until it is told to. */
static void ahead()
{
    const int lines = 20;
    Guest guest;
    Client client(guest.device.server);
    const auto wait_until_taken = [&] {
        spice_qxl_wakeup(&guest.device.qxl);
        g_assert_true(client.reads_until([&] { return guest.device.num_left() == 0; }));
    };

    guest.writes_ahead = true;
    guest.noise(guest.all());
    guest.send({ 0, 0, WIDTH, HEIGHT / 2 });
    /* no command says that */
    guest.noise({ 0, HEIGHT / 2, WIDTH, HEIGHT / 2 });
    guest.send({ 0, HEIGHT / 2, WIDTH, HEIGHT / 4 });
    wait_until_taken();
    g_assert_true(client.comes_to_show(guest.shown));
    guest.sweep();
    client.plain_pixels = 0;
    for (int i = 0; i < lines; ++i) {
        guest.scroll();
        guest.sweep();
        /* the next line is there already */
        guest.scroll();
        guest.screen_memory = guest.screen.pixels;
        wait_until_taken();
        g_assert_true(client.comes_to_show(guest.shown));
        guest.check_memory();
    }
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], >=, lines);
    g_assert_cmpint(client.plain_pixels, <, lines * WIDTH * HEIGHT / 2);

    /* a client that connects now does not get what no command has drawn */
    Client late(guest.device.server);
    late.came_later = true;
    g_assert_true(late.comes_to_show(guest.shown));
    guest.sweep();
    wait_until_taken();
    g_assert_true(client.comes_to_show(guest.shown));
    g_assert_true(late.comes_to_show(guest.shown));
    guest.check_memory();
    guest.check_released();
}

/* The client has taken no more than a part of a large picture, and reads nothing. */
static void block(Guest *guest)
{
    const Box box = { 0, 0, guest->screen.width, guest->screen.height - 4 * LINE };

    guest->noise(box);
    guest->send(box);
    guest->device.run();
}

static void wait_until_taken(Guest *guest)
{
    spice_qxl_wakeup(&guest->device.qxl);
    while (guest->device.num_left()) {
        g_usleep(500);
    }
    /* what was taken last is drawn before the worker does this */
    guest->device.run();
}

/* Drawings are held while a client takes nothing, too: that is when a move saves most. */
static void blocked()
{
    enum { SCREENS = 10, COLUMNS = 23 };
    Guest guest(COLUMNS * 32, 400);
    Client client(guest.device.server, TEST_TCP);

    begin(&guest, &client);
    block(&guest);
    const auto before = guest.counters();
    for (int i = 0; i < SCREENS; ++i) {
        guest.scroll();
        guest.sweep();
        wait_until_taken(&guest);
    }
    /* on a busy machine a sweep may become more than one batch */
    g_assert_cmpuint(guest.counters().moves - before.moves, <,
                     SCREENS * COLUMNS / 3);
    g_assert_true(client.comes_to_show(guest.shown));
    guest.check_released();
}

/* As many drawings as are held are queued at once behind all that may wait for a large message,
 * again and again. The pipe never has more, so there is room for each drawing, and none is lost. */
static void pool()
{
    enum {
        SIDE = 2,
        PER_LINE = 128,
        /* MAX_PASSING_PIPE_SIZE of dcc-catch-up.cpp, and copies that are kept */
        WAIT = 8 * MAX_PIPE_SIZE + MAX_PIPE_SIZE / 2,
    };
    Guest guest(PER_LINE * 3, 400);
    Client client(guest.device.server, TEST_TCP);
    uint32_t most = 0;

    begin(&guest, &client);
    for (int round = 0; round < 3; ++round) {
        block(&guest);
        for (int i = 0; i < 8 * MAX_PIPE_SIZE - 1; ++i) {
            guest.fill({ i % guest.screen.width, i / guest.screen.width, 1, 1 }, i);
        }
        for (int i = 0; i < 2 * RED_MOTION_MAX_RECTS; ++i) {
            const Box box = { i % PER_LINE * 3, 400 - 3 * (1 + i / PER_LINE), SIDE, SIDE };

            guest.noise(box);
            guest.send(box);
        }
        spice_qxl_wakeup(&guest.device.qxl);
        const int64_t end = g_get_monotonic_time() + G_USEC_PER_SEC / 2;
        while (guest.device.num_left() || g_get_monotonic_time() < end) {
            most = MAX(most, test_max_pipe_size(&guest.device));
            g_usleep(100);
        }
        g_assert_true(client.comes_to_show(guest.shown));
    }
    g_test_message("at most %u items in the pipe", most);
    g_assert_cmpuint(most, <=, WAIT + RED_MOTION_MAX_RECTS);
    g_assert_cmpuint(WAIT + RED_MOTION_MAX_RECTS, <, NUM_DRAWABLES);
    guest.check_released();
}

/* Bitmaps that were sent, and that GLZ's dictionary keeps, do not count as waiting for good. */
static void dictionary()
{
    enum { SIDE = 1024, RUN = 16, SCREENS = DISPLAY_MOTION_BITMAPS / (SIDE * SIDE * 4) + 2 };
    Guest guest(SIDE, SIDE);
    spice_server_set_image_compression(guest.device.server, SPICE_IMAGE_COMPRESSION_GLZ);
    Client client(guest.device.server, TEST_TCP, 0, SCREENS * SIDE * SIDE);

    client.draws = false;
    guest.device.run();
    for (int screen = 0; screen < SCREENS; ++screen) {
        const unsigned before = client.received[SPICE_MSG_DISPLAY_DRAW_COPY];

        for (int y = 0; y < SIDE; ++y) {
            for (int x = 0; x < SIDE; ++x) {
                guest.screen.at(x, y) = x % RUN ? guest.screen.at(x - 1, y) : guest.random(1 << 24);
            }
        }
        guest.sweep();
        client.read_while([&] { guest.device.run(); });
        g_assert_true(client.reads_until([&] {
            return client.received[SPICE_MSG_DISPLAY_DRAW_COPY] > before;
        }));
    }
    /* the last screen may still be on its way */
    for (int i = 0; i < 20 && !client.received[SPICE_MSG_DISPLAY_COPY_BITS]; ++i) {
        guest.scroll();
        guest.send(guest.all());
        client.read_while([&] { guest.device.run(); });
        client.read_for(100);
    }
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], >, 0);
}

/* A guest that says DESTROY_SURFACE_WAIT of its screen, while drawings wait for a client, and
 * draws on. */
static void emptied()
{
    Guest guest(736, 400);
    Client client(guest.device.server, TEST_TCP);

    begin(&guest, &client);
    for (int i = 0; i < 3; ++i) {
        const Box box = { 10, 340, 100, 40 };

        block(&guest);
        guest.noise(box);
        guest.send(box);
        guest.device.run();
        client.read_while([&] { spice_qxl_destroy_surface_wait(&guest.device.qxl, 0); });
        guest.send(box);
        guest.scroll();
        guest.sweep();
        guest.device.run();
        g_assert_true(client.comes_to_show(guest.shown));
    }
    guest.check_released();
}

/* Where anything may be a video, nothing is compared. */
static void all_videos()
{
    Guest guest;

    spice_server_set_streaming_video(guest.device.server, SPICE_STREAM_VIDEO_ALL);
    Client client(guest.device.server);
    begin(&guest, &client);
    for (int i = 0; i < 3; ++i) {
        guest.scroll();
        guest.sweep();
        guest.device.run();
        g_assert_true(client.comes_to_show(guest.shown));
    }
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], ==, 0);
}

/* There is no mirror while there is no client: the next one has the screen read. */
static void without_client()
{
    const Box box = { 10, 10, 20, 20 };
    Guest guest;
    std::unique_ptr<Client> client(new Client(guest.device.server));

    begin(&guest, client.get());
    client.reset();
    const auto read = guest.counters().read;
    guest.noise(box);
    for (int i = 0; i < 100 && spice_server_get_num_clients(guest.device.server); ++i) {
        g_usleep(10000);
    }
    guest.send(box);
    guest.device.run();
    client.reset(new Client(guest.device.server));
    g_assert_true(client->comes_to_show(guest.shown));
    guest.noise(box);
    guest.send(box);
    guest.device.run();
    g_assert_true(client->comes_to_show(guest.shown));
    g_assert_cmpuint(guest.counters().read - read, ==,
                     WIDTH * HEIGHT - box.width * box.height);
}

/* Pictures that follow each other at one place are compared one by one: a line that scrolls is a
 * shift that is tried first, two are another one that has to be searched. */
static void one_by_one()
{
    enum { STEPS = 10, AT_ONCE = 4 };
    Guest guest;
    Client client(guest.device.server);

    begin(&guest, &client);
    for (int i = 0; i < STEPS; ++i) {
        for (int step = 0; step < AT_ONCE; ++step) {
            guest.scroll();
            guest.send(guest.all());
        }
        guest.device.run();
        g_assert_true(client.comes_to_show(guest.shown));
    }
    g_assert_cmpuint(guest.counters().moves, >=, STEPS * AT_ONCE);
}

/* A client that reads nothing, and all drawings wait for it: when the bitmaps of the stage have
 * become too many, it gets what the guest drew, which is the guest's memory. */
static void bitmaps()
{
    enum { SIDE = 1024, PARTS = 16, SCREENS = DISPLAY_MOTION_BITMAPS / (SIDE * SIDE * 4) + 2 };

    if (!g_test_subprocess()) {
        run_with("flow,catchup=off");
        return;
    }

    Guest guest(SIDE, SIDE);
    Client client(guest.device.server, TEST_TCP);
    const auto waiting = [&] { return test_max_pipe_size(&guest.device); };

    /* with more in its pipe the worker would wait for it */
    for (int screen = 0; screen < SCREENS && waiting() + PARTS <= MAX_PIPE_SIZE; ++screen) {
        for (auto &pixel : guest.screen.pixels) {
            const int x = &pixel - guest.screen.pixels.data();

            pixel = x % LINE ? (&pixel)[-1] : guest.random(1 << 24);
        }
        for (int part = 0; part < PARTS; ++part) {
            guest.send({ 0, part * SIDE / PARTS, SIDE, SIDE / PARTS });
        }
        /* what is rendered is not covered by the next one */
        guest.update(guest.all());
        g_assert_cmpuint(guest.bitmaps(), <=, DISPLAY_MOTION_BITMAPS);
    }
    g_assert_cmpuint(guest.bitmaps(), >, DISPLAY_MOTION_BITMAPS / 2);
}

/* What a guest finds in the memory of its screen: in the area that it asks for what it has
 * drawn, elsewhere what was there, also where the stage draws something else in between. */
static void updated()
{
    Guest guest;
    Client client(guest.device.server);
    Picture memory = guest.screen;

    for (int round = 0; round < 100; ++round) {
        for (int i = guest.random(4); i >= 0; --i) {
            const Box box = guest.random_box();

            switch (guest.random(6)) {
            case 0:
                guest.fill(box, guest.random(1 << 24));
                break;
            case 1:
                guest.copy_bits(box, guest.random(guest.screen.width - box.width + 1),
                                guest.random(guest.screen.height - box.height + 1));
                break;
            case 2:
                guest.noise(box);
                guest.sweep();
                break;
            default:
                guest.move(box, guest.random(41) - 20, guest.random(41) - 20);
                guest.send(box, guest.random_form());
            }
        }
        const Box box = guest.random_box();
        if (round == 50) {
            guest.device.run();
            client.read_while([&] { spice_server_vm_stop(guest.device.server); });
            spice_server_vm_start(guest.device.server);
            memory = guest.sent;
        } else {
            guest.update(box);
            memory.copy(box, guest.sent, box.left, box.top);
        }
        g_assert_cmpmem(guest.screen_memory.data(), guest.screen_memory.size() * 4,
                        memory.pixels.data(), memory.pixels.size() * 4);
        client.read_some(50);
    }
    g_assert_true(client.comes_to_show(guest.shown));
}

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
        /* another part in each */
        const int height = frames ? 60 + guest.random(90) : box.height;
        const Box changed = { box.left, box.top + box.height - height, box.width, height };

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

    /* while it plays, its frames are not compared */
    const auto sent = guest.counters().sent;
    for (int i = 0; i < 5; ++i) {
        guest.noise(box);
        guest.send(box);
        guest.device.run();
        client.read_some(100);
    }
    g_assert_cmpuint(guest.counters().sent, ==, sent);

    /* what moves out of it is sent, not copied: a copy would make the server send all of the
     * frame again, as the client has it only as a lossy one */
    const int end = box.top + box.height;
    client.plain_pixels = 0;
    guest.move({ box.left, box.top, box.width, HEIGHT - box.top }, 0, LINE);
    guest.send({ box.left, end, box.width, HEIGHT - end });
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.plain_pixels >= box.width * LINE; }));
    g_assert_cmpint(client.plain_pixels, <=, box.width * (HEIGHT - end));
}

/* What is drawn over a video is passed on at once, after what was drawn beside it and is held. */
static void over_a_video()
{
    const Box box = { 16, 16, 200, 150 };
    Guest guest;

    spice_server_set_streaming_video(guest.device.server, SPICE_STREAM_VIDEO_FILTER);
    Client client(guest.device.server);
    begin(&guest, &client);
    for (int frames = 0; !client.received[SPICE_MSG_DISPLAY_STREAM_CREATE]; ++frames) {
        g_assert_cmpint(frames, <, 40);
        for (int y = box.top; y < box.top + box.height; ++y) {
            for (int x = box.left; x < box.left + box.width; ++x) {
                guest.screen.at(x, y) = 0x10101 * ((x + y) / 4 + guest.random(4));
            }
        }
        guest.send(box);
        guest.device.run();
        client.read_for(5);
    }
    for (int i = 0; i < 5; ++i) {
        const Box beside = { 230, 20, 40, 40 }, over = { 200, 10, 100, 80 };

        guest.noise(beside);
        guest.send(beside);
        guest.noise(over);
        guest.send(over);
        guest.device.run();
        client.read_for(5);
    }
    /* and when it has ended */
    g_assert_true(client.comes_to_show(guest.shown));
}

/* A photo or a frame of a video stays in the guest's columns: a column can be replaced while the
 * others are sent. Text becomes few images. */
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
                guest.screen.at(x, y) = guest.random(4) ? guest.screen.at(MAX(x - 1, 0), y) :
                                                          guest.random(1u << 24);
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
    if (!g_test_subprocess()) {
        g_setenv("SPICE_STREAM", "flow", TRUE);
    }
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
    g_test_add_func("/server/display-motion/composites-not-read", composites_not_read);
    g_test_add_func("/server/display-motion/text-in-colours", text_in_colours);
    g_test_add_func("/server/display-motion/text-in-two-colours", text_in_two_colours);
    g_test_add_func("/server/display-motion/text-for-any-client", text_for_any_client);
    g_test_add_func("/server/display-motion/no-text", no_text);
    g_test_add_func("/server/display-motion/ahead", ahead);
    g_test_add_func("/server/display-motion/updated", updated);
    g_test_add_func("/server/display-motion/blocked", blocked);
    g_test_add_func("/server/display-motion/pool", pool);
    g_test_add_func("/server/display-motion/dictionary", dictionary);
    g_test_add_func("/server/display-motion/emptied", emptied);
    g_test_add_func("/server/display-motion/all-videos", all_videos);
    g_test_add_func("/server/display-motion/without-client", without_client);
    g_test_add_func("/server/display-motion/one-by-one", one_by_one);
    g_test_add_func("/server/display-motion/bitmaps", bitmaps);
    g_test_add_func("/server/display-motion/video", video);
    g_test_add_func("/server/display-motion/over-a-video", over_a_video);
    g_test_add_func("/server/display-motion/noise", noise);
    g_test_add_func("/server/display-motion/stopped", stopped);

    return g_test_run();
}
