/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A guest's surfaces of 565 and of one bit are shown to a client, though no picture has their
 * format, and drawings may read what they draw on.
 */
#include <config.h>

#include "test-qxl-device.h"
#include "test-surface-client.h"

#include "push-visibility.h"

enum { SIDE = 32, ID = 1, STRIDE = SIDE * 2 };

struct Format
{
    uint32_t surface;
    /* of each two bytes of the guest's */
    uint16_t pixels;
    /* what the client gets for the first pixel; @mask: what of it counts */
    uint8_t picture;
    uint32_t pixel, mask;
};

static const Format formats[] = {
    { SPICE_SURFACE_FMT_16_565, 0xf800, SPICE_BITMAP_FMT_32BIT, 0xff0000, 0xffffff },
    { SPICE_SURFACE_FMT_16_555, 0x7c00, SPICE_BITMAP_FMT_16BIT, 0x7c00, 0xffff },
    { SPICE_SURFACE_FMT_8_A, 0x1212, SPICE_BITMAP_FMT_8BIT_A, 0x12, 0xff },
    { SPICE_SURFACE_FMT_1_A, 0xffff, SPICE_BITMAP_FMT_RGBA, 0xff000000, 0xffffffff },
};

struct Guest
{
    /* the guest's memory is there as long as the device */
    uint16_t pixels[STRIDE / 2 * SIDE];
    QXLSurfaceCmd surface = {};
    QXLDrawable drawable = {};
    TestDevice device;

    explicit Guest(const Format &format)
    {
        g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
        spice_server_set_image_compression(device.server, SPICE_IMAGE_COMPRESSION_OFF);
        for (auto &pixel : pixels) {
            pixel = format.pixels;
        }
        surface.surface_id = ID;
        surface.type = QXL_SURFACE_CMD_CREATE;
        surface.flags = QXL_SURF_FLAG_KEEP_DATA;
        surface.u.surface_create.format = format.surface;
        surface.u.surface_create.width = surface.u.surface_create.height = SIDE;
        surface.u.surface_create.stride = STRIDE;
        surface.u.surface_create.data = reinterpret_cast<uintptr_t>(pixels);
    }

    void create_surface()
    {
        device.push(QXL_CMD_SURFACE, &surface);
        device.run();
    }

    /* Inverts the lower half. */
    void draw(bool reads_itself)
    {
        drawable.surface_id = ID;
        drawable.type = QXL_DRAW_INVERS;
        drawable.effect = QXL_EFFECT_REVERT_ON_DUP;
        drawable.bbox = { SIDE / 2, 0, SIDE, SIDE };
        drawable.self_bitmap = reads_itself;
        drawable.self_bitmap_area = drawable.bbox;
        /* it reads no other surface */
        memset(drawable.surfaces_dest, 0xff, sizeof(drawable.surfaces_dest));
        device.push(QXL_CMD_DRAW, &drawable);
        device.run();
    }
};

static void client_comes(gconstpointer data)
{
    const auto &format = *static_cast<const Format *>(data);
    Guest guest(format);

    guest.create_surface();
    TestSurfaceClient client(guest.device.server);
    guest.draw(false);
    const TestPicture picture = client.next_picture(ID);
    g_assert_cmpuint(picture.format(), ==, format.picture);
    g_assert_cmphex(picture.pixel(0, 0) & format.mask, ==, format.pixel);
}

static void drawing_reads_itself(gconstpointer data)
{
    Guest guest(*static_cast<const Format *>(data));

    guest.create_surface();
    /* it comes back when the worker has read the surface, which may end the process */
    guest.draw(true);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    for (const auto &format : formats) {
        const auto add = [&](const char *name, GTestDataFunc test) {
            gchar *path = g_strdup_printf("/server/surface-formats/%u/%s", format.surface, name);
            g_test_add_data_func(path, &format, test);
            g_free(path);
        };
        add("client-comes", client_comes);
        add("drawing-reads-itself", drawing_reads_itself);
    }
    return g_test_run();
}
