/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two drawings need without losses what the client has with losses. For the first one a copy onto
 * the place of the second was replaced by a picture. What is between the second and that copy must
 * not read the place, which has the later pixels already: it comes as a picture, too.
 */
#include <config.h>

#include "test-resend.h"

static void resend_again()
{
    const QXLRect first = { 0, 0, 4, 4 }, second = { 0, 16, 4, 20 };
    Guest guest;
    Client client(guest.device.server);

    draw_behind_a_photo(&guest, &client, [&] {
        guest.invert(first);
        guest.invert(second);
        guest.copy(second.left, second.top, { 8, 16, 12, 20 });
        guest.copy(first.left, first.top, second);
        /* what was inverted first is not there any more */
        guest.copy(first.left, first.top, { 0, 2, 4, 6 });
    });
    g_assert_cmpuint(client.copies, ==, 0);
    /* the photo, and one for each drawing */
    g_assert_cmpuint(client.pictures, ==, 6);
}

int main(int argc, char *argv[])
{
    return run_resend_test(argc, argv, "/server/resend-again", resend_again);
}
