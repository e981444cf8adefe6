/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program in the place of the person at the client: orders on standard input, a line each.
 *
 *   key CODE 1|0       a scan code, 0x100 added to that of an extended key: pressed, released
 *   move X Y           the pointer, if the guest has a tablet
 *   button N 1|0       of the mouse; 4 and 5 are the wheel's
 *   picture N FILE     saves display N as a PNG and says {"event":"picture","saved":0|1}
 *   reopen N           closes the channel of display N, not 0, opens it again and says {"event":"reopened"}
 *
 * There is a live guest then: no drawing is taken for a marker.
 *
 * An order that is none gets a complaint, and is not obeyed. At the end of the input nothing happens. */

#pragma once

#include "session.h"

typedef struct Control Control;

/* The session must outlive it. */
Control *control_new(const Session *session);
void control_free(Control *control); /* NULL is allowed */
