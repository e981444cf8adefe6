/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a client was sent as JPEG is resent without losses if that is asked for, once. */
#include <config.h>

#include "reds.h"
#include "test-dcc-guest.h"
#include "test-worker.h"
#include "video-stream.h"

/* What went as JPEG, as upstream would have sent it, is sent once more if that is asked for,
 * when it is still, though a text cursor blinks elsewhere; not in between while it is drawn
 * again and again. */
static void exact_once(bool is_asked_for)
{
    enum { PHOTOS = 3, BLINKS = 6 };
    const int64_t still = RED_STREAM_TIMEOUT / NSEC_PER_MICROSEC;
    const Box box = { 0, 0, 40, 40 };
    const int pixels = box.width * box.height;
    Guest guest;

    guest.use_jpeg();
    /* to a Unix socket nothing is compressed */
    Client client(guest.device.server, TEST_TCP);
    client.read_for(500);
    client.exact_pixels = 0;

    int64_t drawn = g_get_monotonic_time();
    for (int i = 1; i <= PHOTOS; ++i) {
        const int64_t before = drawn;

        drawn = g_get_monotonic_time();
        guest.photo(box);
        guest.device.run();
        const int64_t replaced = g_get_monotonic_time();
        client.read_for(500);
        if (replaced - before > still ||
            g_get_monotonic_time() - drawn > still) {
            g_test_skip("so busy a machine that a photo was still for a second");
            return;
        }
        g_assert_cmpint(client.lossy_pixels, ==, i * pixels);
        g_assert_cmpint(client.exact_pixels, ==, 0);
    }
    /* on a busy machine it may take more of them */
    for (int i = 0; i < BLINKS || (is_asked_for && i < 10 * BLINKS && client.exact_pixels == 0);
         ++i) {
        guest.fill(0, { 50, 0, 2, 10 }, 0xffffff, true);
        guest.device.run();
        client.read_for(400);
    }
    g_assert_cmpint(client.lossy_pixels, ==, PHOTOS * pixels);
    g_assert_cmpint(client.exact_pixels, ==, is_asked_for ? pixels : 0);
}

static void exact_when_asked_for()
{
    if (g_test_subprocess()) {
        exact_once(true);
        return;
    }
    run_with("flow,exact=on");
}

static void lossy_as_upstream_leaves_it()
{
    exact_once(false);
}

static const Box photo = { 0, 0, 40, 40 }, beside = { 48, 0, 12, 40 };
static const int RATES[] = { 40, 80, 1000 };

/* An area is exact within 3 s of its last change, whatever is drawn beside it: something new
 * each 40 ms, as a video, or 80 ms, as a terminal's spinner, or each second, as a clock; or the
 * same all the time. */
static void exact_beside_what_changes(gconstpointer data)
{
    if (!g_test_subprocess()) {
        run_with("flow,exact=on");
        return;
    }
    const int pause = RATES[GPOINTER_TO_INT(data) / 2];
    const bool is_equal = GPOINTER_TO_INT(data) % 2;
    Guest guest;

    guest.use_jpeg();
    Client client(guest.device.server, TEST_TCP);
    client.read_for(500);
    guest.photo(photo);
    guest.device.run();
    g_assert_true(client.reads_until([&] { return client.pictures[0].num_lossy() > 0; }));
    const int64_t end = g_get_monotonic_time() + 3 * G_USEC_PER_SEC;
    while (client.pictures[0].num_lossy() > 0 && g_get_monotonic_time() < end) {
        guest.fill(0, beside, is_equal ? 1 : guest.random(1 << 24), false);
        guest.device.run();
        client.read_for(pause);
    }
    g_assert_cmpint(client.pictures[0].num_lossy(), ==, 0);
    /* once */
    client.exact_pixels = 0;
    client.read_for(1000);
    g_assert_cmpint(client.exact_pixels, ==, 0);
}

/* More than the socket takes of a client that reads nothing. */
static void block(Guest *guest)
{
    guest->photo({ 0, 0, SIDE, SIDE }, 1, 64);
    guest->device.run();
}

