/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A client that is behind copies what scrolls. */
#include <config.h>

#include "test-dcc-guest.h"

enum { UNTIL_BEHIND, WHEN_BEHIND, TOO_FAR };

/* The client copies what scrolls meanwhile as well: it is sent only the new pixels, and these only
 * at their last place. Of many copies it makes half as many as fill the pipe. */
static void scrolled_meanwhile(gconstpointer data)
{
    enum { WIDTH = 64, HEIGHT = 200, LINE = 2 };
    const int when = GPOINTER_TO_INT(data);
    const int before = when == UNTIL_BEHIND ? MOST_BEHIND_ONE - MAX_PIPE_SIZE + 5 : TOO_MANY;
    /* with what is new in each they fill the pipe */
    const int most = MAX_PIPE_SIZE / 2;
    const int copies = when == TOO_FAR ? 2 * most : most;
    std::vector<uint32_t> memory(WIDTH * HEIGHT);
    Guest guest;

    spice_qxl_destroy_primary_surface(&guest.device.qxl, 0);
    guest.device.create_screen(WIDTH, HEIGHT, memory.data());
    guest.pictures[0] = Picture(WIDTH, HEIGHT);
    Client client(guest.device.server);
    for (int i = 0; i < COMMANDS / 100; ++i) {
        guest.fill(0, guest.random_box(guest.pictures[0]), guest.random(1 << 24), false);
    }
    guest.create(1);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
    client.received.clear();

    /* more than the socket takes of a client that reads nothing */
    guest.photo({ 0, 0, SIDE, SIDE }, 1, 32);
    guest.device.run();
    client.plain_pixels = -SIDE * SIDE;
    for (int i = 0; i < before; ++i) {
        guest.fill(0, { i % 10, HEIGHT / 2, 10, LINE }, 1 + i, true);
    }
    for (int i = 0; i < copies; ++i) {
        guest.copy_bits(0, { 0, 0, WIDTH, HEIGHT - LINE }, 0, LINE);
        guest.fill(0, { 0, HEIGHT - LINE, WIDTH, LINE }, guest.random(1 << 24), false);
    }
    guest.device.run();
    const auto shows = [&] { return client.pictures[0].shows(guest.pictures[0]); };
    g_assert_true(client.reads_until(shows));
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_DRAW_FILL], <, copies);
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], ==, most);
    g_assert_cmpint(client.plain_pixels, <=,
                    when == TOO_FAR ? 2 * HEIGHT * WIDTH : (copies + 2) * LINE * WIDTH);
}

/* Copies on the screen among all else, while it reads a bit of it. */
static void copies_now_and_then()
{
    const uint32_t photos = 9999;
    Guest guest;
    Client client(guest.device.server);
    const auto shows = [&] { return client.pictures[0].shows(guest.pictures[0]); };

    guest.create(photos);
    guest.pictures.erase(photos);
    for (int round = 0; round < 20; ++round) {
        /* more than the socket takes */
        guest.photo({ 0, 0, SIDE, SIDE }, photos, 12);
        for (int i = 2 * MAX_PIPE_SIZE + guest.random(100); i > 0; --i) {
            if (guest.random(2)) {
                const Box box = guest.random_box(guest.pictures[0]);

                guest.copy_bits(0, box, guest.random(TEST_QXL_WIDTH - box.width),
                                guest.random(TEST_QXL_HEIGHT - box.height));
            } else {
                guest.draw_something();
            }
            if (guest.random(20) == 0) {
                guest.device.run();
                client.read_some(guest.random(3));
            }
        }
        guest.device.run();
        if (guest.random(2)) {
            g_assert_true(client.reads_until(shows));
            client.read_for(20);
            g_assert_true(shows());
        }
    }
    g_assert_true(client.reads_until(shows));
}

/* The client is sent the first refresh, of another surface, while drawings of the screen still
 * wait: one that reads the other surface is damage, and is newer than a copy that waits. */
