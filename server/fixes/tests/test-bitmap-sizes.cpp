/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An image has no more pixels than the canvas can compute the size of.
 */
#include <config.h>

#include <cstdlib>
#include <memory>

#include "test-guest-surface.h"
#include "test-memslot.h"

#include "push-visibility.h"

enum {
    /* a line of 2^30 + 1 bits; zeroes that nobody touches take no memory */
    WIDTH = (1 << 30) + 1,
    BYTES = WIDTH / 8 + 1,
    /* an address that is not read */
    ANYWHERE = 4096,
};

struct Palette
{
    QXLPalette head = {};
    uint32_t colours[2] = {};
};

static void set_copy(QXLDrawable *drawable, const QXLImage *image)
{
    drawable->type = QXL_DRAW_COPY;
    drawable->u.copy.src_bitmap = to_physical(image);
    drawable->u.copy.src_area = { 0, 0, 1, 1 };
    drawable->u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
}

static QXLImage make_image(const Palette *palette, uint32_t width, uint32_t height)
{
    QXLImage image = {};

    image.descriptor.type = SPICE_IMAGE_TYPE_BITMAP;
    image.descriptor.width = image.bitmap.x = width;
    image.descriptor.height = image.bitmap.y = height;
    image.bitmap.format = SPICE_BITMAP_FMT_1BIT_BE;
    image.bitmap.flags = QXL_BITMAP_TOP_DOWN | QXL_BITMAP_DIRECT;
    image.bitmap.stride = (width + 7) / 8;
    image.bitmap.palette = to_physical(palette);
    return image;
}

static void draw()
{
    Palette palette;
    TestGuest guest;
    QXLImage image = make_image(&palette, WIDTH, 1);
    const std::unique_ptr<void, void (*)(void *)> bits(calloc(1, BYTES), free);

    palette.head.num_ents = 2;
    image.bitmap.data = to_physical(bits.get());
    set_copy(&guest.drawable, &image);
    guest.refuse("*guest error: an image of 1073741825 x 1 pixels*");
}

/* Their data is not looked at. */
static void limits()
{
    const struct
    {
        uint32_t width, height;
        bool valid;
    } sizes[] = {
        { 1, (1 << 29) - 1, true },
        { 1, 1 << 29, false },
        { (1 << 26) - 1, 8, true },
        { 1 << 26, 1, false },
        { 1 << 15, (1 << 14) - 1, true },
        { 1 << 15, 1 << 14, false },
        { 1 << 16, 1 << 16, false },
    };
    Palette palette;
    TestSlots slots;

    for (const auto &size : sizes) {
        QXLImage image = make_image(&palette, size.width, size.height);
        QXLDrawable drawable = {};

        image.bitmap.data = ANYWHERE;
        set_copy(&drawable, &image);
        if (!size.valid) {
            g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*guest error: an image of*");
        }
        g_assert_cmpint(bool(slots.parse(drawable)), ==, size.valid);
        g_test_assert_expected_messages();
    }
}

/* What a QUIC image decodes to has the size that its descriptor says. */
static void quic()
{
    QXLImage image = {};
    QXLDrawable drawable = {};
    TestSlots slots;

    image.descriptor.type = SPICE_IMAGE_TYPE_QUIC;
    image.descriptor.width = image.descriptor.height = 1 << 15;
    set_copy(&drawable, &image);
    g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*guest error: an image of*");
    g_assert_false(slots.parse(drawable));
    g_test_assert_expected_messages();
}

/* A picture of a surface has 32 bits per pixel, too. */
static void surfaces()
{
    g_assert_true(red_validate_surface(1 << 15, (1 << 14) - 1, -4096, SPICE_SURFACE_FMT_1_A));
    g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*guest error: an image of*");
    g_assert_false(red_validate_surface(1 << 15, 1 << 14, -4096, SPICE_SURFACE_FMT_1_A));
    g_test_assert_expected_messages();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/bitmap-sizes/draw", draw);
    g_test_add_func("/server/bitmap-sizes/limits", limits);
    g_test_add_func("/server/bitmap-sizes/quic", quic);
    g_test_add_func("/server/bitmap-sizes/surfaces", surfaces);
    return g_test_run();
}
