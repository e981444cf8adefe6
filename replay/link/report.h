/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The program's output on stdout: one JSON object per line.
 */
#pragma once

#include <stdint.h>

#include "loop.h"

/* The link can be used. */
void report_ready(const LinkDirection directions[2]);

/* The link has ended, ns after its start. */
void report_done(const LinkDirection directions[2], uint64_t ns);
