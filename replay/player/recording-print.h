/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORDING_PRINT_H_
#define RECORDING_PRINT_H_

#include "recording-facts.h"

/* What a recording holds, for people and for programs. */
void recording_print_text(const char *file, const RecordingFacts *facts);
void recording_print_json(const char *file, const RecordingFacts *facts);

#endif /* RECORDING_PRINT_H_ */
