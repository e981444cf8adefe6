/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes a fast machine's client as slow as a slow machine's.
 *
 * Everything the client library does, decoding above all, happens in the thread of the main loop.
 * The brake measures that thread's CPU time and for every second of it sleeps factor - 1 seconds,
 * in the same thread, so that nothing is read from any socket meanwhile. */

#pragma once

#include <glib.h>

/* Works from now on in every turn of the default main context. Factor 1 and below: no brake.
 * Remove with brake_free(). */
GSource *brake_new(double factor);
void brake_free(GSource *brake);
