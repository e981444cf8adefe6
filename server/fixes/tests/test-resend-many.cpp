/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A drawing needs without losses what the client has with losses, and as many copies as a pipe
 * holds depend on it, all of them rendered: each of them is sent as a picture, and nothing is
 * written behind the list of them. Only AddressSanitizer is sure to see that.
 */
#include <config.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "dcc.h"
#include "test-link.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

enum {
    /* bytes that the kernel holds of what the client does not read */
    BUFFER = 4096,
    /* pixels of the photo, each way, for one of the screen: it is longer than that */
    FINER = 32,
    PHOTO_WIDTH = TEST_QXL_WIDTH * FINER, PHOTO_HEIGHT = TEST_QXL_HEIGHT * FINER,
    /* of what is copied */
    SIDE = 4,
    /* besides the drawing that they depend on */
    COPIES = MAX_PIPE_SIZE,
};

struct Guest
{
    /* the guest's memory, which is there as long as the device */
    std::vector<std::shared_ptr<void>> memory;
    std::vector<uint32_t> screen;
    TestDevice device;

    Guest(): screen(TEST_QXL_WIDTH * TEST_QXL_HEIGHT)
    {
        spice_qxl_destroy_primary_surface(&device.qxl, 0);
        device.create_screen(TEST_QXL_WIDTH, TEST_QXL_HEIGHT, screen.data());
        g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
        spice_server_set_image_compression(device.server, SPICE_IMAGE_COMPRESSION_QUIC);
        spice_server_set_jpeg_compression(device.server, SPICE_WAN_COMPRESSION_ALWAYS);
        device.run();
    }

    template <typename T> T *keep(size_t n=1)
    {
        void *const data = g_malloc0_n(n, sizeof(T));

        memory.push_back(std::shared_ptr<void>(data, g_free));
        return static_cast<T *>(data);
    }

    QXLDrawable *make(uint8_t type, uint8_t effect, const QXLRect &box)
    {
        QXLDrawable *const drawable = keep<QXLDrawable>();

        drawable->type = type;
        drawable->effect = effect;
        drawable->bbox = box;
        memset(drawable->surfaces_dest, 0xff, sizeof(drawable->surfaces_dest));
        return drawable;
    }

    /* A pixel of what invert_corner() draws on, and nothing after it. */
    uint32_t corner_pixel() const
    {
        return __atomic_load_n(&screen[0], __ATOMIC_ACQUIRE);
    }

    /* Noise on the whole screen. */
    void draw_photo()
    {
        QXLDrawable *const drawable = make(QXL_DRAW_COPY, QXL_EFFECT_OPAQUE,
                                           { 0, 0, TEST_QXL_HEIGHT, TEST_QXL_WIDTH });
        QXLImage *const image = keep<QXLImage>();
        uint32_t *const pixels = keep<uint32_t>(PHOTO_WIDTH * PHOTO_HEIGHT);

        for (int i = 0; i < PHOTO_WIDTH * PHOTO_HEIGHT; ++i) {
            pixels[i] = 0x40404 * (i % PHOTO_WIDTH) + i * 7919u % 8;
        }
        image->descriptor.type = SPICE_IMAGE_TYPE_BITMAP;
        image->descriptor.width = image->bitmap.x = PHOTO_WIDTH;
        image->descriptor.height = image->bitmap.y = PHOTO_HEIGHT;
        image->bitmap.format = SPICE_BITMAP_FMT_32BIT;
        image->bitmap.flags = QXL_BITMAP_DIRECT | QXL_BITMAP_TOP_DOWN;
        image->bitmap.stride = PHOTO_WIDTH * 4;
        image->bitmap.data = reinterpret_cast<uintptr_t>(pixels);
        drawable->u.copy.src_bitmap = reinterpret_cast<uintptr_t>(image);
        drawable->u.copy.src_area = { 0, 0, PHOTO_HEIGHT, PHOTO_WIDTH };
        drawable->u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
        device.push(QXL_CMD_DRAW, drawable);
    }

