/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORDING_PRINT_H_
#define RECORDING_PRINT_H_

#include <stdbool.h>

#include "recording-facts.h"

/* What a recording holds, for people and for programs; sizes too if wanted. */
void recording_print_text(const char *file, const RecordingFacts *facts, bool with_sizes);
void recording_print_json(const char *file, const RecordingFacts *facts, bool with_sizes);

#endif /* RECORDING_PRINT_H_ */
