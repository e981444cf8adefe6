/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a client that is behind is not sent becomes damage, and is sent as the current pixels. */
#include <config.h>

#include "test-dcc-guest.h"

/* While the client reads nothing the worker takes all drawings. The client is not disconnected for
 * that, ends with the current screen, and was sent little. */
static void guest_goes_on()
{
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    for (int round = 0; round < 3; ++round) {
        client.received.clear();
        for (int i = 0; i < COMMANDS; ++i) {
            guest.draw_something();
        }
        guest.device.run();
        g_assert_true(client.comes_to_show(guest.pictures));
        unsigned drawn = 0;
        for (const auto &messages : client.received) {
            drawn += messages.second;
        }
        g_assert_cmpuint(drawn, <, COMMANDS / 3);
    }

    /* once it has the current screen, it is sent drawings again */
    const unsigned fills = client.received[SPICE_MSG_DISPLAY_DRAW_FILL];
    for (int i = 0; client.received[SPICE_MSG_DISPLAY_DRAW_FILL] == fills; ++i) {
        g_assert_cmpint(i, <, COMMANDS);
        guest.fill(0, { 0, 0, 10, 10 }, 0x123456, true);
        guest.device.run();
        g_assert_true(client.comes_to_show(guest.pictures));
    }
}

/* It draws all the time, the client reads now and then. */
static void client_reads_now_and_then()
{
    Guest guest;
    Client client(guest.device.server);

    for (int round = 0; round < 40; ++round) {
        for (int i = 0; i < COMMANDS / 20; ++i) {
            guest.draw_something();
        }
        guest.device.run();
        client.read_some(guest.random(100));
    }
    g_assert_true(client.comes_to_show(guest.pictures));
}

/* One client reads nothing, another one comes and goes, the first one goes as well. */
static void clients_of_their_own()
{
    /* looked at when the server is made */
    g_setenv("SPICE_DEBUG_ALLOW_MC", "1", TRUE);
    Guest guest;
    g_unsetenv("SPICE_DEBUG_ALLOW_MC");
    auto client = std::unique_ptr<Client>(new Client(guest.device.server));

    for (int i = 0; i < COMMANDS; ++i) {
        guest.draw_something();
    }
    guest.device.run();
    {
        Client other(guest.device.server);

        other.came_later = true;
        g_assert_true(other.comes_to_show(guest.pictures));
        for (int i = 0; i < COMMANDS; ++i) {
            guest.draw_something();
        }
        guest.device.run();
        g_assert_true(other.comes_to_show(guest.pictures));
    }
    g_assert_true(client->comes_to_show(guest.pictures));
    for (int i = 0; i < COMMANDS; ++i) {
        guest.draw_something();
    }
    guest.device.run();
    client.reset();
    guest.device.run();
}

/* Pictures have no format for pixels of 565 or of one bit, which the guest's surfaces may have. */
static void surface_of_another_format(gconstpointer data)
{
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    guest.create(1, GPOINTER_TO_UINT(data));
    for (int i = 0; i < COMMANDS; ++i) {
        guest.fill(0, guest.random_box(guest.pictures[0]), guest.random(1 << 24), true);
        guest.fill(1, { 0, 0, SIDE, SIDE }, i % 2 ? 0xffffff : 0, false);
    }
    guest.device.run();
    if (GPOINTER_TO_UINT(data) == SPICE_SURFACE_FMT_1_A) {
        /* fills do not draw on it, and it has no colours */
        guest.pictures[1] = Picture(SIDE, SIDE);
    }
    g_assert_true(client.comes_to_show(guest.pictures));
}

/* Whether the client shows all of @box of the screen as the guest has drawn it. */
static bool shows(const Client &client, const Guest &guest, const Box &box)
{
    const Picture &shown = client.pictures.at(0), &drawn = guest.pictures.at(0);

    for (int y = box.top; y < box.top + box.height; ++y) {
        for (int x = box.left; x < box.left + box.width; ++x) {
            if (shown.at(x, y) != drawn.at(x, y)) {
                return false;
            }
        }
    }
    return true;
}

/* A video plays while the client is behind. Frames that find a full pipe become damage, which is
 * not sent as long as the next frame replaces it, and makes nothing else wait: what is drawn beside
 * it is sent as it is. When the video ends the client is shown all of it exactly. Returns false if the
 * machine was so busy that it ended too soon. */
static bool plays_when_behind()
{
    const Box video = { 0, 0, 32, TEST_QXL_HEIGHT }, beside = { 40, 0, 20, 4 };
    Guest guest;

    spice_server_set_streaming_video(guest.device.server, SPICE_STREAM_VIDEO_ALL);
    Client client(guest.device.server);
    const auto frame = [&](int ms) {
        guest.photo(video);
        guest.device.run();
        client.read_for(ms);
    };
    guest.create(1);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
    for (int i = 0; !client.received[SPICE_MSG_DISPLAY_STREAM_CREATE]; ++i) {
        g_assert_cmpint(i, <, 1000);
        frame(20);
    }

    guest.fall_behind(1, 0, beside);
    for (int i = 0; i < 2 * MAX_PIPE_SIZE; ++i) {
        guest.photo(video);
        guest.device.run();
    }
    client.plain_pixels = 0;
    for (int i = 0; i < 10 || !shows(client, guest, beside); ++i) {
        g_assert_cmpint(i, <, 1000);
        frame(50);
    }
    const unsigned fills = client.received[SPICE_MSG_DISPLAY_DRAW_FILL];
    for (int i = 0; i < 5; ++i) {
        guest.fill(0, beside, 0x123456 + i, true);
        frame(50);
    }
    if (client.received[SPICE_MSG_DISPLAY_STREAM_DESTROY]) {
        return false;
    }
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_DRAW_FILL], >, fills);
    g_assert_cmpint(client.plain_pixels, <, SIDE * SIDE + video.width * video.height);
    g_assert_true(client.reads_until([&] { return client.pictures[0].num_lossy() == 0; }));
    return true;
}

