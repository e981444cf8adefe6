/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A guest with a surface beside the screen and a drawing onto all of it, with a picture of it. */
#ifndef TEST_GUEST_SURFACE_H_
#define TEST_GUEST_SURFACE_H_

#include <algorithm>

#include "test-qxl-device.h"

#include "push-visibility.h"

struct TestGuest
{
    enum { SIDE = 16, SURFACE = 1, DRAWING = 7, OWN = 0x112233, SECRET = 0x445566 };

    /* the surface is the middle part; the guest's memory is there as long as the device */
    uint32_t memory[3][SIDE * SIDE];
    QXLSurfaceCmd surface = {};
    QXLImage image = {};
    QXLDrawable drawable = {};
    TestDevice device;

    explicit TestGuest(uint32_t width = SIDE, uint32_t height = SIDE, int32_t stride = SIDE * 4,
                       uint32_t format = SPICE_SURFACE_FMT_32_xRGB)
    {
        std::fill_n(memory[0], 3 * SIDE * SIDE, SECRET);
        std::fill_n(memory[1], SIDE * SIDE, OWN);
        surface.surface_id = SURFACE;
        surface.type = QXL_SURFACE_CMD_CREATE;
        surface.flags = QXL_SURF_FLAG_KEEP_DATA;
        surface.u.surface_create.format = format;
        surface.u.surface_create.width = width;
        surface.u.surface_create.height = height;
        surface.u.surface_create.stride = stride;
        surface.u.surface_create.data = reinterpret_cast<uintptr_t>(memory[1]);

        image.descriptor.type = SPICE_IMAGE_TYPE_SURFACE;
        image.descriptor.width = image.descriptor.height = SIDE;
        image.surface_image.surface_id = SURFACE;

        drawable.release_info.id = DRAWING;
        drawable.surface_id = SURFACE;
        drawable.bbox = { 0, 0, SIDE, SIDE };
        memset(drawable.surfaces_dest, 0xff, sizeof(drawable.surfaces_dest));
    }

    QXLPHYSICAL get_image() const { return reinterpret_cast<uintptr_t>(&image); }

    /* Has the surface made, if it can be, and what is drawn in the guest's memory. */
    void draw()
    {
        QXLRect area = { 0, 0, SIDE, SIDE };
        QXLRect dirty;

        device.push(QXL_CMD_SURFACE, &surface);
        device.push(QXL_CMD_DRAW, &drawable);
        device.run();
        spice_qxl_update_area(&device.qxl, drawable.surface_id, &area, &dirty, 1, 0);
    }

    /* The guest has its command back, and the messages were as expected. */
    void check_released() const
    {
        const auto &released = device.released;

        g_test_assert_expected_messages();
        g_assert_cmpint(std::count(released.begin(), released.end(), DRAWING), ==, 1);
    }

    /* So it is, and this is what all pixels are now. */
    void check(uint32_t colour) const
    {
        for (uint32_t pixel : memory[1]) {
            g_assert_cmphex(pixel & 0xffffff, ==, colour);
        }
        check_released();
    }

    /* What is drawn is refused with this warning. */
    void refuse(const char *message)
    {
        g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, message);
        draw();
        check(OWN);
    }
};

#include "pop-visibility.h"

#endif /* TEST_GUEST_SURFACE_H_ */
