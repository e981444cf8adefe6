/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A composite names no operator and no filter that pixman does not know, and has what it needs:
 * else it is refused, with a warning, and the guest has its command back.
 */
#include <config.h>

#include <pixman.h>

#include "test-guest-surface.h"

#include "push-visibility.h"

static void composite(uint32_t flags, const char *message)
{
    TestGuest guest;
    auto &composite = guest.drawable.u.composite;

    guest.drawable.type = QXL_DRAW_COMPOSITE;
    composite.flags = flags;
    composite.src = guest.image.address();
    if (message) {
        guest.refuse(message);
    } else {
        guest.draw();
        g_test_assert_expected_messages();
    }
}

static void operators()
{
    for (uint32_t op = 0; op < 0x100; ++op) {
        composite(op, op <= PIXMAN_OP_HSL_LUMINOSITY ? nullptr : "*bad operator or filter*");
    }
}

static void filters()
{
    for (uint32_t filter = 0; filter < 8; ++filter) {
        const char *message = filter <= PIXMAN_FILTER_BILINEAR ? nullptr :
                              "*bad operator or filter*";

        composite(PIXMAN_OP_OVER | filter << 8, message);
        composite(PIXMAN_OP_OVER | filter << 11, message);
    }
}

static void no_image()
{
    TestGuest guest;

    guest.drawable.type = QXL_DRAW_COMPOSITE;
    guest.drawable.u.composite.flags = PIXMAN_OP_OVER;
    guest.refuse("*a composite without its picture or mask*");
}

static void no_mask()
{
    composite(PIXMAN_OP_OVER | SPICE_COMPOSITE_HAS_MASK,
              "*a composite without its picture or mask*");
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/guest-composite/operators", operators);
    g_test_add_func("/server/guest-composite/filters", filters);
    g_test_add_func("/server/guest-composite/no-image", no_image);
    g_test_add_func("/server/guest-composite/no-mask", no_mask);
    return g_test_run();
}
