/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is noted of the pixels that a client has with losses goes with the client.
 */
#include <config.h>

#include <vector>

#include "test-allocated.h"
#include "test-link.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

enum {
    SIDE = 128,
    /* single pixels of a photo, each with a gap around it: so many rectangles are noted */
    SPOTS = SIDE * SIDE / 4,
    CLIENTS = 5,
    /* bytes, less than for the spots of one client */
    MAX_GROWTH = SPOTS * sizeof(QXLRect) / 2,
};

struct Guest
{
    /* the guest's memory, which is there as long as the device */
    std::vector<uint32_t> screen = std::vector<uint32_t>(SIDE * SIDE);
    std::vector<uint32_t> photo = std::vector<uint32_t>(SIDE * SIDE);
    std::vector<uint8_t> clip =
        std::vector<uint8_t>(sizeof(QXLClipRects) + SPOTS * sizeof(QXLRect));
    QXLImage image = {};
    QXLDrawable drawable = {};
    TestDevice device;

    Guest()
    {
        spice_qxl_destroy_primary_surface(&device.qxl, 0);
        device.create_screen(SIDE, SIDE, screen.data());
        g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
        spice_server_set_image_compression(device.server, SPICE_IMAGE_COMPRESSION_QUIC);
        spice_server_set_jpeg_compression(device.server, SPICE_WAN_COMPRESSION_ALWAYS);

        for (int i = 0; i < SIDE * SIDE; ++i) {
            photo[i] = 0x20202 * (i % SIDE) + i * 7919u % 8;
        }
        test_set_bitmap(&image, SPICE_BITMAP_FMT_32BIT, SIDE, SIDE, SIDE * 4, photo.data());

        auto rects = reinterpret_cast<QXLClipRects *>(clip.data());
        auto rect = reinterpret_cast<QXLRect *>(rects->chunk.data);
        rects->num_rects = SPOTS;
        rects->chunk.data_size = SPOTS * sizeof(QXLRect);
        for (int y = 0; y < SIDE; y += 2) {
            for (int x = 0; x < SIDE; x += 2) {
                *rect++ = { y, x, y + 1, x + 1 };
            }
        }

        drawable.type = QXL_DRAW_COPY;
        drawable.effect = QXL_EFFECT_OPAQUE;
        drawable.bbox = { 0, 0, SIDE, SIDE };
        drawable.clip.type = SPICE_CLIP_TYPE_RECTS;
        drawable.clip.data = reinterpret_cast<uintptr_t>(rects);
        memset(drawable.surfaces_dest, 0xff, sizeof(drawable.surfaces_dest));
        drawable.u.copy.src_bitmap = reinterpret_cast<uintptr_t>(&image);
        drawable.u.copy.src_area = drawable.bbox;
        drawable.u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
        device.run();
    }
};

/* A client is shown spots with losses, and goes. */
static void show_spots()
{
    Guest guest;
    TestDisplayClient client(guest.device.server);

    client.display.next_message(SPICE_MSG_DISPLAY_DRAW_COPY);
    guest.device.push(QXL_CMD_DRAW, &guest.drawable);
    spice_qxl_wakeup(&guest.device.qxl);
    const TestLinkMessage message = client.display.next_message(SPICE_MSG_DISPLAY_DRAW_COPY);
    g_assert_cmpuint(message.body.size(), >, SPOTS * sizeof(QXLRect));
}

static void leaves_nothing()
{
    show_spots();
    test_allocates_less(MAX_GROWTH, [] {
        for (int i = 0; i < CLIENTS; ++i) {
            show_spots();
        }
    });
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/lossy-end/leaves-nothing", leaves_nothing);
    return g_test_run();
}
