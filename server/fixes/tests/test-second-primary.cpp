/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A guest makes a screen while it has one, and the new one is smaller, or destroys the one that it
 * has as if it were any surface. QEMU lets it. What was shown on the old one is not looked for on
 * the new one, in the memory behind it, nor where there is none.
 */
#include <config.h>

#include <sys/mman.h>
#include <vector>

#include "test-video.h"

#include "push-visibility.h"

enum {
    /* of the old screen, and of the new one */
    WIDTH = 640, HEIGHT = 480, SMALL = 16,
    /* of a video */
    SIDE = 128, LEFT = 300, TOP = 300,
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

static void smaller()
{
    Screen old(WIDTH, HEIGHT);
    Screen screen(SMALL, SMALL);
    const std::vector<uint32_t> pixels(SIDE * SIDE, 0x336699);
    const QXLRect box = { TOP, LEFT, TOP + SIDE, LEFT + SIDE };
    const QXLRect beside = { SIDE, SIDE, SIDE + SMALL, SIDE + SMALL };
    TestVideo video(pixels.data(), box);
    TestFrame other(1, pixels.data(), beside);
    TestDevice device;
    TestLinkMessage message;
    QXLRect area = box;
    QXLRect dirty;

    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    spice_server_set_streaming_video(device.server, SPICE_STREAM_VIDEO_ALL);
    spice_qxl_destroy_primary_surface(&device.qxl, 0);
    old.create(&device.qxl, WIDTH, HEIGHT);
    TestDisplayClient client(device.server);
    video.play(&device, &client.display);
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

/* By a command for surfaces. The screen goes only when nothing is left that reads it, which a
 * client keeps that does not read what it is sent. */
static void by_command()
{
    enum { SURFACE = 5 };
    Screen screen(WIDTH, HEIGHT);
    const std::vector<uint32_t> pixels(SIDE * SIDE, 0x336699);
    std::vector<uint32_t> surface_pixels(SIDE * SIDE);
    const QXLRect box = { TOP, LEFT, TOP + SIDE, LEFT + SIDE };
    const QXLRect all = { 0, 0, SIDE, SIDE };
    TestVideo video(pixels.data(), box);
    TestFrame pictures[] = { { 1, pixels.data(), all }, { 2, pixels.data(), all } };
    TestFrame of_screen(3, pixels.data(), all);
    QXLSurfaceCmd surface = {};
    QXLSurfaceCmd destroy = {};
    TestDevice device;
    QXLRect area = box;
    QXLRect dirty;

    g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    spice_server_set_image_compression(device.server, SPICE_IMAGE_COMPRESSION_OFF);
    spice_server_set_streaming_video(device.server, SPICE_STREAM_VIDEO_ALL);
    spice_qxl_destroy_primary_surface(&device.qxl, 0);
    screen.create(&device.qxl, WIDTH, HEIGHT);
    TestDisplayClient client(device.server, TEST_UNIX, 4096);
    video.play(&device, &client.display);

    surface.surface_id = SURFACE;
    surface.type = QXL_SURFACE_CMD_CREATE;
    surface.u.surface_create.format = SPICE_SURFACE_FMT_32_xRGB;
    surface.u.surface_create.width = surface.u.surface_create.height = SIDE;
    surface.u.surface_create.stride = SIDE * 4;
    surface.u.surface_create.data = reinterpret_cast<uintptr_t>(surface_pixels.data());
    device.push(QXL_CMD_SURFACE, &surface);
    for (TestFrame &picture : pictures) {
        picture.drawable.surface_id = SURFACE;
        device.push(QXL_CMD_DRAW, &picture.drawable);
        device.run();
        /* until the kernel has what it takes of it, so that nothing more is sent */
        g_usleep(200 * 1000);
    }
    of_screen.image.descriptor.type = SPICE_IMAGE_TYPE_SURFACE;
    of_screen.image.surface_image.surface_id = 0;
    of_screen.drawable.surface_id = SURFACE;
    of_screen.drawable.surfaces_dest[0] = 0;
    of_screen.drawable.surfaces_rects[0] = all;
    device.push(QXL_CMD_DRAW, &of_screen.drawable);
    device.run();
    spice_qxl_update_area(&device.qxl, 0, &area, &dirty, 1, 0);

    destroy.surface_id = 0;
    destroy.type = QXL_SURFACE_CMD_DESTROY;
    device.push(QXL_CMD_SURFACE, &destroy);
    device.run();
    g_usleep(1500 * 1000);
    device.run();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of the guest, and of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/second-primary/smaller", smaller);
    g_test_add_func("/server/second-primary/by-command", by_command);
    return g_test_run();
}
