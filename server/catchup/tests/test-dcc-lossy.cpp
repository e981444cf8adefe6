/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which areas a client has with losses, though upstream would have sent them exactly. */
#include <config.h>

#include "dcc-refine.h"
#include "test-dcc-guest.h"

/* A client comes from another server, and it is the client that says where its picture is not
 * exact, be it of a surface that the guest makes later. Nothing is read from behind that, and what
 * is on it comes once. */
static void lossy_beside_the_surface(gconstpointer data)
{
    enum { LINES = 8 };
    const uint32_t surface = GPOINTER_TO_UINT(data);
    const int width = surface ? int{SIDE} : TEST_QXL_WIDTH;
    const int height = surface ? int{SIDE} : TEST_QXL_HEIGHT;
    GuardedScreen memory(width, height);
    Guest guest;

    guest.use_jpeg();
    if (!surface) {
        spice_qxl_destroy_primary_surface(&guest.device.qxl, 0);
        guest.device.create_screen(width, height, memory.pixels);
    }
    spice_server_vm_stop(guest.device.server);
    Client client(guest.device.server,
                  make_known(surface, { 0, height - LINES, width, 100 * 1000 }));
    spice_server_vm_start(guest.device.server);
    client.pictures[surface] = Picture(width, height);

    if (surface) {
        guest.create_blank(surface, SPICE_SURFACE_FMT_32_xRGB, memory.pixels);
    }
    guest.fill(surface, { 0, 0, 10, 10 }, 0x123456, false);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.exact_pixels > 0; }));
    client.read_for(1000);
    g_assert_cmpint(client.exact_pixels, ==, width * LINES);
}

/* A lossy surface is destroyed and its number reused before the client is told of the new one:
 * nothing there is looked up for a lossless resend. Only a sanitizer notices. */
static void lossy_surface_comes_again()
{
    Guest guest;

    guest.use_jpeg();
    Client client(guest.device.server, TEST_TCP);
    client.read_for(200);
    guest.create_blank(1);
    guest.photo({ 0, 0, SIDE / 3, SIDE }, 1);
    guest.photo({ SIDE / 2, 0, SIDE / 3, SIDE }, 1);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.lossy_pixels == 2 * SIDE / 3 * SIDE; }));
    guest.destroy(1);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.pictures.count(1) == 0; }));

    for (int i = 0; i < COMMANDS; ++i) {
        guest.fill(0, guest.random_box(guest.pictures[0]), guest.random(1 << 24), true);
    }
    guest.create(1);
    guest.device.run();
    /* as often as it is asked whether something is to be sent again */
    g_usleep(2 * DccRefine::LOOK_INTERVAL * 1000);
    g_assert_true(client.reads_until([&] { return client.pictures.count(1) != 0; }));
}

static const Box all = { 0, 0, TEST_QXL_WIDTH, TEST_QXL_HEIGHT };

/* JPEG is sent to a client, which is behind. */
static void fall_behind(Guest *guest, Client *client)
{
    client->read_for(300);
    /* more than the socket takes of a client that reads nothing */
    guest->photo(all, 0, 32);
    guest->device.run();
    for (int i = 0; i < TOO_MANY; ++i) {
        guest->fill(0, all, 1 + i, true);
    }
    guest->device.run();
    client->lossy_pixels = 0;
    client->exact_pixels = 0;
    client->plain_pixels = 0;
}

/* What a client that is behind was shown as JPEG would have come exactly, so it is sent once
 * more, and so is what was copied from there. */
static void exact_what_was_behind()
{
    const int screen = TEST_QXL_WIDTH * TEST_QXL_HEIGHT;
    const Box corner = { 0, 0, 8, 8 };
    Guest guest;

    guest.use_jpeg();
    Client client(guest.device.server, TEST_TCP);
    fall_behind(&guest, &client);
    g_assert_true(client.reads_until([&] { return client.lossy_pixels >= 2 * screen; }));
    g_assert_cmpint(client.exact_pixels, ==, 0);
    guest.copy_bits(0, { 16, 16, corner.width, corner.height }, corner.left, corner.top);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.exact_pixels >= screen; }));
    client.read_for(1000);
    g_assert_cmpint(client.exact_pixels, ==, screen);
}

