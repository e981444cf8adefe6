/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A guest that draws pictures on the screen of one of its displays. */
#ifndef TEST_SCREEN_GUEST_H_
#define TEST_SCREEN_GUEST_H_

#include <list>
#include <vector>

#include "test-qxl-device.h"

#include "push-visibility.h"

struct ScreenGuest
{
    /* A picture of the whole screen, from above, and the command that draws it. */
    struct Drawing: QXLDrawable
    {
        QXLImage image = {};
        const std::vector<uint32_t> pixels;

        Drawing(std::vector<uint32_t> init_pixels, uint32_t cache_id):
            QXLDrawable(), pixels(std::move(init_pixels))
        {
            type = QXL_DRAW_COPY;
            effect = QXL_EFFECT_OPAQUE;
            bbox = u.copy.src_area = { 0, 0, TEST_QXL_HEIGHT, TEST_QXL_WIDTH };
            u.copy.src_bitmap = reinterpret_cast<uintptr_t>(&image);
            u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
            memset(surfaces_dest, 0xff, sizeof(surfaces_dest));
            image.descriptor.id = cache_id;
            image.descriptor.flags = cache_id ? QXL_IMAGE_CACHE : 0;
            test_set_bitmap(&image, SPICE_BITMAP_FMT_32BIT, TEST_QXL_WIDTH, TEST_QXL_HEIGHT,
                            TEST_QXL_WIDTH * 4, pixels.data());
        }
    };

    /* the guest's memory, which is there as long as the device */
    std::list<Drawing> drawings;
    TestDevice device;

    ScreenGuest()
    {
        g_assert_cmpint(spice_server_set_noauth(device.server), ==, 0);
    }

    /* With another display of the machine of @first. */
    ScreenGuest(const ScreenGuest &first, int id): device(first.device, id) {}

    /* One in which no pixel is like the last, and which does not look like a photo. The same for
     * the same @seed. */
    static std::vector<uint32_t> noise(uint32_t seed)
    {
        std::vector<uint32_t> pixels(TEST_QXL_WIDTH * TEST_QXL_HEIGHT);
        GRand *rand = g_rand_new_with_seed(seed);

        for (auto &pixel : pixels) {
            pixel = g_rand_int(rand) & 0xffffff;
        }
        g_rand_free(rand);
        return pixels;
    }

    /* @cache_id: under which clients are to keep it, 0: they are not */
    void push(std::vector<uint32_t> pixels, uint32_t cache_id = 0)
    {
        drawings.emplace_back(std::move(pixels), cache_id);
        device.push(QXL_CMD_DRAW, static_cast<QXLDrawable *>(&drawings.back()));
    }

    /* Returns when the worker has taken it. */
    void draw(std::vector<uint32_t> pixels, uint32_t cache_id = 0)
    {
        push(std::move(pixels), cache_id);
        device.run();
    }
};

#include "pop-visibility.h"

#endif /* TEST_SCREEN_GUEST_H_ */
