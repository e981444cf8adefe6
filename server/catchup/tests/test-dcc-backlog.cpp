/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What waits behind one large image, and what a VM that stops waits for. */
#include <config.h>

#include <atomic>
#include <thread>

#include "reds.h"
#include "test-dcc-guest.h"
#include "test-video.h"
#include "test-worker.h"

/* One large image takes a while, and what is drawn meanwhile is sent as drawings: its area is not
 * refreshed. @pause: microseconds after each drawing; 0: all are drawn at once. */
static void behind_one_picture(unsigned fills, unsigned long pause)
{
    const Box all = { 0, 0, TEST_QXL_WIDTH, TEST_QXL_HEIGHT };
    const int screen = TEST_QXL_WIDTH * TEST_QXL_HEIGHT;
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.reads_until([&] { return client.plain_pixels == screen; }));
    guest.photo(all, 0, 8);
    guest.device.run();
    for (unsigned i = 0; i < fills; ++i) {
        guest.fill(0, all, i, true);
        if (pause) {
            guest.device.run();
            g_usleep(pause);
        }
    }
    if (!pause) {
        guest.device.run();
        g_usleep(2 * RED_CATCH_UP_LATE);
    }
    g_assert_true(client.reads_until([&] {
        return client.received[SPICE_MSG_DISPLAY_DRAW_FILL] == fills;
    }));
    g_assert_cmpint(client.plain_pixels, ==, 2 * screen);
}

static void little_behind_one_picture()
{
    behind_one_picture(5, RED_CATCH_UP_LATE / 2);
}

/* More than the pipe is to hold: the guest does not wait for the image either. */
static void more_behind_one_picture()
{
    behind_one_picture(MOST_BEHIND_ONE - MAX_PIPE_SIZE, 0);
}

/* A VM that stops waits until a client has the current screen. Off-screen surfaces are sent when
 * something is drawn from them. */
static void stops_for_the_screen_only()
{
    const uint32_t surfaces = 200;
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    for (int i = 0; i < COMMANDS; ++i) {
        guest.fill(0, guest.random_box(guest.pictures[0]), guest.random(1 << 24), true);
    }
    for (uint32_t surface = 1; surface <= surfaces; ++surface) {
        guest.create(surface);
    }
    guest.device.run();
    client.plain_pixels = 0;
    client.read_while([&] { spice_server_vm_stop(guest.device.server); });
    client.read_for(100);
    g_assert_true(client.pictures[0].shows(guest.pictures[0]));
    g_assert_cmpint(client.plain_pixels, <, static_cast<int>(surfaces * SIDE * SIDE / 4));

    spice_server_vm_start(guest.device.server);
    for (uint32_t surface = 1; surface <= surfaces; ++surface) {
        const int left = surface % (TEST_QXL_WIDTH - SIDE);

        guest.fill(surface, { 0, 0, 10, 10 }, 0x654321 + surface, true);
        guest.copy(0, { left, 0, SIDE, SIDE }, surface, 0, 0);
        if (surface % 10 == 0) {
            guest.device.run();
            g_assert_true(client.reads_until([&] {
                return client.pictures[0].shows(guest.pictures[0]);
            }));
        }
    }
    client.came_later = true;
    g_assert_true(client.comes_to_show(guest.pictures));
}

/* The client has not been told yet of a surface that is dropped, which drawings in the pipe are on:
 * they are dropped as well. */
static void stops_before_a_surface_is_known()
{
    Guest guest;
    Client client(guest.device.server);

    guest.create(1);
    guest.create(2);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));

    guest.fall_behind(2, 1, { 0, 0, 20, 2 });
    guest.create(3);
    guest.copy(0, { 0, 0, SIDE / 2, SIDE / 2 }, 3, 0, 0);
    for (int i = 0; i < MAX_PIPE_SIZE / 2; ++i) {
        guest.fill(0, { i % 10, 0, 10, 2 }, 1 + i, true);
    }
    /* what the client does not have of it makes it damaged */
    guest.copy(3, { 0, 0, 10, 10 }, 1, 0, 0);
    guest.device.run();
    client.read_while([&] { spice_server_vm_stop(guest.device.server); });
    g_assert_true(client.reads_until([&] { return client.pictures[0].shows(guest.pictures[0]); }));
    spice_server_vm_start(guest.device.server);
    guest.copy(0, { 20, 0, SIDE, SIDE }, 3, 0, 0);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.pictures[0].shows(guest.pictures[0]); }));
}

/* It waits until all that waits has been sent, in a mode in which that needs the client's acks,
 * too. */