/* What waits is sent first: it is newer, and the current pixels already contain it. */
static void after_what_waits()
{
    if (!g_test_subprocess()) {
        run_with("flow,exact=on");
        return;
    }
    Guest guest;

    guest.use_jpeg();
    Client client(guest.device.server, TEST_TCP, CANVAS);
    guest.create(1);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
    guest.photo(photo);
    block(&guest);
    /* until all is on its way, and the next piece is in the pipe */
    do {
        g_usleep(10000);
        guest.device.run();
    } while (test_max_pipe_size(&guest.device) == 0);
    client.exact_pixels = 0;
    client.received.clear();
    guest.copy_bits(0, beside, photo.left, photo.top);
    guest.fill(0, { 10, 10, 5, 5 }, 0x123456, false);
    guest.device.run();
    /* until that is still as well, however long it takes to wake up */
    g_usleep(2 * RED_STREAM_TIMEOUT / NSEC_PER_MICROSEC);
    g_assert_true(client.reads_until([&] { return client.exact_pixels > 0; }));
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_COPY_BITS], ==, 1);
    g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_DRAW_FILL], ==, 1);
    g_assert_true(client.reads_until([&] { return client.pictures[0].num_lossy() == 0; }));
}

/* The guest draws a photo, and something exact over it, which reads a surface that the client
 * lacks: that is dropped while the photo waits, and is newer all the same. */
static void exact_over_a_photo_that_waits()
{
    Guest guest;

    guest.use_jpeg();
    Client client(guest.device.server, TEST_TCP);
    client.read_for(500);
    guest.create(1);
    guest.create(2);
    guest.device.run();
    client.read_for(200);
    block(&guest);
    for (int i = 0; i < TOO_MANY; ++i) {
        guest.fill(2, { i % 10, 0, 10, 2 }, 1 + i, true);
    }
    guest.device.run();
    guest.photo({ 0, 0, SIDE + 20, SIDE });
    guest.copy(0, { 0, 0, SIDE, SIDE }, 2, 0, 0);
    guest.device.run();
    client.read_for(4000);
    g_assert_cmpint(client.lossy_pixels, >, SIDE * SIDE);
    Picture copy(SIDE, SIDE);
    copy.copy({ 0, 0, SIDE, SIDE }, client.pictures[0], 0, 0);
    g_assert_cmpint(copy.num_lossy(), ==, 0);
}

/* Photos that are copied come as photos; what is beside them is not lossy for that. */
static void copied_beside_a_photo()
{
    const Box left = { 0, 0, 20, SIDE };
    Guest guest;

    guest.use_jpeg();
    Client client(guest.device.server, TEST_TCP, CANVAS);
    client.read_for(500);
    guest.photo(left);
    guest.copy_bits(0, { 2, 0, 60, SIDE }, 0, 0);
    guest.create(1);
    guest.copy(1, { 0, 0, SIDE, SIDE }, 0, 2, 0);
    guest.copy(0, { 22, 0, SIDE, SIDE }, 1, 0, 0);
    guest.device.run();
    client.read_for(500);
    g_assert_cmpint(client.pictures[0].num_lossy(), ==, (left.width + 2 + left.width) * SIDE);
    client.exact_pixels = 0;
    client.read_for(3000);
    g_assert_cmpint(client.exact_pixels, ==, 0);
}

/* Browsers may draw a JPEG after what was sent later, so that is sent again when nothing is being
 * decoded any more. */
static void drawn_over_a_photo(gconstpointer data)
{
    const uint32_t caps = GPOINTER_TO_UINT(data);
    const Box box = { 8, 8, 16, 16 };
    Guest guest;

    guest.use_jpeg();
    Client client(guest.device.server, TEST_TCP, caps);
    client.read_for(500);
    guest.photo({ 0, 0, SIDE, SIDE });
    guest.fill(0, box, 0x102030, false);
    guest.device.run();
    client.read_for(500);
    client.exact_pixels = 0;
    client.read_for(3000);
    g_assert_cmpint(client.exact_pixels, ==, caps == CANVAS ? 0 : box.width * box.height);
}

/* The same, if both are sent as current pixels of a client that is behind. */
static void refreshed_over_a_photo(gconstpointer data)
{
    const uint32_t caps = GPOINTER_TO_UINT(data);
    const Box box = { 0, 0, SIDE, SIDE }, rest = { SIDE, 0, 19, SIDE };
    Guest guest;

    guest.use_jpeg(SPICE_IMAGE_COMPRESSION_AUTO_LZ);
    Client client(guest.device.server, TEST_TCP, caps);
    client.read_for(500);
    guest.create(1);
    guest.device.run();
    client.read_for(200);
    for (bool is_photo : { true, false }) {
        guest.fall_behind(1, 0, rest);
        guest.fill(0, rest, 0, false);
        if (is_photo) {
            guest.photo(box);
        } else {
            guest.fill(0, box, 0x102030, false);
        }
        guest.device.run();
        client.received.clear();
        g_assert_true(client.reads_until([&] {
            return (client.pictures[0].num_lossy() > 0) == is_photo;
        }));
        g_assert_cmpuint(client.received[SPICE_MSG_DISPLAY_DRAW_FILL], ==, 0);
    }
    client.exact_pixels = 0;
    client.read_for(3500);
    if (caps == CANVAS) {
        g_assert_cmpint(client.exact_pixels, ==, 0);
    } else {
        g_assert_cmpint(client.exact_pixels, >=, box.width * box.height);
    }
}

