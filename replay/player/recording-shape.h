/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORDING_SHAPE_H_
#define RECORDING_SHAPE_H_

#include "recording-private.h"

/*
 * The parts of draw commands whose blocks the server takes apart itself, and
 * aborts over when a count inside does not fit the block.
 */
void recording_clip_rects(Recording *recording);
void recording_path(Recording *recording);
void recording_line_style(Recording *recording);
void recording_string(Recording *recording);

#endif /* RECORDING_SHAPE_H_ */
