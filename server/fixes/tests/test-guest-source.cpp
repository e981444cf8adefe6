/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A drawing has what it draws, and reads nothing before it: else it is refused, with a warning,
 * and the guest has its command back.
 */
#include <config.h>

#include "test-guest-surface.h"
#include "test-memslot.h"

#include "push-visibility.h"

static void fill_in(TestGuest *guest, uint8_t type, QXLPHYSICAL image, const QXLRect &area)
{
    QXLDrawable &drawable = guest->drawable;

    drawable.type = type;
    switch (type) {
    case QXL_DRAW_OPAQUE:
        drawable.u.opaque.src_bitmap = image;
        drawable.u.opaque.src_area = area;
        drawable.u.opaque.brush.type = SPICE_BRUSH_TYPE_SOLID;
        drawable.u.opaque.rop_descriptor = SPICE_ROPD_OP_OR;
        break;
    case QXL_DRAW_TRANSPARENT:
        drawable.u.transparent.src_bitmap = image;
        drawable.u.transparent.src_area = area;
        drawable.u.transparent.src_color = drawable.u.transparent.true_color = 0x123456;
        break;
    case QXL_DRAW_ROP3:
        drawable.u.rop3.src_bitmap = image;
        drawable.u.rop3.src_area = area;
        drawable.u.rop3.brush.type = SPICE_BRUSH_TYPE_SOLID;
        drawable.u.rop3.rop3 = 0xfe;   /* or */
        break;
    case QXL_DRAW_ALPHA_BLEND:
        drawable.u.alpha_blend.src_bitmap = image;
        drawable.u.alpha_blend.src_area = area;
        drawable.u.alpha_blend.alpha = 255;
        break;
    }
}

static const uint8_t types[] = { QXL_DRAW_OPAQUE, QXL_DRAW_TRANSPARENT, QXL_DRAW_ROP3,
                                 QXL_DRAW_ALPHA_BLEND };

/* top, left, bottom, right: where a difference of two overflows, before it, and beside it */
static const QXLRect bad_areas[] = {
    { INT32_MAX - SIDE + 1, 0, INT32_MIN, SIDE },
    { 0, INT32_MAX - SIDE + 1, SIDE, INT32_MIN },
    { -SIDE, 0, 0, SIDE },
    { 0, -SIDE, SIDE, 0 },
};

static void good_area()
{
    for (uint8_t type : types) {
        TestGuest guest;

        fill_in(&guest, type, guest.image.address(), { 0, 0, SIDE, SIDE });
        guest.draw();
        guest.check(TestGuest::OWN);
    }
}

static void bad_area()
{
    for (uint8_t type : types) {
        for (const QXLRect &area : bad_areas) {
            TestGuest guest;

            fill_in(&guest, type, guest.image.address(), area);
            guest.refuse("*bad source area*");
        }
    }
}

static void no_image()
{
    for (uint8_t type : types) {
        TestGuest guest;

        fill_in(&guest, type, 0, { 0, 0, SIDE, SIDE });
        guest.refuse("*missing source image*");
    }
}

/* Such a brush is none, which is black. */
static void no_pattern()
{
    TestGuest guest;
    auto &fill = guest.drawable.u.fill;

    guest.drawable.type = QXL_DRAW_FILL;
    fill.brush.type = SPICE_BRUSH_TYPE_PATTERN;
    fill.rop_descriptor = SPICE_ROPD_OP_PUT;
    g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*missing pattern of a brush*");
    guest.draw();
    guest.check(0);
}

/* What lies in no slot of memory is not there. */
static void no_clip()
{
    QXLDrawable drawable = {};
    TestSlots slots(to_physical(&drawable), to_physical(&drawable + 1));

    drawable.type = QXL_DRAW_BLACKNESS;
    g_assert_true(slots.parse(drawable));
    drawable.clip.type = SPICE_CLIP_TYPE_RECTS;
    drawable.clip.data = 1;
    g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*virtual address out of range*");
    g_assert_false(slots.parse(drawable));
    g_test_assert_expected_messages();
}

/* A surface is not kept, whatever the guest says, and so not looked for
 * when it would not be seen. */
static void cached_surface()
{
    TestGuest guest;

    guest.image.descriptor.flags = QXL_IMAGE_CACHE;
    fill_in(&guest, QXL_DRAW_ALPHA_BLEND, guest.image.address(), { 0, 0, SIDE, SIDE });
    guest.drawable.u.alpha_blend.alpha = 0;
    guest.draw();
    guest.check(TestGuest::OWN);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/guest-source/good-area", good_area);
    g_test_add_func("/server/guest-source/bad-area", bad_area);
    g_test_add_func("/server/guest-source/no-image", no_image);
    g_test_add_func("/server/guest-source/no-pattern", no_pattern);
    g_test_add_func("/server/guest-source/no-clip", no_clip);
    g_test_add_func("/server/guest-source/cached-surface", cached_surface);
    return g_test_run();
}
