/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The last line of the output: everything that was seen. */

#ifndef DRAIN_REPORT_H_
#define DRAIN_REPORT_H_

#include "session.h"

/* Prints {"event":"done",...} to stdout. Fields that depend on a channel the server did not
 * offer, or on something that never came, are null. */
void report_done(const Session *session);

#endif /* DRAIN_REPORT_H_ */
