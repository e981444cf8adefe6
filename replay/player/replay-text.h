/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REPLAY_TEXT_H_
#define REPLAY_TEXT_H_

#include <spice.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The library's reader of recordings, given the text of one event at a time. It
 * never waits for more, and an event is read when the call returns.
 */
typedef struct ReplayText ReplayText;

/* With numbers for RECORDING_SURFACES_MAX surfaces. NULL if the library does not want it. */
ReplayText *replay_text_new(void);

/* When the library has released all that came of it. */
void replay_text_free(ReplayText *text);

/*
 * The command the text makes, NULL if the library gives up on it, which it then
 * does for good. Messages to the worker that stand before the command are acted
 * on; without any, the instance may be NULL.
 */
QXLCommandExt *replay_text_read(ReplayText *text, const uint8_t *bytes, size_t size,
                                QXLInstance *instance);

/* Frees a command. In any thread. */
void replay_text_release(ReplayText *text, QXLCommandExt *command);

#endif /* REPLAY_TEXT_H_ */
