/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pattern.h"

void pattern_init(Pattern *pattern)
{
    pattern->state = UINT64_C(0x9e3779b97f4a7c15);
}

/* Marsaglia's xorshift; one step a byte, of which the highest bits are good enough. */
void pattern_fill(Pattern *pattern, uint8_t *bytes, size_t size)
{
    uint64_t state = pattern->state;

    for (size_t i = 0; i < size; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes[i] = state >> 56;
    }
    pattern->state = state;
}
