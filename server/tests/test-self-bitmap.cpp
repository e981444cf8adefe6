/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A drawing that reads what it draws on reads no memory around it: it is refused, with a
 * warning, and the guest has its command back.
 */
#include <config.h>

#include <algorithm>

#include "test-qxl-device.h"

#include "push-visibility.h"

enum { SIDE = 16, SURFACE = 1, DRAWING = 7, OWN = 0x112233, SECRET = 0x445566 };

struct Guest
{
    /* the surface is the middle part; the guest's memory is there as long as the device */
    uint32_t memory[3][SIDE * SIDE];
    QXLSurfaceCmd surface = {};
    QXLDrawable drawable = {};
    TestDevice device;

    Guest()
    {
        std::fill_n(memory[0], 3 * SIDE * SIDE, SECRET);
        std::fill_n(memory[1], SIDE * SIDE, OWN);
        surface.surface_id = SURFACE;
        surface.type = QXL_SURFACE_CMD_CREATE;
        surface.flags = QXL_SURF_FLAG_KEEP_DATA;
        surface.u.surface_create.format = SPICE_SURFACE_FMT_32_xRGB;
        surface.u.surface_create.width = surface.u.surface_create.height = SIDE;
        surface.u.surface_create.stride = SIDE * sizeof(uint32_t);
        surface.u.surface_create.data = reinterpret_cast<uintptr_t>(memory[1]);
        device.push(QXL_CMD_SURFACE, &surface);
    }

    /* Draws what is in @area of the surface onto all of it. */
    void draw(const QXLRect &area)
    {
        drawable.release_info.id = DRAWING;
        drawable.surface_id = SURFACE;
        drawable.type = QXL_DRAW_ALPHA_BLEND;
        drawable.bbox = { 0, 0, SIDE, SIDE };
        drawable.self_bitmap = 1;
        drawable.self_bitmap_area = area;
        /* without a picture of its own; it reads no other surface */
        drawable.u.alpha_blend.src_area = drawable.bbox;
        drawable.u.alpha_blend.alpha = 255;
        memset(drawable.surfaces_dest, 0xff, sizeof(drawable.surfaces_dest));
        device.push(QXL_CMD_DRAW, &drawable);
        device.run();
    }

    /* Has all that was drawn in the guest's memory. */
    void update()
    {
        QXLRect area = { 0, 0, SIDE, SIDE };
        QXLRect dirty;

        spice_qxl_update_area(&device.qxl, SURFACE, &area, &dirty, 1, 0);
    }
};

static void check(const QXLRect &area, bool good)
{
    Guest guest;
    const auto &released = guest.device.released;

    if (!good) {
        g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*bad area of a self bitmap*");
    }
    guest.draw(area);
    guest.update();
    for (uint32_t pixel : guest.memory[1]) {
        g_assert_cmphex(pixel & 0xffffff, ==, OWN);
    }
    g_test_assert_expected_messages();
    g_assert_cmpint(std::count(released.begin(), released.end(), DRAWING), ==, 1);
}

static void self_bitmap()
{
    /* top, left, bottom, right */
    check({ 0, 0, SIDE, SIDE }, true);
    check({ SIDE / 2, 0, SIDE, 1 }, true);
    /* before, behind and beside it */
    check({ -SIDE, 0, 0, SIDE }, false);
    check({ SIDE, 0, 2 * SIDE, SIDE }, false);
    check({ 0, -1, SIDE, SIDE - 1 }, false);
    check({ 0, 1, SIDE, SIDE + 1 }, false);
    /* without pixels */
    check({ 0, 0, 0, SIDE }, false);
    check({ 0, SIDE, SIDE, 0 }, false);
    /* what overflows when it is multiplied or subtracted */
    check({ INT32_MIN, 0, INT32_MAX, SIDE }, false);
    check({ 0, INT32_MIN, SIDE, INT32_MAX }, false);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/self-bitmap", self_bitmap);
    return g_test_run();
}
