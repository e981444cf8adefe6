/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A guest whose surface has one colour, and what lies around it in memory another one. */
#ifndef TEST_GUEST_SURFACE_H_
#define TEST_GUEST_SURFACE_H_

#include "test-drawing.h"

#include "push-visibility.h"

struct TestGuest: DrawingGuest
{
    enum { OWN = 0x112233, SECRET = 0x445566 };

    /* of the surface */
    SurfaceImage image;

    TestGuest()
    {
        std::fill_n(reinterpret_cast<uint32_t *>(memory.data()), 3 * SIDE * SIDE,
                    uint32_t{ SECRET });
        std::fill_n(pixels(), SIDE * SIDE, uint32_t{ OWN });
    }

    /* This is what all pixels are now, and the messages were as expected. */
    void check(uint32_t colour)
    {
        for (int i = 0; i < SIDE * SIDE; ++i) {
            g_assert_cmphex(pixels()[i] & 0xffffff, ==, colour);
        }
        g_test_assert_expected_messages();
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