/* A release sends nothing as JPEG to a client on the same host. */
static void exact_on_the_same_host()
{
    if (!g_test_subprocess()) {
        run_with("batch,catchup=on");
        return;
    }
    Guest guest;

    guest.use_jpeg();
    Client client(guest.device.server, TEST_UNIX);
    fall_behind(&guest, &client);
    guest.photo(all);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.lossy_pixels > 0; }));
    g_assert_true(client.reads_until([&] { return client.pictures[0].num_lossy() == 0; }));
}

/* Another client comes, and is sent no JPEG, so that from then on nobody is. The first one has JPEG
 * all the same, and what is copied from there is lossy, too. */
static void exact_after_another_came()
{
    const int half = TEST_QXL_HEIGHT / 2, screen = TEST_QXL_WIDTH * TEST_QXL_HEIGHT;
    /* looked at when the server is made */
    g_setenv("SPICE_DEBUG_ALLOW_MC", "1", TRUE);
    Guest guest;
    g_unsetenv("SPICE_DEBUG_ALLOW_MC");
    guest.use_jpeg();
    Client client(guest.device.server, TEST_TCP, CANVAS);
    fall_behind(&guest, &client);
    g_assert_true(client.reads_until([&] { return client.lossy_pixels >= 2 * screen; }));
    client.read_for(100);
    guest.fill(0, { 0, half, TEST_QXL_WIDTH, half }, 0x123456, false);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.pictures[0].num_lossy() <= screen / 2; }));

    spice_server_set_jpeg_compression(guest.device.server, SPICE_WAN_COMPRESSION_NEVER);
    Client other(guest.device.server, TEST_TCP, CANVAS);
    other.read_for(100);
    guest.copy_bits(0, { 0, half + 8, 8, 8 }, 16, 0);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.exact_pixels >= screen / 2; }));
    client.read_for(1000);
    g_assert_cmpint(client.pictures[0].num_lossy(), ==, 0);
    g_assert_cmpint(other.lossy_pixels, ==, 0);
}

/* A new screen is not taken for the last one, which was a photo: between two photos a refresh sends
 * losses that upstream's client would not have. */
static void exact_on_a_new_screen()
{
    const Box left = { 0, 0, 20, TEST_QXL_HEIGHT }, right = { 30, 0, 20, TEST_QXL_HEIGHT };
    Guest guest;

    guest.use_jpeg();
    Client client(guest.device.server, TEST_TCP);
    client.read_for(300);
    guest.photo(all);
    guest.create(1);
    guest.create(2);
    guest.device.run();
    client.read_for(300);
    client.read_while([&] { guest.device.new_screen(); });
    client.read_for(300);
    /* more than the socket takes of a client that reads nothing */
    guest.photo({ 0, 0, SIDE, SIDE }, 2, 64);
    guest.device.run();
    client.lossy_pixels = client.exact_pixels = 0;
    guest.photo(left);
    guest.photo(right);
    for (int i = 0; i < TOO_MANY; ++i) {
        guest.fill(1, { i % 10, 0, 10, 2 }, 1 + i, true);
    }
    guest.device.run();
    const int between = 10 * TEST_QXL_HEIGHT;
    g_assert_true(client.reads_until([&] {
        return client.exact_pixels + client.plain_pixels >= between;
    }));
    g_assert_cmpint(client.pictures[0].num_lossy(), ==, 2 * left.width * TEST_QXL_HEIGHT);
}

/* What upstream would have sent as JPEG, too, is not sent again: here a photo on the left half
 * of the screen and on scattered pixels of the right one. Of more than 512 rectangles nobody
 * keeps account: then all is sent again. */