static void drawn_after_a_copy()
{
    Guest guest;
    Client client(guest.device.server);

    guest.create(1);
    guest.create(2);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));

    guest.fall_behind(2, 1, { 0, 0, 20, 2 });
    guest.fill(0, { TEST_QXL_WIDTH - 5, TEST_QXL_HEIGHT - 5, 5, 5 }, 0x123456, false);
    guest.copy_bits(0, { 0, 0, SIDE, SIDE }, 0, 2);
    guest.copy(0, { 10, 10, SIDE / 2, SIDE / 2 }, 1, 0, 0);
    guest.device.run();
    client.received.clear();
    g_assert_true(client.reads_until([&] { return client.pictures[0].shows(guest.pictures[0]); }));
    /* what waits on a surface that has damage becomes damage, too */
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], ==, 0);
}

enum { WAITS, IS_DROPPED, OTHER_IS_DROPPED };

/* The same, and another copy, of what waits: that is kept, until what it reads becomes damage, as
 * when drawings of a surface without damage fill the pipe. What is dropped on another surface does
 * not matter. */
static void copied_from_what_waits(gconstpointer data)
{
    const int what = GPOINTER_TO_INT(data);
    const Box box = { 30, 30, 5, 5 };
    Guest guest;
    Client client(guest.device.server);

    guest.create(1);
    guest.create(2);
    guest.create(3);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));

    guest.fall_behind(2, 1, { 0, 0, 20, 2 });
    guest.fill(what == OTHER_IS_DROPPED ? 3 : 0, box, 0x123456, false);
    guest.copy(0, { 10, 10, SIDE / 2, SIDE / 2 }, 1, 0, 0);
    guest.copy_bits(0, { 0, 40, 5, 5 }, box.left, box.top);
    if (what != WAITS) {
        for (int i = 0; i < MAX_PIPE_SIZE; ++i) {
            guest.fill(3, { i % 10, 0, 10, 2 }, 1 + i, true);
        }
        guest.fill(0, { 30, 0, 5, 5 }, 0x654321, false);
    }
    guest.device.run();
    client.received.clear();
    g_assert_true(client.reads_until([&] { return client.pictures[0].shows(guest.pictures[0]); }));
    if (what != WAITS) {
        g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], ==,
                         what == OTHER_IS_DROPPED);
    }
}

/* Copies on other surfaces are not kept: the damage would not move with them. */
static void copied_off_screen()
{
    Guest guest;
    Client client(guest.device.server);

    guest.create(1);
    guest.create(2);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));

    guest.fall_behind(2, 1, { 0, 0, 20, 10 });
    guest.copy_bits(1, { 10, 20, 10, 10 }, 0, 0);
    guest.device.run();
    client.received.clear();
    g_assert_true(client.reads_until([&] { return client.pictures[1].shows(guest.pictures[1]); }));
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], ==, 0);
}

/* spice-html5 draws JPEG when the browser has decoded it, and meanwhile goes on: a copy would
 * copy what was there before. It gets current pixels instead; copies from elsewhere it gets as
 * any client. */
static void copied_from_jpeg(gconstpointer data)
{
    const uint32_t caps = GPOINTER_TO_UINT(data);
    const Box photo = { 0, 0, 16, SIDE }, copy = { 20, 0, 16, SIDE };
    Guest guest;

    guest.use_jpeg();
    Client client(guest.device.server, TEST_TCP, caps);
    client.read_for(500);
    guest.photo(photo);
    guest.copy_bits(0, copy, photo.left, photo.top);
    guest.device.run();
    client.read_for(500);
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], ==, caps == CANVAS);
    g_assert_cmpint(client.pictures[0].num_lossy(), ==, 2 * photo.width * SIDE);
    client.received.clear();
    guest.copy_bits(0, copy, 44, 0);
    guest.device.run();
    client.read_for(300);
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], ==, 1);
    g_assert_cmpint(client.pictures[0].num_lossy(), ==, photo.width * SIDE);
}

/* Until the client shows frames there. */
static void play(Guest *guest, Client *client, const Box &video)
{
    for (int i = 0; i < 400 && client->frames == 0; ++i) {
        guest->photo(video);
        guest->device.run();
        client->read_for(5);
    }
    g_assert_cmpuint(client->frames, >, 0);
}

/* A copy onto a video, which the client has shown no frame of for a while: what comes of it is
 * drawn over the copy, until the client knows that the video is covered there. */