static void under_a_video()
{
    for (int i = 0; !plays_when_behind(); ++i) {
        g_assert_cmpint(i, <, 10);
    }
}

/* One frame of a video draws more than those after it, and becomes damage. What they do not draw of
 * it is shown while they play. @is_clipped: they are as large, but clipped, and the damage comes
 * after the first of them; otherwise it comes before. Returns false if the machine was so busy that
 * the video ended too soon. */
static bool plays_on_smaller(bool is_clipped)
{
    const Box large = { 0, 0, 32, TEST_QXL_HEIGHT }, small = { 0, 0, 32, TEST_QXL_HEIGHT / 2 };
    const Box lower = { 0, small.height, 32, TEST_QXL_HEIGHT - small.height };
    const Box beside = { 40, 0, 20, 4 };
    Guest guest;

    spice_server_set_streaming_video(guest.device.server, SPICE_STREAM_VIDEO_ALL);
    Client client(guest.device.server);
    const auto frame = [&](int ms) {
        if (is_clipped) {
            guest.photo(large, 0, 1, { small });
        } else {
            guest.photo(small);
        }
        guest.device.run();
        client.read_for(ms);
    };
    guest.create(1);
    guest.fill(0, lower, 0x123456, false);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
    for (int i = 0; !client.received[SPICE_MSG_DISPLAY_STREAM_CREATE]; ++i) {
        g_assert_cmpint(i, <, 1000);
        frame(20);
    }

    /* more than the socket takes of a client that reads nothing */
    guest.photo({ 0, 0, SIDE, SIDE }, 1, 32);
    guest.device.run();
    guest.photo(large);
    guest.device.run();
    if (is_clipped) {
        frame(0);
    }
    for (int i = 0; i < TOO_MANY; ++i) {
        guest.fill(0, beside, 1 + i, true);
    }
    guest.device.run();
    g_assert_true(shows(client, guest, lower));
    g_assert_true(client.reads_until([&] { return shows(client, guest, beside); }));
    client.read_for(50);
    /* a photo has other pixels */
    const auto is_stale = [&] { return client.pictures[0].at(lower.left, lower.top) == 0x123456; };
    for (int i = 0; i < 100 && is_stale(); ++i) {
        frame(20);
    }
    if (client.received[SPICE_MSG_DISPLAY_STREAM_DESTROY]) {
        return false;
    }
    g_assert_false(is_stale());
    return true;
}

static void beside_smaller_frames(gconstpointer is_clipped)
{
    for (int i = 0; !plays_on_smaller(GPOINTER_TO_INT(is_clipped)); ++i) {
        g_assert_cmpint(i, <, 10);
    }
}

/* What a video covers changes with each frame, as something is drawn over it: of the messages about
 * that few wait for a client that reads nothing. */
static void covered_again_and_again()
{
    enum { CHANGES = 4 * MAX_PIPE_SIZE };
    const Box video = { 0, 0, 32, TEST_QXL_HEIGHT };
    Guest guest;

    spice_server_set_streaming_video(guest.device.server, SPICE_STREAM_VIDEO_ALL);
    Client client(guest.device.server);
    guest.create(1);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
    for (int i = 0; !client.received[SPICE_MSG_DISPLAY_STREAM_CREATE]; ++i) {
        g_assert_cmpint(i, <, 1000);
        guest.photo(video);
        guest.device.run();
        client.read_for(20);
    }
    /* more than the socket takes of a client that reads nothing */
    guest.photo({ 0, 0, SIDE, SIDE }, 1, 32);
    guest.device.run();
    client.received.clear();
    for (int i = 0; i < CHANGES; ++i) {
        guest.photo(video);
        guest.fill(0, { i % 20, i % 30, 10, 10 }, 1 + i, false);
        guest.device.run();
    }
    guest.fill(0, { 40, 0, 10, 10 }, 0x123456, false);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.pictures[0].at(40, 0) == 0x123456; }));
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_STREAM_CLIP], >, 0);
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_STREAM_CLIP], <, CHANGES / 2);
}

int main(int argc, char *argv[])
{
    init_tests(&argc, &argv);

    g_test_add_func("/server/dcc-damage/guest-goes-on", guest_goes_on);
    g_test_add_func("/server/dcc-damage/client-reads-now-and-then", client_reads_now_and_then);
    g_test_add_func("/server/dcc-damage/clients-of-their-own", clients_of_their_own);
    g_test_add_data_func("/server/dcc-damage/surface-of-565",
                         GUINT_TO_POINTER(SPICE_SURFACE_FMT_16_565), surface_of_another_format);
    g_test_add_data_func("/server/dcc-damage/surface-of-1-bit",
                         GUINT_TO_POINTER(SPICE_SURFACE_FMT_1_A), surface_of_another_format);
    g_test_add_func("/server/dcc-damage/under-a-video", under_a_video);
    g_test_add_data_func("/server/dcc-damage/beside-smaller-frames", GINT_TO_POINTER(false),
                         beside_smaller_frames);
    g_test_add_data_func("/server/dcc-damage/beside-clipped-frames", GINT_TO_POINTER(true),
                         beside_smaller_frames);
    g_test_add_func("/server/dcc-damage/covered-again-and-again", covered_again_and_again);

    return g_test_run();
}
