/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A black picture of 32 bits a pixel, as encoders take it. */
#ifndef TEST_BITMAP_H_
#define TEST_BITMAP_H_

#include <vector>

#include "red-common.h"

#include "push-visibility.h"

struct TestBitmap: public SpiceBitmap
{
    std::vector<uint8_t> pixels;

    TestBitmap(uint32_t width, uint32_t height): SpiceBitmap(), pixels(width * height * 4)
    {
        format = SPICE_BITMAP_FMT_32BIT;
        flags = SPICE_BITMAP_FLAGS_TOP_DOWN;
        x = width;
        y = height;
        stride = width * 4;
        data = spice_chunks_new_linear(pixels.data(), pixels.size());
    }

    ~TestBitmap()
    {
        spice_chunks_destroy(data);
    }
};

#include "pop-visibility.h"

#endif /* TEST_BITMAP_H_ */
