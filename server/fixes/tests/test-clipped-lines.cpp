/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A line is drawn in all rectangles of its clip and nowhere else, also where there are many
 * beside each other.
 */
#include <config.h>

#include "test-line.h"

#include "push-visibility.h"

enum { RECTS = SIDE / 2 };

/* Every second column, the line goes across. */
static void check(bool dashed)
{
    const std::vector<QXLFIXED> style = { SIDE << 4, SIDE << 4 };
    struct {
        QXLClipRects clip;
        QXLRect rects[RECTS];
    } __attribute__((packed)) clip = {};
    LineGuest guest;

    clip.clip.num_rects = RECTS;
    clip.clip.chunk.data_size = sizeof(clip.rects);
    for (int i = 0; i < RECTS; ++i) {
        clip.rects[i] = { 0, 2 * i, SIDE, 2 * i + 1 };
    }
    guest.drawable.clip.type = SPICE_CLIP_TYPE_RECTS;
    guest.drawable.clip.data = reinterpret_cast<uintptr_t>(&clip);
    if (dashed) {
        guest.set_style(style);
    }
    guest.add(LINE, { { 0, 16 << 4 }, { (SIDE - 1) << 4, 20 << 4 } });
    guest.draw();
    /* the end of a line is not drawn */
    for (int x = 0; x < SIDE - 2; ++x) {
        int set = 0;

        for (int y = 0; y < SIDE; ++y) {
            set += guest.is_set(x, y);
        }
        g_assert_cmpint(set, ==, x % 2 == 0);
    }
}

static void solid()
{
    check(false);
}

static void dashed()
{
    check(true);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/clipped-lines/solid", solid);
    g_test_add_func("/server/clipped-lines/dashed", dashed);
    return g_test_run();
}
