/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A guest that draws onto a surface of its own, for tests of what is drawn, and of what a
 * drawing reads and writes beside it. The surface and the drawing may be changed until it is
 * drawn, which is once. */
#ifndef TEST_DRAWING_H_
#define TEST_DRAWING_H_

#include <algorithm>
#include <vector>

#include "test-qxl-device.h"

#include "push-visibility.h"

enum { SIDE = 32, SURFACE = 1, DRAWING = 7 };

struct DrawingGuest
{
    /* the surface is the middle part; the guest's memory is there as long as the device */
    const size_t size;
    std::vector<uint8_t> memory;
    QXLSurfaceCmd surface = {};
    QXLDrawable drawable = {};
    TestDevice device;

    explicit DrawingGuest(uint32_t format = SPICE_SURFACE_FMT_32_xRGB, int bits = 32,
                          uint8_t beside = 0):
        size(SIDE * SIDE * bits / 8),
        memory(3 * size, beside)
    {
        std::fill_n(memory.begin() + size, size, 0);
        surface.surface_id = SURFACE;
        surface.type = QXL_SURFACE_CMD_CREATE;
        surface.flags = QXL_SURF_FLAG_KEEP_DATA;
        surface.u.surface_create.format = format;
        surface.u.surface_create.width = surface.u.surface_create.height = SIDE;
        surface.u.surface_create.stride = SIDE * bits / 8;
        surface.u.surface_create.data = reinterpret_cast<uintptr_t>(pixels());

        drawable.release_info.id = DRAWING;
        drawable.surface_id = SURFACE;
        drawable.bbox = { 0, 0, SIDE, SIDE };
        /* it reads no other surface */
        memset(drawable.surfaces_dest, 0xff, sizeof(drawable.surfaces_dest));
    }

    uint32_t *pixels()
    {
        return reinterpret_cast<uint32_t *>(memory.data() + size);
    }

    bool is_set(int x, int y)
    {
        return (pixels()[y * SIDE + x] & 0xffffff) != 0;
    }

    /* Whether any pixel of the surface is not 0. */
    bool is_drawn() const
    {
        return std::any_of(memory.begin() + size, memory.begin() + 2 * size,
                           [](uint8_t byte) { return byte != 0; });
    }

    /* Draws @command on a surface that there is. Returns when it is in the guest's memory. */
    void draw(QXLDrawable *command)
    {
        QXLRect area = { 0, 0, SIDE, SIDE };
        QXLRect dirty;

        device.push(QXL_CMD_DRAW, command);
        device.run();
        spice_qxl_update_area(&device.qxl, command->surface_id, &area, &dirty, 1, 0);
    }

    /* The same with what is to be drawn, once. Then the guest has its command back. */
    void draw()
    {
        device.push(QXL_CMD_SURFACE, &surface);
        draw(&drawable);
        g_assert_cmpint(std::count(device.released.begin(), device.released.end(), DRAWING), ==, 1);
    }
};

/* Its picture is the guest's surface. */
struct SurfaceImage: QXLImage
{
    SurfaceImage(): QXLImage()
    {
        descriptor.type = SPICE_IMAGE_TYPE_SURFACE;
        descriptor.width = descriptor.height = SIDE;
        surface_image.surface_id = SURFACE;
    }

    QXLPHYSICAL address() const
    {
        return reinterpret_cast<uintptr_t>(this);
    }
};

/* Its picture is @data, with a line of @stride bytes for each of the surface's. */
struct BitmapImage: SurfaceImage
{
    BitmapImage(uint8_t format, const void *data, uint32_t stride)
    {
        surface_image = {};
        descriptor.type = SPICE_IMAGE_TYPE_BITMAP;
        bitmap.x = bitmap.y = SIDE;
        bitmap.format = format;
        bitmap.flags = QXL_BITMAP_TOP_DOWN | QXL_BITMAP_DIRECT;
        bitmap.stride = stride;
        bitmap.data = reinterpret_cast<uintptr_t>(data);
    }
};

/* The string of one white glyph as large as the surface. */
struct WhiteGlyph
{
    QXLString string = {};
    QXLRasterGlyph glyph = {};
    uint8_t bits[SIDE * SIDE / 8];

    WhiteGlyph()
    {
        string.data_size = string.chunk.data_size = sizeof(glyph) + sizeof(bits);
        string.length = 1;
        string.flags = SPICE_STRING_FLAGS_RASTER_A1;
        glyph.width = glyph.height = SIDE;
        memset(bits, 0xff, sizeof(bits));
    }

    QXLPHYSICAL address() const
    {
        return reinterpret_cast<uintptr_t>(&string);
    }
};

#include "pop-visibility.h"

#endif /* TEST_DRAWING_H_ */