static void copied_onto_a_video()
{
    const Box video = { 0, 0, 32, TEST_QXL_HEIGHT }, beside = { 40, 0, 20, 4 };
    const Box source = { 40, 20, 16, 16 }, dest = { 24, 20, 16, 16 };
    const uint32_t colour = 0x123456;
    Guest guest;

    spice_server_set_streaming_video(guest.device.server, SPICE_STREAM_VIDEO_ALL);
    Client client(guest.device.server);
    guest.create(1);
    guest.fill(0, source, colour, false);
    play(&guest, &client, video);

    /* more than the socket takes of a client that reads nothing, and a frame behind it */
    client.frame_delay = 2;
    guest.photo({ 0, 0, SIDE, SIDE }, 1, 32);
    guest.photo(video);
    guest.device.run();
    for (int i = 0; i < TOO_MANY; ++i) {
        guest.fill(0, { beside.left + i % 10, 0, 10, beside.height }, 1 + i, true);
    }
    guest.device.run();
    client.received.clear();
    guest.copy_bits(0, dest, source.left, source.top);
    guest.device.run();
    g_assert_true(client.reads_until([&] {
        return client.pictures[0].at(dest.left + dest.width - 1, dest.top) == colour;
    }));
    client.read_for(500);
    g_assert_cmphex(client.pictures[0].at(dest.left, dest.top), ==, colour);
}

/* A copy from a video. So much waits that the message which ends the video at the client goes with
 * an earlier one of its clip, before the refresh; but what repairs the copied pixels is behind it:
 * until then the client has losses there. */
static void copied_from_a_video()
{
    const Box video = { 0, 0, 32, TEST_QXL_HEIGHT }, beside = { 40, 0, 20, 4 };
    const Box dest = { 40, 20, 16, 16 };
    Guest guest;

    spice_server_set_streaming_video(guest.device.server, SPICE_STREAM_VIDEO_ALL);
    Client client(guest.device.server);
    guest.create(1);
    play(&guest, &client, video);

    /* more than the socket takes of a client that reads nothing */
    guest.photo({ 0, 0, SIDE, SIDE }, 1, 32);
    guest.device.run();
    guest.fill(0, { 0, 0, 10, 4 }, 0x123456, false);
    for (uint32_t surface = 2; surface < MAX_PIPE_SIZE * 3 / 4; ++surface) {
        guest.create_blank(surface);
    }
    for (int i = 0; i < TOO_MANY; ++i) {
        guest.fill(0, { beside.left + i % 10, 0, 10, beside.height }, 1 + i, true);
    }
    guest.device.run();
    client.received.clear();
    guest.copy_bits(0, dest, 8, 20);
    guest.device.run();
    g_assert_true(client.reads_until([&] {
        return client.pictures[0].at(beside.left, 0) == guest.pictures[0].at(beside.left, 0);
    }));
    client.read_for(300);
    g_assert_cmphex(client.pictures[0].at(dest.left, dest.top) & TEST_LOSSY, ==, 0);
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], ==, 0);
}

/* The same, and the video goes on while nothing is late: the client shows no frame from before the
 * copy at the place from which that copies. @surface: to which. */
static void copied_from_a_video_that_goes_on(gconstpointer data)
{
    enum { FILLS = 20 };
    const uint32_t surface = GPOINTER_TO_UINT(data);
    const Box video = { 0, 0, 18, TEST_QXL_HEIGHT }, dest = { 20, 20, 16, 16 };
    Guest guest;

    spice_server_set_streaming_video(guest.device.server, SPICE_STREAM_VIDEO_ALL);
    Client client(guest.device.server);
    const auto copy = [&](const Box &box) {
        if (surface == 0) {
            guest.copy_bits(0, box, 1, 20);
        } else {
            guest.copy(surface, box, 0, 1, 20);
        }
    };
    guest.create(1);
    play(&guest, &client, video);

    /* more than the socket takes of a client that reads nothing, and behind it what takes the
     * client so long that it shows the last frame in the middle of the fills */
    const unsigned surfaces = MAX_PIPE_SIZE * 3 / 4;
    client.frame_delay = surfaces + FILLS / 2;
    guest.photo(video);
    guest.device.run();
    guest.photo({ 0, 0, SIDE, SIDE }, 1, 32);
    guest.device.run();
    guest.fill(0, { 0, 0, 10, 4 }, 0x123456, false);
    for (uint32_t i = 2; i < surfaces; ++i) {
        guest.create_blank(i);
    }
    copy({ 36, 0, 2, 2 });
    for (int i = 0; i < FILLS; ++i) {
        guest.fill(0, { 40, 0, 10, 4 }, 1 + i, true);
    }
    copy(dest);
    guest.photo(video);
    guest.device.run();
    const unsigned frames = client.frames;
    g_assert_true(client.reads_until([&] { return client.frames == frames + 2; }));
    g_assert_cmphex(client.pictures[surface].at(dest.left, dest.top) & TEST_LOSSY, ==, 0);
}

