/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SURFACE_DRAWS_H_
#define SURFACE_DRAWS_H_

#include <spice/qxl_dev.h>

#include "display.h"
#include "recording-surfaces.h"

/*
 * A client shows the primary surface only. For it to show what is on the
 * others, each is drawn onto the primary by XOR: the picture holds all of them
 * then, and the same again takes them away.
 *
 * Those of 32 bits a pixel are drawn. Used by the thread that plays.
 */
typedef struct SurfaceDraws SurfaceDraws;

SurfaceDraws *surface_draws_new(void);
void surface_draws_free(SurfaceDraws *draws);

/* To be called with every command before it is pushed: it may create or destroy a surface. */
void surface_draws_note(SurfaceDraws *draws, const QXLCommandExt *command);

/* A message has destroyed them. */
void surface_draws_forget_all(SurfaceDraws *draws);

/*
 * Pushes a draw for each surface there is. The primary has MARKER_PRIMARY_MIN
 * pixels each way at least; nothing is pushed if they are not of 32 bits.
 */
void surface_draws_push(const SurfaceDraws *draws, const QXLSurfaceCreate *primary,
                        Display *display);

#endif /* SURFACE_DRAWS_H_ */
