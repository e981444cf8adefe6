/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The descriptor of a bitmap says the size that it has: clients abort if it is another one.
 */
#include <config.h>

#include <vector>

#include "test-memslot.h"

#include "push-visibility.h"

enum { SIDE = 32 };

static void size()
{
    const std::vector<uint32_t> bits(SIDE * SIDE);
    QXLImage image = {};
    QXLDrawable drawable = {};
    TestSlots slots;

    image.descriptor.type = SPICE_IMAGE_TYPE_BITMAP;
    image.descriptor.width = 1;
    image.descriptor.height = 2 * SIDE;
    image.bitmap.x = image.bitmap.y = SIDE;
    image.bitmap.format = SPICE_BITMAP_FMT_32BIT;
    image.bitmap.flags = QXL_BITMAP_TOP_DOWN | QXL_BITMAP_DIRECT;
    image.bitmap.stride = SIDE * 4;
    image.bitmap.data = to_physical(bits.data());
    drawable.type = QXL_DRAW_COPY;
    drawable.u.copy.src_bitmap = to_physical(&image);
    drawable.u.copy.src_area = { 0, 0, 1, 1 };
    drawable.u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;

    const red::shared_ptr<RedDrawable> red = slots.parse(drawable);
    g_assert_true(bool(red));
    g_assert_cmpuint(red->u.copy.src_bitmap->descriptor.width, ==, SIDE);
    g_assert_cmpuint(red->u.copy.src_bitmap->descriptor.height, ==, SIDE);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/image-descriptor/size", size);
    return g_test_run();
}