/* A copy past a video, of which nothing waits, is sent as any. */
static void copied_past_a_video()
{
    const Box video = { 16, 0, 16, TEST_QXL_HEIGHT }, beside = { 40, 0, 20, 4 };
    const Box source = { 40, 20, 16, 16 }, dest = { 0, 20, 16, 16 };
    Guest guest;

    spice_server_set_streaming_video(guest.device.server, SPICE_STREAM_VIDEO_ALL);
    Client client(guest.device.server);
    guest.create(1);
    guest.fill(0, source, 0x123456, false);
    play(&guest, &client, video);

    guest.fall_behind(1, 0, beside);
    client.received.clear();
    guest.copy_bits(0, dest, source.left, source.top);
    guest.device.run();
    g_assert_true(client.reads_until([&] {
        return client.pictures[0].at(dest.left, dest.top) == 0x123456;
    }));
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], ==, 1);
}

int main(int argc, char *argv[])
{
    init_tests(&argc, &argv);

    g_test_add_data_func("/server/dcc-copies/scrolled-when-behind",
                         GINT_TO_POINTER(WHEN_BEHIND), scrolled_meanwhile);
    g_test_add_data_func("/server/dcc-copies/scrolled-until-behind",
                         GINT_TO_POINTER(UNTIL_BEHIND), scrolled_meanwhile);
    g_test_add_data_func("/server/dcc-copies/scrolled-too-far", GINT_TO_POINTER(TOO_FAR),
                         scrolled_meanwhile);
    g_test_add_func("/server/dcc-copies/copies-now-and-then", copies_now_and_then);
    g_test_add_func("/server/dcc-copies/drawn-after-a-copy", drawn_after_a_copy);
    g_test_add_data_func("/server/dcc-copies/copied-from-what-waits", GINT_TO_POINTER(WAITS),
                         copied_from_what_waits);
    g_test_add_data_func("/server/dcc-copies/copied-from-what-is-dropped",
                         GINT_TO_POINTER(IS_DROPPED), copied_from_what_waits);
    g_test_add_data_func("/server/dcc-copies/copied-beside-what-is-dropped",
                         GINT_TO_POINTER(OTHER_IS_DROPPED), copied_from_what_waits);
    g_test_add_func("/server/dcc-copies/copied-off-screen", copied_off_screen);

    g_test_add_data_func("/server/dcc-copies/copied-from-jpeg", GUINT_TO_POINTER(CANVAS),
                         copied_from_jpeg);
    g_test_add_data_func("/server/dcc-copies/copied-from-jpeg-in-a-browser",
                         GUINT_TO_POINTER(1 << SPICE_DISPLAY_CAP_CODEC_VP8), copied_from_jpeg);
    g_test_add_func("/server/dcc-copies/copied-onto-a-video", copied_onto_a_video);
    g_test_add_func("/server/dcc-copies/copied-from-a-video", copied_from_a_video);
    g_test_add_data_func("/server/dcc-copies/copied-from-a-video-that-goes-on",
                         GUINT_TO_POINTER(0), copied_from_a_video_that_goes_on);
    g_test_add_data_func("/server/dcc-copies/copied-off-a-video-that-goes-on",
                         GUINT_TO_POINTER(1), copied_from_a_video_that_goes_on);
    g_test_add_func("/server/dcc-copies/copied-past-a-video", copied_past_a_video);

    return g_test_run();
}
