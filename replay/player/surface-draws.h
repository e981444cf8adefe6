/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "display.h"

/*
 * A client shows the primary surface only. For it to show what is on the
 * others, each is drawn onto the primary by XOR: the picture holds all of them
 * then, and the same again takes them away.
 *
 * Pushes a draw for each surface of 32 bits a pixel that the stream has. Its primary
 * has MARKER_PRIMARY_MIN pixels each way at least; nothing is pushed if they are not of 32 bits.
 */
void surface_draws_push(const ReplayStream *stream, Display *display);
