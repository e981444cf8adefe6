/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The output: one line of JSON per event. */

#pragma once

#include "session.h"

/* {"event":"connected"} when every channel that the server offers is open, {"event":"reopened"}
 * after session_reopen_display(): json_event(). */

/* {"event":"pause","n":number,"time_ns":...,"missed":0,"sha256":...,"blocks":...,"tiles":...}: when its marker came,
 * or the picture that is expected then, which may have been missed (1); and display 0 as it is, see picture.h. */
void report_pause(const Session *session, int number);

/* {"event":"done",...}: all results. Fields are null for a channel that the server did not offer, and for events
 * that did not occur. */
void report_done(const Session *session);
