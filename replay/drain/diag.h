/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Output on stderr: one line of ours per error, nothing from the library. */

#pragma once

#include <glib.h>
#include <stdbool.h>

/* Takes over GLib's logging for the process. Messages of the client library are kept for
 * diag_library_said(), and shown only if verbose. */
void diag_init(bool verbose);

/* "spice-drain: message" on one line of stderr. */
void diag_error(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* The first warning of the library that contains the text, or NULL: reasons it gives nowhere
 * but in its log. Valid until the end of the process. */
const char *diag_library_said(const char *text);