static void lossy_as_upstream_where_simple(gconstpointer data)
{
    const int lines = GPOINTER_TO_INT(data);
    const int screen = TEST_QXL_WIDTH * TEST_QXL_HEIGHT;
    std::vector<Box> clip = { { 0, 0, TEST_QXL_WIDTH / 2, TEST_QXL_HEIGHT } };
    Guest guest;

    for (int y = 0; y < lines; ++y) {
        for (int x = TEST_QXL_WIDTH / 2 + 1 + y % 2; x < TEST_QXL_WIDTH; x += 2) {
            clip.push_back({ x, y, 1, 1 });
        }
    }
    guest.use_jpeg();
    Client client(guest.device.server, TEST_TCP);
    fall_behind(&guest, &client);
    guest.photo(all, 0, 1, clip);
    guest.device.run();
    /* small images are not compressed; any may hold some of the scattered pixels */
    const auto resent = [&] { return client.exact_pixels + client.plain_pixels; };
    const bool too_many = lines == TEST_QXL_HEIGHT;
    const int least = too_many ? screen : screen / 2 - lines * TEST_QXL_WIDTH / 4;
    g_assert_true(client.reads_until([&] { return resent() >= least; }));
    client.read_for(500);
    g_assert_cmpint(resent(), <=, too_many ? screen : screen / 2);
}

/* Of what a client that is behind was shown as JPEG, upstream would have sent small images exactly,
 * as a JPEG of them is larger. */
static void exact_where_small()
{
    enum { SMALL = 8 };
    Guest guest;

    guest.use_jpeg();
    Client client(guest.device.server, TEST_TCP, CANVAS);
    fall_behind(&guest, &client);
    for (int y = 0; y < TEST_QXL_HEIGHT; y += SMALL) {
        for (int x = 0; x < TEST_QXL_WIDTH; x += SMALL) {
            guest.photo({ x, y, SMALL, SMALL });
        }
    }
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.lossy_pixels > 0; }));
    g_assert_true(client.reads_until([&] { return client.pictures[0].num_lossy() == 0; }));
}

/* What is below something transparent is seen, so it does not stay lossy because that may. */
static void exact_below(gconstpointer data)
{
    const bool is_masked = GPOINTER_TO_INT(data);
    Guest guest;

    guest.use_jpeg();
    Client client(guest.device.server, TEST_TCP, CANVAS);
    fall_behind(&guest, &client);
    guest.invisible_photo(all, is_masked);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.lossy_pixels > 0; }));
    g_assert_true(client.reads_until([&] { return client.pictures[0].num_lossy() == 0; }));
}

namespace {

struct StampGuest: public Guest
{
    /* Noise, drawn transparent, though no pixel has the colour that is left out. */
    void stamp(const Box &box)
    {
        QXLDrawable *const drawable = make_photo(box, 0, 1, {}, 1 << 24);
        const QXLCopy photo = drawable->u.copy;

        drawable->type = QXL_DRAW_TRANSPARENT;
        drawable->effect = QXL_EFFECT_BLEND;
        drawable->u.transparent = {};
        drawable->u.transparent.src_bitmap = photo.src_bitmap;
        drawable->u.transparent.src_area = photo.src_area;
        drawable->u.transparent.src_color = UINT32_MAX;
        drawable->u.transparent.true_color = UINT32_MAX;
        device.push(QXL_CMD_DRAW, drawable);
    }
};

} // namespace

/* Upstream sends exactly what is drawn over a photo. A client that is behind gets both in one image
 * with losses. */
static void exact_over_a_photo()
{
    const Box box = { 8, 8, 16, 8 };
    StampGuest guest;

    guest.use_jpeg();
    Client client(guest.device.server, TEST_TCP, CANVAS);
    fall_behind(&guest, &client);
    guest.photo(all);
    guest.stamp(box);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.lossy_pixels > 0; }));
    g_assert_true(client.reads_until([&] {
        return !(client.pictures[0].at(box.left, box.top) & TEST_LOSSY);
    }));
}

