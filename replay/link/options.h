/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "shaper.h"
#include "tun.h"

typedef struct LinkOptions {
    TunConfig end[2]; /* a, b */
    ShaperConfig shaper[2]; /* from a to b, from b to a */
    uint64_t seed;
} LinkOptions;

/* Fills in options from the command line and the defaults. Ends the process on --help (0) and on
 * a mistake (1, one line on stderr). */
void options_parse(LinkOptions *options, int argc, char **argv);
