/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A drawing needs without losses what the client has with losses, and as many copies as a pipe
 * holds depend on it, all of them rendered: each of them is sent as a picture, and nothing is
 * written behind the list of them. Only AddressSanitizer is sure to see that.
 */
#include <config.h>

#include "test-resend.h"

enum {
    /* pixels of what is copied */
    SIDE = 4,
    /* besides the drawing that they depend on */
    COPIES = MAX_PIPE_SIZE,
};

/* To a place of its own, but for the first, which covers a part of the corner: what is there is
 * not what was inverted any more, so that all that reads it has to come as pictures. */
static void copy_corner(Guest *guest, int number)
{
    const int columns = TEST_QXL_WIDTH / SIDE;
    const int top = number ? (1 + number / columns) * SIDE : 0;
    const int left = number ? number % columns * SIDE : SIDE / 2;

    guest->copy(0, 0, { top, left, top + SIDE, left + SIDE });
}

static void resend_many()
{
    Guest guest;
    Client client(guest.device.server);

    draw_behind_a_photo(&guest, &client, [&] {
        guest.invert({ 0, 0, SIDE, SIDE });
        for (int i = 0; i < COPIES; ++i) {
            copy_corner(&guest, i);
        }
    });
    /* the photo, the corner, and one for each copy */
    g_assert_cmpuint(client.copies, ==, 0);
    g_assert_cmpuint(client.pictures, ==, 2 + COPIES);

    /* upstream frees what it noted of losses with the surface, not with the client */
    spice_qxl_destroy_primary_surface(&guest.device.qxl, 0);
    client.read(200);
}

int main(int argc, char *argv[])
{
    return run_resend_test(argc, argv, "/server/resend-many", resend_many);
}
