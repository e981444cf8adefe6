/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Quantities with units. All return false, and set nothing, unless the whole text is a plain decimal number (no
 * sign, exponent or space) with one of the named units, and at most the given maximum. */
#ifndef LINK_UNITS_H
#define LINK_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* 20M, 2.5M, 512k, 1G: bits a second, in powers of 1000 */
bool parse_rate(const char *text, uint64_t max, uint64_t *bits_per_second);

/* 40ms, 500us, 1.5s, 0: into ns */
bool parse_duration(const char *text, uint64_t max, uint64_t *ns);

/* 65536, 64K, 1M: bytes, in powers of 1024 */
bool parse_size(const char *text, uint64_t max, uint64_t *bytes);

/* 1%, 0.5%, 0.01: a share from 0 to 1 */
bool parse_share(const char *text, double *share);

/* 7: an integer */
bool parse_integer(const char *text, uint64_t max, uint64_t *value);

#endif // LINK_UNITS_H
