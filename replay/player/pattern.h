/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PATTERN_H_
#define PATTERN_H_

#include <stddef.h>
#include <stdint.h>

/*
 * Incompressible bytes, the same in every run, however they are split into
 * pieces.
 */
typedef struct Pattern {
    uint64_t state;
} Pattern;

void pattern_init(Pattern *pattern);

void pattern_fill(Pattern *pattern, uint8_t *bytes, size_t size);

#endif /* PATTERN_H_ */