/* A video ends after the guest has read its last frame back: then upstream, too, sends what is on
 * the screen. Its frames are not like a photo, but for the last one, which comes as JPEG. No
 * drawing follows, and yet that becomes exact. */
static void exact_after_a_video()
{
    const Box box = { 0, 0, 40, 40 };
    Guest guest;

    guest.use_jpeg(SPICE_IMAGE_COMPRESSION_AUTO_LZ);
    spice_server_set_streaming_video(guest.device.server, SPICE_STREAM_VIDEO_ALL);
    Client client(guest.device.server, TEST_TCP, CANVAS);
    client.read_for(500);
    for (int noise : { 1 << 24, 8 }) {
        const unsigned before = client.frames;

        for (int i = 0; i < 400 && client.frames == before; ++i) {
            guest.photo(box, 0, 1, {}, noise);
            guest.device.run();
            client.read_for(5);
        }
        g_assert_cmpuint(client.frames, >, before);
    }
    g_assert_cmpint(client.lossy_pixels, ==, 0);
    QXLRect area = { box.top, box.left, box.top + box.height, box.left + box.width }, dirty;
    spice_qxl_update_area(&guest.device.qxl, 0, &area, &dirty, 1, 0);
    g_assert_true(client.reads_until([&] { return client.lossy_pixels > 0; }));
    g_assert_true(client.reads_until([&] { return client.pictures[0].num_lossy() == 0; }));
}

/* Where a copy reads is what the guest says, and no coordinate overflows. Only a sanitizer
 * notices. */
static void copied_from_far_away()
{
    Guest guest;
    Client client(guest.device.server);

    g_assert_true(client.comes_to_show(guest.pictures));
    guest.copy_bits(0, { 0, 0, 10, 10 }, INT32_MAX, INT32_MAX);
    guest.fill(0, { 20, 0, 10, 10 }, 0x123456, false);
    guest.device.run();
    g_assert_true(client.comes_to_show(guest.pictures));
}

int main(int argc, char *argv[])
{
    init_tests(&argc, &argv);

    g_test_add_func("/server/dcc-refine/exact-when-asked-for", exact_when_asked_for);
    g_test_add_func("/server/dcc-refine/lossy-as-upstream-leaves-it",
                    lossy_as_upstream_leaves_it);
    for (int i = 0; i < 2 * int{G_N_ELEMENTS(RATES)}; ++i) {
        char *path = g_strdup_printf("/server/dcc-refine/beside-%s-each-%d-ms",
                                     i % 2 ? "the-same" : "changes", RATES[i / 2]);
        g_test_add_data_func(path, GINT_TO_POINTER(i), exact_beside_what_changes);
        g_free(path);
    }
    g_test_add_func("/server/dcc-refine/after-what-waits", after_what_waits);
    g_test_add_func("/server/dcc-refine/exact-over-a-photo-that-waits",
                    exact_over_a_photo_that_waits);
    g_test_add_func("/server/dcc-refine/copied-beside-a-photo", copied_beside_a_photo);
    g_test_add_data_func("/server/dcc-refine/drawn-over-a-photo", GUINT_TO_POINTER(CANVAS),
                         drawn_over_a_photo);
    g_test_add_data_func("/server/dcc-refine/drawn-over-a-photo-in-a-browser",
                         GUINT_TO_POINTER(1 << SPICE_DISPLAY_CAP_CODEC_VP8), drawn_over_a_photo);
    g_test_add_data_func("/server/dcc-refine/refreshed-over-a-photo", GUINT_TO_POINTER(CANVAS),
                         refreshed_over_a_photo);
    g_test_add_data_func("/server/dcc-refine/refreshed-over-a-photo-in-a-browser",
                         GUINT_TO_POINTER(1 << SPICE_DISPLAY_CAP_CODEC_VP8),
                         refreshed_over_a_photo);
    g_test_add_func("/server/dcc-refine/exact-after-a-video", exact_after_a_video);
    g_test_add_func("/server/dcc-refine/copied-from-far-away", copied_from_far_away);

    return g_test_run();
}
