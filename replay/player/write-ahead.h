/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <spice/qxl_dev.h>

/*
 * Does what Linux with a kernel before 4.15 does: writes the pixels of a drawing into the memory of the
 * primary surface before the command is sent. As commands wait in the ring, that memory is ahead of
 * the server by many of them.
 *
 * Bitmaps of 32 bits that are put onto the primary are written, within their clip; other commands only
 * the server draws. To be called in the order of the commands.
 */
void write_ahead(const QXLSurfaceCreate *primary, const QXLCommandExt *command);
