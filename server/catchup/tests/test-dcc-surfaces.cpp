/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Screens and surfaces come and go while a client is behind. */
#include <config.h>

#include "test-dcc-guest.h"

/* Of surfaces that come and go meanwhile the client hears little. */
static void surfaces_come_and_go()
{
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    client.received.clear();
    for (uint32_t surface = 1; surface < 1000; ++surface) {
        guest.create(surface);
        guest.copy(0, { 5, 5, 20, 20 }, surface, 0, 0);
        guest.destroy(surface);
    }
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_SURFACE_CREATE], <, 300);
}

/* It does not get pictures of surfaces only because something is drawn from them meanwhile. */
static void surfaces_that_are_not_known()
{
    const uint32_t surfaces = 40;
    Guest guest;

    for (uint32_t surface = 1; surface <= surfaces; ++surface) {
        guest.create(surface);
    }
    guest.device.run();
    Client client(guest.device.server);
    client.came_later = true;
    g_assert_true(client.comes_to_show(guest.pictures));

    for (int i = 0; i < COMMANDS; ++i) {
        guest.fill(0, { i % 20, 0, 10, 10 }, i, false);
    }
    for (uint32_t surface = 1; surface <= surfaces; ++surface) {
        guest.copy(0, { 5, 5, 20, 20 }, surface, 0, 0);
    }
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_SURFACE_CREATE], <, surfaces / 2);
}

/* Nor does it if only another surface is behind: what is drawn from one that it lacks becomes
 * damage where it is drawn. */
static void not_known_beside_damage()
{
    const uint32_t unknown = 3;
    Guest guest;

    guest.create(unknown);
    guest.device.run();
    Client client(guest.device.server);
    client.came_later = true;
    guest.create(1);
    guest.create(2);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));

    /* more than the socket takes of a client that reads nothing */
    guest.photo({ 0, 0, SIDE, SIDE }, 2, 32);
    guest.pictures.erase(2);
    guest.device.run();
    for (int i = 0; i < TOO_MANY; ++i) {
        guest.fill(1, { i % 10, 0, 10, 2 }, 1 + i, true);
    }
    guest.device.run();
    guest.copy(0, { 10, 5, 20, 20 }, unknown, 0, 0);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.pictures[0].shows(guest.pictures[0]); }));
    g_assert_cmpuint(client.pictures.count(unknown), ==, 0);
}

/* A surface that the client is about to be sent goes: of the image that waits nothing is sent. */
static void goes_before_its_image()
{
    const Box box = { 10, 5, 20, 20 };
    const uint32_t unknown = 3;
    Guest guest;

    guest.create(unknown);
    guest.device.run();
    Client client(guest.device.server);
    client.came_later = true;
    guest.create(1);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));

    /* more than the socket takes of a client that reads nothing */
    guest.photo({ 0, 0, SIDE, SIDE }, 1, 32);
    guest.pictures.erase(1);
    guest.device.run();
    for (int i = 0; i < MAX_PIPE_SIZE * 3 / 4; ++i) {
        guest.fill(0, { i % 10, 40, 10, 2 }, 1 + i, true);
    }
    guest.copy(0, box, unknown, 0, 0);
    /* over all of it, so it need not be sent */
    guest.fill(0, box, 0x123456, false);
    guest.destroy(unknown);
    guest.device.run();
    client.received.clear();
    g_assert_true(client.reads_until([&] { return client.pictures[0].shows(guest.pictures[0]); }));
    client.read_for(100);
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_SURFACE_DESTROY], ==, 0);
    g_assert_cmpuint(client.pictures.count(unknown), ==, 0);
}

/* What is taken out of the pipe as its surface goes was the last user of another surface, which
 * goes with it, and out of the pipe, too. */
static void surface_goes_with_its_last_user()
{
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    for (uint32_t surface = 1; surface < 1000; surface += 2) {
        guest.create(surface);
        guest.create_blank(surface + 1);
        guest.copy(surface, { 5, 5, 20, 20 }, surface + 1, 0, 0);
        /* for this the copy is drawn, after which only the pipe has it */
        guest.fill(surface + 1, { 0, 0, SIDE, SIDE }, 0x55, false);
        guest.destroy(surface + 1);
        guest.destroy(surface);
    }
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
}

/* The guest creates a new primary surface while the client has not received the last one. The
 * client reads a little, as the worker waits for the message that is being sent. */
