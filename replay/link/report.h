/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the program says on stdout: one JSON object a line.
 */
#ifndef LINK_REPORT_H
#define LINK_REPORT_H

#include <stdint.h>

#include "loop.h"

/* The link can be used. */
void report_ready(const LinkDirection directions[2]);

/* The link is at its end after ns. */
void report_done(const LinkDirection directions[2], uint64_t ns);

#endif // LINK_REPORT_H