static void stops_when_all_is_sent()
{
    Guest guest;
    Client client(guest.device.server);
    const auto draw = [&](int fills) {
        for (int i = 0; i < fills; ++i) {
            guest.fill(0, { 0, 0, 10, 10 }, 1 + i, true);
        }
        guest.device.run();
    };
    const auto make_client_ack = [&] {
        client.acks = true;
        do {
            client.ack();
            g_assert_true(client.comes_to_show(guest.pictures));
            draw(1);
            g_assert_true(client.comes_to_show(guest.pictures));
        } while (!client.has_just_acked());
        client.acks = false;
    };

    /* how many are sent until the client has to ack; with flow all are */
    g_assert_true(client.comes_to_show(guest.pictures));
    make_client_ack();
    const unsigned before = client.received[SPICE_MSG_DISPLAY_DRAW_FILL];
    draw(MAX_PIPE_SIZE);
    client.read_for(300);
    const int sent = client.received[SPICE_MSG_DISPLAY_DRAW_FILL] - before;
    make_client_ack();

    /* and so many more fill the pipe, where they grow old */
    draw(sent + MAX_PIPE_SIZE + 1);
    g_usleep(2 * RED_CATCH_UP_LATE);
    std::atomic<bool> has_stopped(false);
    std::thread thread([&] {
        spice_server_vm_stop(guest.device.server);
        has_stopped = true;
    });
    client.read_for(300);
    g_assert_true(!has_stopped || client.pictures[0].shows(guest.pictures[0]));
    client.acks = true;
    client.ack();
    while (!has_stopped) {
        client.read_some(1);
        g_usleep(1000);
    }
    thread.join();
    client.read_for(100);
    g_assert_true(client.pictures[0].shows(guest.pictures[0]));
}

static void stops_when_all_is_sent_without_flow()
{
    if (g_test_subprocess()) {
        stops_when_all_is_sent();
        return;
    }
    run_with("batch,catchup=on");
}

/* A client that migrates while it is behind is shown all before it is told to go. */
static void migrates_when_behind()
{
    RedChannelClient *rcc;
    Guest guest;
    Client client(guest.device.server);
    RedChannel *const channel = reds_find_channel(guest.device.server, SPICE_CHANNEL_DISPLAY, 0);

    guest.create(1);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
    /* more than the socket takes of a client that reads nothing */
    guest.photo({ 0, 0, SIDE, SIDE }, 1, 32);
    guest.device.run();
    for (int i = 0; i < TOO_MANY; ++i) {
        guest.fill(0, { i % 10, i % 40, 10, 2 }, 1 + i, true);
    }
    guest.device.run();
    GLIST_FOREACH(channel->get_clients(), RedChannelClient, rcc) {
        channel->migrate_client(rcc);
    }
    g_assert_true(client.reads_until([&] { return client.received[SPICE_MSG_MIGRATE] != 0; }));
    g_assert_true(client.pictures[0].shows(guest.pictures[0]));
}

/* A client that does not read stops no video, and holds few of its frames: there is a limited
 * number of drawings, and without a free one the screen of every client becomes wrong. */
static void reads_no_video()
{
    const std::vector<uint32_t> pixels(TEST_QXL_WIDTH * TEST_QXL_HEIGHT);
    TestVideo video(pixels.data(), { 0, 0, TEST_QXL_HEIGHT, TEST_QXL_WIDTH });
    TestDevice device;

    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    spice_server_set_streaming_video(device.server, SPICE_STREAM_VIDEO_ALL);
    TestDisplayClient client(device.server, TEST_UNIX, Client::BUFFER);

    video.play(&device, &client.display);
    /* each is rendered, so that the next one does not replace it */
    for (int i = 0; i < 6 * MAX_PIPE_SIZE; ++i) {
        video.draw(&device);
    }
    g_assert_cmpuint(test_max_pipe_size(&device), <, 2 * MAX_PIPE_SIZE);
}

int main(int argc, char *argv[])
{
    init_tests(&argc, &argv);

    g_test_add_func("/server/dcc-backlog/little-behind-one-picture", little_behind_one_picture);
    g_test_add_func("/server/dcc-backlog/more-behind-one-picture", more_behind_one_picture);
    g_test_add_func("/server/dcc-backlog/stops-for-the-screen-only", stops_for_the_screen_only);
    g_test_add_func("/server/dcc-backlog/stops-before-a-surface-is-known",
                    stops_before_a_surface_is_known);
    g_test_add_func("/server/dcc-backlog/stops-when-all-is-sent", stops_when_all_is_sent);
    g_test_add_func("/server/dcc-backlog/stops-when-all-is-sent-without-flow",
                    stops_when_all_is_sent_without_flow);

    g_test_add_func("/server/dcc-backlog/migrates-when-behind", migrates_when_behind);
    g_test_add_func("/server/dcc-backlog/reads-no-video", reads_no_video);

    return g_test_run();
}
