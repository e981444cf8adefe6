/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PATTERN_H_
#define PATTERN_H_

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes that no compression makes smaller, the same in every run: how they are
 * cut into pieces changes nothing.
 */
typedef struct Pattern {
    uint64_t state;
} Pattern;

void pattern_init(Pattern *pattern);

void pattern_fill(Pattern *pattern, uint8_t *bytes, size_t size);

#endif /* PATTERN_H_ */
