/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pictures that display 0 is to show, one after the other.
 *
 * A marker comes after what was drawn before it only where the server sends all in order. One
 * that shows a client that is behind what is there may send the marker first. */

#pragma once

#include "picture.h"

typedef struct Expect Expect;

/* Reads a file with a line of picture_blocks() per picture. NULL and an error if it cannot be read or has another
 * format. */
Expect *expect_new(const char *path, GError **error);
void expect_free(Expect *expect);

/* Whether a picture is the one of that number, but for what JPEG loses: no block's mean is off by
 * more than 4 of 255. False where there is none of that number, or it has another size. */
bool expect_is_shown(const Expect *expect, unsigned int number, const Picture *picture);
