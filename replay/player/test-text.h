/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TEST_TEXT_H_
#define TEST_TEXT_H_

#include <glib.h>
#include <stdbool.h>

#include "recording-input.h"

/* Recordings of surfaces, for tests, in memory. */
RecordingInput *test_text_open(GString *text);      /* takes it over */

void test_text_add_surface_command(GString *text, unsigned int id, bool creates);

#define TEST_ROUNDS 3
#define TEST_SURFACES 5

/* Rounds of surfaces that a message destroys, one of them again by a command in flight. */
GString *test_text_rounds(void);

#endif /* TEST_TEXT_H_ */
