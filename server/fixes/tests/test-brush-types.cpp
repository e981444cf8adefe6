/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A brush of an unknown type is none, which is black.
 */
#include <config.h>

#include "test-line.h"

#include "push-visibility.h"

enum { UNKNOWN = 77, OWN = 0x112233 };

static void expect_warning()
{
    g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING,
                          "*guest error: unknown brush type 77*");
}

static void fill()
{
    DrawingGuest guest;

    std::fill_n(guest.pixels(), SIDE * SIDE, uint32_t{ OWN });
    guest.drawable.type = QXL_DRAW_FILL;
    guest.drawable.u.fill.brush.type = UNKNOWN;
    guest.drawable.u.fill.rop_descriptor = SPICE_ROPD_OP_PUT;
    expect_warning();
    guest.draw();
    g_test_assert_expected_messages();
    g_assert_false(guest.is_set(0, 0));
}

static void stroke()
{
    const std::vector<QXLFIXED> dashes = { 4 * SIDE << 4, 1 << 4 };
    struct
    {
        QXLClipRects head;
        QXLRect rects[2];
    } clip = {};
    LineGuest guest;

    /* all of it but a pixel */
    clip.head.num_rects = 2;
    clip.head.chunk.data_size = sizeof(clip.rects);
    clip.rects[0] = { 0, 0, SIDE / 2, SIDE };
    clip.rects[1] = { SIDE / 2, 0, SIDE, SIDE - 1 };
    guest.drawable.clip.type = SPICE_CLIP_TYPE_RECTS;
    guest.drawable.clip.data = reinterpret_cast<uintptr_t>(&clip);
    guest.set_style(dashes);
    std::fill_n(guest.pixels(), SIDE * SIDE, uint32_t{ OWN });
    guest.add(LINE, { { 0, 0 }, { SIDE << 4, SIDE << 4 } });
    guest.drawable.u.stroke.brush.type = UNKNOWN;
    expect_warning();
    guest.draw();
    g_test_assert_expected_messages();
    for (int i = 0; i < SIDE - 1; ++i) {
        g_assert_false(guest.is_set(i, i));
    }
    g_assert_true(guest.is_set(1, 0));
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/brush-types/fill", fill);
    g_test_add_func("/server/brush-types/stroke", stroke);
    return g_test_run();
}