    /* What is there becomes something else, so the client has to have that exactly. */
    void invert_corner()
    {
        QXLDrawable *const drawable = make(QXL_DRAW_FILL, QXL_EFFECT_BLEND, { 0, 0, SIDE, SIDE });

        drawable->u.fill.brush.type = SPICE_BRUSH_TYPE_SOLID;
        drawable->u.fill.brush.u.color = 0xffffff;
        drawable->u.fill.rop_descriptor = SPICE_ROPD_OP_XOR;
        device.push(QXL_CMD_DRAW, drawable);
    }

    /* To a place of its own, but for the first, which covers a part of the corner: what is there is
     * not what was inverted any more, so that all that reads it has to come as pictures. */
    void copy_corner(int number)
    {
        const int columns = TEST_QXL_WIDTH / SIDE;
        const int top = number ? (1 + number / columns) * SIDE : 0;
        const int left = number ? number % columns * SIDE : SIDE / 2;

        device.push(QXL_CMD_DRAW, make(QXL_COPY_BITS, QXL_EFFECT_OPAQUE,
                                       { top, left, top + SIDE, left + SIDE }));
    }
};

/* Acks as it is asked to. */
struct Client: TestDisplayClient
{
    unsigned pictures = 0, copies = 0;

    explicit Client(SpiceServer *server): TestDisplayClient(server, TEST_TCP, BUFFER) {}

    /* Reads what comes until nothing does for so many milliseconds. */
    void read(int pause)
    {
        while (test_is_readable(display.socket, pause)) {
            take(display.next_message());
        }
    }

private:
    uint32_t window = 0, num_unacked = 0;

    void take(const TestLinkMessage &message)
    {
        pictures += message.type == SPICE_MSG_DISPLAY_DRAW_COPY;
        copies += message.type == SPICE_MSG_DISPLAY_COPY_BITS;
        if (message.type == SPICE_MSG_SET_ACK) {
            memcpy(&window, &message.body[sizeof(uint32_t)], sizeof(window));
            window = GUINT32_FROM_LE(window);
            num_unacked = 0;
            display.send_message(SPICE_MSGC_ACK_SYNC, message.body.data(), sizeof(uint32_t));
        } else if (window && ++num_unacked == window) {
            num_unacked = 0;
            display.send_message(SPICE_MSGC_ACK);
        }
    }
};

static void resend_many()
{
    Guest guest;
    Client client(guest.device.server);
    std::atomic<bool> has_stopped(false);

    client.read(200);
    client.pictures = 0;

    /* the photo is being sent, and all else waits for that */
    guest.draw_photo();
    guest.device.run();
    const uint32_t before = guest.corner_pixel();
    guest.invert_corner();
    for (int i = 0; i < COPIES; ++i) {
        guest.copy_corner(i);
    }
    while (guest.device.num_left() > 0) {
        spice_qxl_wakeup(&guest.device.qxl);
        g_usleep(1000);
    }

    /* a machine that stops has all of them rendered, and waits until they are sent */
    std::thread thread([&] {
        spice_server_vm_stop(guest.device.server);
        has_stopped = true;
    });
    while (guest.corner_pixel() == before) {
        g_usleep(1000);
    }
    while (!has_stopped) {
        client.read(10);
    }
    thread.join();
    client.read(200);
    /* the photo, the corner, and one for each copy */
    g_assert_cmpuint(client.copies, ==, 0);
    g_assert_cmpuint(client.pictures, ==, 2 + COPIES);

    /* upstream frees what it noted of losses with the surface, not with the client */
    spice_qxl_destroy_primary_surface(&guest.device.qxl, 0);
    client.read(200);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* a mode in which what waits stays in the pipe */
    g_setenv("SPICE_STREAM", "normal", TRUE);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));

    g_test_add_func("/server/resend-many", resend_many);

    return g_test_run();
}