/* What is combined with losses has losses. */
static void exact_when_combined(gconstpointer data)
{
    const bool is_inverted = GPOINTER_TO_INT(data);

    if (!g_test_subprocess()) {
        run_with("flow,exact=on");
        return;
    }
    Guest guest;

    guest.use_jpeg(SPICE_IMAGE_COMPRESSION_AUTO_LZ);
    Client client(guest.device.server, TEST_TCP, CANVAS);
    client.read_for(300);
    guest.photo(all);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.lossy_pixels > 0; }));
    guest.combine(all, is_inverted);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.pictures[0].num_lossy() == 0; }));
}

/* Other surfaces are not refreshed as JPEG: what is drawn from them would be lossy, too. */
static void exact_beside_the_screen()
{
    Guest guest;

    guest.use_jpeg();
    Client client(guest.device.server, TEST_TCP);
    guest.create(1);
    guest.create(2);
    guest.device.run();
    client.read_for(500);
    /* more than the socket takes of a client that reads nothing */
    guest.photo({ 0, 0, SIDE, SIDE }, 2, 64);
    guest.device.run();
    client.exact_pixels = 0;
    for (int i = 0; i < TOO_MANY; ++i) {
        guest.fill(1, { 0, 0, SIDE, SIDE }, 1 + i, true);
    }
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.exact_pixels >= SIDE * SIDE; }));
    g_assert_cmpint(client.lossy_pixels, ==, SIDE * SIDE);
    g_assert_cmpint(client.pictures[1].num_lossy(), ==, 0);
}

int main(int argc, char *argv[])
{
    init_tests(&argc, &argv);

    g_test_add_data_func("/server/dcc-lossy/lossy-beside-the-screen", GUINT_TO_POINTER(0),
                         lossy_beside_the_surface);
    g_test_add_data_func("/server/dcc-lossy/lossy-beside-a-surface", GUINT_TO_POINTER(1),
                         lossy_beside_the_surface);
    g_test_add_func("/server/dcc-lossy/lossy-surface-comes-again", lossy_surface_comes_again);
    g_test_add_func("/server/dcc-lossy/exact-what-was-behind", exact_what_was_behind);
    g_test_add_func("/server/dcc-lossy/exact-on-the-same-host", exact_on_the_same_host);
    g_test_add_func("/server/dcc-lossy/exact-after-another-came", exact_after_another_came);
    g_test_add_func("/server/dcc-lossy/exact-on-a-new-screen", exact_on_a_new_screen);
    g_test_add_data_func("/server/dcc-lossy/as-upstream", GINT_TO_POINTER(16),
                         lossy_as_upstream_where_simple);
    g_test_add_data_func("/server/dcc-lossy/as-upstream-too-many", GINT_TO_POINTER(TEST_QXL_HEIGHT),
                         lossy_as_upstream_where_simple);
    g_test_add_func("/server/dcc-lossy/exact-where-small", exact_where_small);
    g_test_add_data_func("/server/dcc-lossy/exact-below-alpha", GINT_TO_POINTER(false),
                         exact_below);
    g_test_add_data_func("/server/dcc-lossy/exact-below-a-mask", GINT_TO_POINTER(true),
                         exact_below);
    g_test_add_func("/server/dcc-lossy/exact-over-a-photo", exact_over_a_photo);
    g_test_add_data_func("/server/dcc-lossy/exact-when-combined", GINT_TO_POINTER(false),
                         exact_when_combined);
    g_test_add_data_func("/server/dcc-lossy/exact-when-inverted", GINT_TO_POINTER(true),
                         exact_when_combined);
    g_test_add_func("/server/dcc-lossy/exact-beside-the-screen", exact_beside_the_screen);

    return g_test_run();
}
