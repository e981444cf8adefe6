/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a client was sent as JPEG is resent without losses if that is asked for, once. */
#include <config.h>

#include "test-dcc-guest.h"
#include "video-stream.h"

/* What went as JPEG, as upstream would have sent it, is sent once more if that is asked for, when it is
 * still, though a text cursor blinks elsewhere; not in between while it is drawn again and again. */
static void exact_once(bool is_asked_for)
{
    enum { PHOTOS = 3, BLINKS = 6 };
    const int64_t still = RED_STREAM_TIMEOUT / NSEC_PER_MICROSEC;
    const Box box = { 0, 0, 40, 40 };
    const int pixels = box.width * box.height;
    Guest guest;

    spice_server_set_image_compression(guest.device.server, SPICE_IMAGE_COMPRESSION_QUIC);
    spice_server_set_jpeg_compression(guest.device.server, SPICE_WAN_COMPRESSION_ALWAYS);
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
    for (int i = 0; i < BLINKS || (is_asked_for && i < 10 * BLINKS && client.exact_pixels == 0); ++i) {
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

/* Where a copy reads is what the guest says, and no coordinate overflows. Only a sanitizer notices. */
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
    g_test_add_func("/server/dcc-refine/copied-from-far-away", copied_from_far_away);

    return g_test_run();
}
