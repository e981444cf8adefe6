/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Drawings that need without losses what the client has with losses. */
#ifndef TEST_RESEND_H_
#define TEST_RESEND_H_

#include <atomic>
#include <functional>
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

    uint32_t first_pixel() const
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
        test_set_bitmap(image, SPICE_BITMAP_FMT_32BIT, PHOTO_WIDTH, PHOTO_HEIGHT, PHOTO_WIDTH * 4,
                        pixels);
        drawable->u.copy.src_bitmap = reinterpret_cast<uintptr_t>(image);
        drawable->u.copy.src_area = { 0, 0, PHOTO_HEIGHT, PHOTO_WIDTH };
        drawable->u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
        device.push(QXL_CMD_DRAW, drawable);
    }

    /* What is there becomes something else, so the client has to have that exactly. */
    void invert(const QXLRect &box)
    {
        QXLDrawable *const drawable = make(QXL_DRAW_FILL, QXL_EFFECT_BLEND, box);

        drawable->u.fill.brush.type = SPICE_BRUSH_TYPE_SOLID;
        drawable->u.fill.brush.u.color = 0xffffff;
        drawable->u.fill.rop_descriptor = SPICE_ROPD_OP_XOR;
        device.push(QXL_CMD_DRAW, drawable);
    }

    void copy(int left, int top, const QXLRect &box)
    {
        QXLDrawable *const drawable = make(QXL_COPY_BITS, QXL_EFFECT_OPAQUE, box);

        drawable->u.copy_bits.src_pos.x = left;
        drawable->u.copy_bits.src_pos.y = top;
        device.push(QXL_CMD_DRAW, drawable);
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

    /* The next, and what comes after it. */
    void read_picture()
    {
        while (pictures == 0) {
            read(10);
        }
        read(500);
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

/* The screen is a photo, and while that is sent @draw draws: all of it is rendered before the client
 * reads it. Of what it draws, only the first drawing may change the first pixel. */
static inline void draw_behind_a_photo(Guest *guest, Client *client,
                                       const std::function<void()> &draw)
{
    std::atomic<bool> has_stopped(false);

    client->read_picture();
    client->pictures = 0;
    guest->draw_photo();
    guest->device.run();
    const uint32_t before = guest->first_pixel();
    draw();
    while (guest->device.num_left() > 0) {
        spice_qxl_wakeup(&guest->device.qxl);
        g_usleep(1000);
    }

    /* a machine that stops has all of them rendered, and waits until they are sent */
    std::thread thread([&] {
        spice_server_vm_stop(guest->device.server);
        has_stopped = true;
    });
    while (guest->first_pixel() == before) {
        g_usleep(1000);
    }
    while (!has_stopped) {
        client->read(10);
    }
    thread.join();
    client->read(200);
}

/* Runs one test. */
static inline int run_resend_test(int argc, char *argv[], const char *path, GTestFunc test)
{
    g_test_init(&argc, &argv, nullptr);
    /* a mode in which what waits stays in the pipe */
    g_setenv("SPICE_STREAM", "normal", TRUE);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func(path, test);
    return g_test_run();
}

#include "pop-visibility.h"

#endif /* TEST_RESEND_H_ */
