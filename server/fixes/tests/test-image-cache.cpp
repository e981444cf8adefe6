/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A mask is what the guest sends with the drawing, whatever images of the same id the server keeps,
 * and leaves these where they are. An image of a surface is that surface.
 */
#include <config.h>

#include "test-drawing.h"

#include "push-visibility.h"

/* The server keeps two images. */
enum { FIRST = 100, SECOND, THIRD };

struct CacheGuest: DrawingGuest
{
    std::vector<uint8_t> white = std::vector<uint8_t>(SIDE * SIDE * 4, 0xff);
    std::vector<uint8_t> left_half = std::vector<uint8_t>(SIDE * SIDE / 8);
    BitmapImage images[3] = { make_image(FIRST), make_image(SECOND), make_image(THIRD) };
    BitmapImage mask{ SPICE_BITMAP_FMT_1BIT_LE, left_half.data(), SIDE / 8 };
    std::vector<QXLDrawable> copies;

    CacheGuest()
    {
        for (size_t i = 0; i < left_half.size(); ++i) {
            left_half[i] = i % (SIDE / 8) < SIDE / 8 / 2 ? 0xff : 0;
        }
    }

    BitmapImage make_image(uint64_t id)
    {
        BitmapImage image(SPICE_BITMAP_FMT_32BIT, white.data(), SIDE * 4);

        image.descriptor.id = id;
        image.descriptor.flags = QXL_IMAGE_CACHE;
        return image;
    }

    /* Draws these two, first the one of the lower id, and clears the surface. */
    void keep_two()
    {
        QXLDrawable copy = drawable;

        copy.type = QXL_DRAW_COPY;
        copy.u.copy.src_area = copy.bbox;
        copy.u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
        copies.assign(3, copy);
        copies[0].u.copy.src_bitmap = images[0].address();
        copies[1].u.copy.src_bitmap = images[1].address();
        copies[2].type = QXL_DRAW_BLACKNESS;
        copies[2].u.blackness = {};
        device.push(QXL_CMD_SURFACE, &surface);
        for (QXLDrawable &command : copies) {
            command.release_info.id = DRAWING + 1;
            draw(&command);
        }
    }

    void check()
    {
        draw(&drawable);
        for (int y = 0; y < SIDE; ++y) {
            for (int x = 0; x < SIDE; ++x) {
                g_assert_cmpint(is_set(x, y), ==, x < SIDE / 2);
            }
        }
    }
};

/* The server keeps a picture with this id. */
static void same_id()
{
    CacheGuest guest;

    guest.keep_two();
    guest.mask.descriptor.id = FIRST;
    guest.drawable.type = QXL_DRAW_WHITENESS;
    guest.drawable.u.whiteness.mask.bitmap = guest.mask.address();
    guest.check();
}

/* Brush and mask have ids that the server keeps, and the source takes the place of one of them. */
static void brush_stays()
{
    CacheGuest guest;
    auto &opaque = guest.drawable.u.opaque;

    guest.keep_two();
    guest.mask.descriptor.id = SECOND;
    guest.drawable.type = QXL_DRAW_OPAQUE;
    opaque.src_bitmap = guest.images[2].address();
    opaque.src_area = guest.drawable.bbox;
    opaque.brush.type = SPICE_BRUSH_TYPE_PATTERN;
    opaque.brush.u.pattern.pat = guest.images[0].address();
    opaque.rop_descriptor = SPICE_ROPD_OP_OR;
    opaque.mask.bitmap = guest.mask.address();
    guest.check();
}

/* The surface is black, the picture that the server keeps is white. */
static void surface()
{
    CacheGuest guest;
    SurfaceImage image;
    auto &copy = guest.drawable.u.copy;

    guest.keep_two();
    image.descriptor.id = FIRST;
    guest.drawable.type = QXL_DRAW_COPY;
    copy.src_bitmap = image.address();
    copy.src_area = guest.drawable.bbox;
    copy.rop_descriptor = SPICE_ROPD_OP_PUT;
    guest.draw(&guest.drawable);
    g_assert_false(guest.is_drawn());
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/image-cache/same-id", same_id);
    g_test_add_func("/server/image-cache/brush-stays", brush_stays);
    g_test_add_func("/server/image-cache/surface", surface);
    return g_test_run();
}