static void another_screen()
{
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    for (int i = 0; i < COMMANDS; ++i) {
        guest.draw_something();
    }
    guest.device.run();
    client.read_while([&] { guest.device.new_screen(); });
    guest.pictures[0] = Picture(TEST_QXL_WIDTH, TEST_QXL_HEIGHT);
    for (int i = 0; i < COMMANDS; ++i) {
        guest.draw_something();
    }
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
}

/* Two of them come and go while so much waits that a surface which has gone is not told of any
 * more: a client is told nothing of a screen that it does not have. */
static void screens_come_and_go()
{
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    for (uint32_t surface = 1; surface < 1000; ++surface) {
        guest.create(surface);
    }
    guest.device.run();
    client.read_while([&] {
        for (int i = 0; i < 3; ++i) {
            guest.device.new_screen();
        }
    }, false);
    guest.pictures[0] = Picture(TEST_QXL_WIDTH, TEST_QXL_HEIGHT);
    guest.fill(0, { 0, 0, 10, 10 }, 0x123456, false);
    guest.device.run();
    g_assert_true(client.reads_until([&] {
        return client.pictures.count(0) && client.pictures[0].shows(guest.pictures[0]);
    }));
}

/* A smaller screen comes though the one before has not gone, of which the client has not been
 * shown all. Nothing is read from behind the new one. */
static void smaller_screen()
{
    enum { WIDTH = 16, HEIGHT = 16, TILE = 8 };
    GuardedScreen screen(WIDTH, HEIGHT);
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    for (int i = 0; i < COMMANDS; ++i) {
        guest.fill(0, guest.random_box(guest.pictures[0]), guest.random(1 << 24), true);
    }
    /* these do not cover each other, and are not drawn before they have to be: for the first one
     * run() has that done with all before it */
    for (int top = 0; top < TEST_QXL_HEIGHT; top += TILE) {
        for (int left = 0; left < TEST_QXL_WIDTH; left += TILE) {
            guest.fill(0, { left, top, TILE, TILE }, guest.random(1 << 24), false);
        }
    }
    guest.device.run();
    client.read_while([&] { guest.device.create_screen(WIDTH, HEIGHT, screen.pixels); });

    /* what is on the screen comes first */
    guest.create(1);
    guest.device.run();
    g_assert_true(client.reads_until([&] {
        return client.pictures.count(1) && client.pictures[1].shows(guest.pictures[1]);
    }));

    /* if the one before is still there, it is for what was drawn on it */
    client.read_while([&] {
        spice_qxl_oom(&guest.device.qxl);
        guest.device.run();
    });
    guest.pictures[0] = Picture(WIDTH, HEIGHT);
    guest.fill(0, { 0, 0, TILE, TILE }, 0x123456, false);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
}

/* While a client migrates here no surface is created for it. Drawings on one that it is not said to
 * have are sent nevertheless, and not kept for later. */
static void drawn_while_it_comes()
{
    Guest guest;
    Client client(guest.device.server, make_known(0, { 0, 0, 0, 0 }, 0));

    client.pictures[0] = Picture(TEST_QXL_WIDTH, TEST_QXL_HEIGHT);
    guest.fill(0, { 0, 0, 10, 10 }, 0x123456, false);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
}

int main(int argc, char *argv[])
{
    init_tests(&argc, &argv);

    g_test_add_func("/server/dcc-surfaces/surfaces-come-and-go", surfaces_come_and_go);
    g_test_add_func("/server/dcc-surfaces/surfaces-that-are-not-known",
                    surfaces_that_are_not_known);
    g_test_add_func("/server/dcc-surfaces/not-known-beside-damage", not_known_beside_damage);
    g_test_add_func("/server/dcc-surfaces/goes-before-its-image", goes_before_its_image);
    g_test_add_func("/server/dcc-surfaces/surface-goes-with-its-last-user",
                    surface_goes_with_its_last_user);
    g_test_add_func("/server/dcc-surfaces/another-screen", another_screen);
    g_test_add_func("/server/dcc-surfaces/screens-come-and-go", screens_come_and_go);
    g_test_add_func("/server/dcc-surfaces/smaller-screen", smaller_screen);
    g_test_add_func("/server/dcc-surfaces/drawn-while-it-comes", drawn_while_it_comes);

    return g_test_run();
}
