/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When something is drawn on a surface that a client does not know of yet, the client gets a
 * picture of the surface and the drawing. The drawing is not in the picture.
 */
#include <config.h>

#include "test-drawing.h"
#include "test-surface-client.h"

#include "push-visibility.h"

/* Each row of its surface has another colour. */
struct Guest: DrawingGuest
{
    Guest()
    {
        g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
        spice_server_set_image_compression(device.server, SPICE_IMAGE_COMPRESSION_OFF);
        for (int i = 0; i < SIDE * SIDE; ++i) {
            pixels()[i] = colour_of(i / SIDE);
        }
        device.push(QXL_CMD_SURFACE, &surface);
        device.run();
    }

    static uint32_t colour_of(int row)
    {
        return 0x010203 * (row + 1);
    }

    /* Inverts all of it. */
    void invert()
    {
        drawable.type = QXL_DRAW_INVERS;
        drawable.effect = QXL_EFFECT_REVERT_ON_DUP;
        device.push(QXL_CMD_DRAW, &drawable);
        device.run();
    }

    /* All rows but the last go one down. */
    void scroll()
    {
        drawable.type = QXL_COPY_BITS;
        drawable.effect = QXL_EFFECT_OPAQUE;
        drawable.bbox.top = 1;
        device.push(QXL_CMD_DRAW, &drawable);
        device.run();
    }
};

/* The client gets the surface as the guest has made it, each pixel XOR @inverted, and then a
 * drawing of this type. */
static void check(TestSurfaceClient *client, uint32_t inverted, uint16_t drawing)
{
    const TestPicture picture = client->next_picture(SURFACE);

    for (int y = 0; y < SIDE; ++y) {
        for (int x = 0; x < SIDE; ++x) {
            g_assert_cmphex(picture.pixel(x, y) & 0xffffff, ==, Guest::colour_of(y) ^ inverted);
        }
    }
    uint16_t type;
    do {
        type = client->display.next_message().type;
    } while (type == SPICE_MSG_PING);
    g_assert_cmpuint(type, ==, drawing);
}

static void invert()
{
    Guest guest;
    TestSurfaceClient client(guest.device.server);

    guest.invert();
    check(&client, 0, SPICE_MSG_DISPLAY_DRAW_INVERS);
}

/* The worker takes both for nothing, but for a client that knows one of them only. */
static void invert_again()
{
    Guest guest;

    guest.invert();
    TestSurfaceClient client(guest.device.server);
    guest.invert();
    check(&client, 0xffffff, SPICE_MSG_DISPLAY_DRAW_INVERS);
}

static void scroll()
{
    Guest guest;
    TestSurfaceClient client(guest.device.server);

    guest.scroll();
    check(&client, 0, SPICE_MSG_DISPLAY_COPY_BITS);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/surface-pictures/invert", invert);
    g_test_add_func("/server/surface-pictures/invert-again", invert_again);
    g_test_add_func("/server/surface-pictures/scroll", scroll);
    return g_test_run();
}
