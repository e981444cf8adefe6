/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A bitmap that is too wide for pixman to convert shows no memory of the server.
 */
#include <config.h>

#include "test-drawing.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "push-visibility.h"

/* pixels of a line: pixman draws nothing from here on */
enum { WIDTH = 0x7fff, STRIDE = 2 * (WIDTH + 1) };

static void convert()
{
    const std::vector<uint8_t> bits(STRIDE);
    DrawingGuest guest;
    BitmapImage image(SPICE_BITMAP_FMT_16BIT, bits.data(), STRIDE);
    auto &copy = guest.drawable.u.copy;

    image.descriptor.width = image.bitmap.x = WIDTH;
    image.descriptor.height = image.bitmap.y = 1;
    guest.drawable.type = QXL_DRAW_COPY;
    /* top, left, bottom, right */
    guest.drawable.bbox = { 0, 0, 1, SIDE };
    copy.src_bitmap = image.address();
    copy.src_area = guest.drawable.bbox;
    copy.rop_descriptor = SPICE_ROPD_OP_PUT;
    guest.draw();
    for (int x = 0; x < SIDE; ++x) {
        g_assert_cmphex(guest.pixels()[x] & 0xffffff, ==, 0);
    }
}

int main(int argc, char *argv[])
{
#ifdef __GLIBC__
    /* what malloc() returns is not 0 */
    mallopt(M_PERTURB, 85);
#endif
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/wide-bitmaps", convert);
    return g_test_run();
}
