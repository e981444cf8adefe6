/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A guest makes a screen while it has one, and the new one is smaller. QEMU lets it. What was
 * shown on the old one is not looked for on the new one, in the memory behind it.
 */
#include <config.h>

#include <sys/mman.h>
#include <vector>

#include "test-link.h"
#include "test-qxl-device.h"

#include "push-visibility.h"

enum {
    /* of the old screen, and of the new one */
    WIDTH = 640, HEIGHT = 480, SMALL = 16,
    /* of a video */
    SIDE = 128, LEFT = 300, TOP = 300, FRAMES = 30,
};

/* bytes, more than any part of the old screen is away from the start of the new one */
#define NOTHING (1024 * 1024)

/* A screen whose memory ends where there is none. */
struct Screen
{
    const size_t size;
    const size_t mapped;
    uint8_t *memory;

    Screen(int width, int height):
        size(width * height * 4),
        mapped((size + page() - 1) / page() * page())
    {
        memory = static_cast<uint8_t *>(mmap(nullptr, mapped + NOTHING, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        g_assert_true(memory != MAP_FAILED);
        g_assert_cmpint(mprotect(memory + mapped, NOTHING, PROT_NONE), ==, 0);
    }

    ~Screen()
    {
        munmap(memory, mapped + NOTHING);
    }

    static size_t page()
    {
        return sysconf(_SC_PAGESIZE);
    }

    void create(QXLInstance *qxl, int width, int height)
    {
        QXLDevSurfaceCreate surface = {};

        surface.width = width;
        surface.height = height;
        surface.stride = width * 4;
        surface.format = SPICE_SURFACE_FMT_32_xRGB;
        surface.mem = reinterpret_cast<uintptr_t>(memory + mapped - size);
        spice_qxl_create_primary_surface(qxl, 0, &surface);
    }
};

/* Draws a picture, on the screen. */
struct Frame
{
    QXLImage image = {};
    QXLDrawable drawable = {};

    Frame(const uint32_t *pixels, const QXLRect &box)
    {
        image.descriptor.type = SPICE_IMAGE_TYPE_BITMAP;
        image.descriptor.width = image.bitmap.x = box.right - box.left;
        image.descriptor.height = image.bitmap.y = box.bottom - box.top;
        image.bitmap.format = SPICE_BITMAP_FMT_RGBA;
        image.bitmap.flags = QXL_BITMAP_TOP_DOWN | QXL_BITMAP_DIRECT;
        image.bitmap.stride = image.bitmap.x * 4;
        image.bitmap.data = reinterpret_cast<uintptr_t>(pixels);
        drawable.type = QXL_DRAW_COPY;
        drawable.effect = QXL_EFFECT_OPAQUE;
        drawable.bbox = box;
        drawable.mm_time = 1;
        drawable.u.copy.src_bitmap = reinterpret_cast<uintptr_t>(&image);
        drawable.u.copy.src_area.right = image.bitmap.x;
        drawable.u.copy.src_area.bottom = image.bitmap.y;
        drawable.u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
        memset(drawable.surfaces_dest, 0xff, sizeof(drawable.surfaces_dest));
    }
};

static void smaller()
{
    Screen old(WIDTH, HEIGHT);
    Screen screen(SMALL, SMALL);
    const std::vector<uint32_t> pixels(SIDE * SIDE, 0x336699);
    const QXLRect video = { TOP, LEFT, TOP + SIDE, LEFT + SIDE };
    const QXLRect beside = { SIDE, SIDE, SIDE + SMALL, SIDE + SMALL };
    std::vector<Frame> frames(FRAMES, Frame(pixels.data(), video));
    Frame other(pixels.data(), beside);
    TestDevice device;
    TestLinkMessage message;
    QXLRect area = video;
    QXLRect dirty;

    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    spice_server_set_streaming_video(device.server, SPICE_STREAM_VIDEO_ALL);
    spice_qxl_destroy_primary_surface(&device.qxl, 0);
    old.create(&device.qxl, WIDTH, HEIGHT);
    TestDisplayClient client(device.server);
    client.display.next_message(SPICE_MSG_DISPLAY_SURFACE_CREATE);

    for (Frame &frame : frames) {
        frame.image.descriptor.id = &frame - frames.data() + 1;
        frame.drawable.u.copy.src_bitmap = reinterpret_cast<uintptr_t>(&frame.image);
        device.push(QXL_CMD_DRAW, &frame.drawable);
        device.run();
        g_usleep(20 * 1000);
    }
    client.display.next_message(SPICE_MSG_DISPLAY_STREAM_CREATE);
    /* what is drawn beside the video is not yet in the memory of the screen when the next comes */
    device.push(QXL_CMD_DRAW, &other.drawable);
    device.run();
    spice_qxl_update_area(&device.qxl, 0, &area, &dirty, 1, 0);

    screen.create(&device.qxl, SMALL, SMALL);
    /* it goes before the new screen comes */
    client.display.next_message(SPICE_MSG_DISPLAY_STREAM_DESTROY);
    client.display.next_message(SPICE_MSG_DISPLAY_SURFACE_DESTROY);
    message = client.display.next_message(SPICE_MSG_DISPLAY_SURFACE_CREATE);
    uint32_t width;
    memcpy(&width, &message.body[4], sizeof(width));
    g_assert_cmpint(GUINT32_FROM_LE(width), ==, SMALL);
    /* a second without a frame ends a video, and the client is sent what is there */
    g_usleep(1500 * 1000);
    device.run();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of the guest, and of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/second-primary/smaller", smaller);
    return g_test_run();
}
