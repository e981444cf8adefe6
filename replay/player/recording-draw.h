/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORDING_DRAW_H_
#define RECORDING_DRAW_H_

#include "recording-private.h"

/* A draw command, from its "drawable" line on. */
void recording_draw(Recording *recording);

#endif /* RECORDING_DRAW_H_ */
