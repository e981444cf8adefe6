/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A client that looks at the pictures of the surfaces that it is shown. */
#ifndef TEST_SURFACE_CLIENT_H_
#define TEST_SURFACE_CLIENT_H_

#include "test-link.h"

#include "push-visibility.h"

/* What a DRAW_COPY of a bitmap that is not compressed says. */
struct TestPicture
{
    explicit TestPicture(const TestLinkMessage &init_message):
        message(init_message),
        /* surface, box, no clip, then where the image lies in the message; there its id, type,
         * flags and size, then the bitmap: format, flags, size, stride, palette */
        bitmap(number(4 + 16 + 1, 4) + 8 + 1 + 1 + 8)
    {
    }

    uint32_t surface() const
    {
        return number(0, 4);
    }

    /* a SPICE_BITMAP_FMT */
    uint32_t format() const
    {
        return number(bitmap, 1);
    }

    uint32_t pixel(uint32_t x, uint32_t y) const
    {
        const uint32_t width = number(bitmap + 1 + 1, 4);
        const uint32_t stride = number(bitmap + 1 + 1 + 2 * 4, 4);
        const size_t data = bitmap + 1 + 1 + 3 * 4 + 4;

        return number(data + y * stride + x * (stride / width), stride / width);
    }

private:
    const TestLinkMessage message;
    const size_t bitmap;

    uint32_t number(size_t pos, size_t size) const
    {
        uint32_t value = 0;

        g_assert_cmpuint(pos + size, <=, message.body.size());
        memcpy(&value, &message.body[pos], size);
        return GUINT32_FROM_LE(value);
    }
};

struct TestSurfaceClient: TestDisplayClient
{
    /* Returns when the worker knows the client: what it takes from the guest before that is not
     * sent. */
    explicit TestSurfaceClient(SpiceServer *server): TestDisplayClient(server)
    {
        display.next_message(SPICE_MSG_DISPLAY_SURFACE_CREATE);
    }

    /* Waits for a picture that is drawn on this surface. The server has to have compression off. */
    TestPicture next_picture(uint32_t surface)
    {
        for (;;) {
            const TestLinkMessage message = display.next_message();

            if (message.type == SPICE_MSG_DISPLAY_DRAW_COPY) {
                const TestPicture picture(message);

                if (picture.surface() == surface) {
                    return picture;
                }
            }
        }
    }
};

#include "pop-visibility.h"

#endif /* TEST_SURFACE_CLIENT_H_ */
