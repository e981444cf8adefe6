/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The same area is inverted twice while two clients are slow: neither is sent any of it, as that is
 * what was there before.
 */
#include <config.h>

#include "test-resend.h"

static void invert(Guest *guest)
{
    QXLDrawable *const drawable = guest->make(QXL_DRAW_FILL, QXL_EFFECT_REVERT_ON_DUP,
                                              { 8, 8, 16, 16 });

    drawable->u.fill.brush.type = SPICE_BRUSH_TYPE_SOLID;
    drawable->u.fill.brush.u.color = 0xffffff;
    drawable->u.fill.rop_descriptor = SPICE_ROPD_OP_XOR;
    guest->device.push(QXL_CMD_DRAW, drawable);
}

static void invert_twice()
{
    /* looked at when the server is made */
    g_setenv("SPICE_DEBUG_ALLOW_MC", "1", TRUE);
    Guest guest;
    Client first(guest.device.server), second(guest.device.server);

    for (Client *const client : { &first, &second }) {
        client->read_picture();
        client->pictures = 0;
    }
    /* all else waits for it */
    guest.draw_photo();
    guest.device.run();
    invert(&guest);
    invert(&guest);
    guest.device.run();
    for (Client *const client : { &first, &second }) {
        client->read_picture();
        /* which is the photo; on a photo, the area would come as one, too */
        g_assert_cmpuint(client->pictures, ==, 1);
    }
}

int main(int argc, char *argv[])
{
    return run_resend_test(argc, argv, "/server/invert-twice", invert_twice);
}
