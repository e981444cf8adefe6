/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One session with a server, from connecting to the end. */

#pragma once

#include <sys/resource.h>

#include "channel.h"
#include "display.h"
#include "expect.h"

typedef enum SessionEnd {
    SESSION_RUNNING,
    SESSION_END_MARKER,       /* the END marker came */
    SESSION_END_DISCONNECTED, /* the server closed the channels */
    SESSION_END_IDLE,         /* nothing from the server for too long */
    SESSION_END_KILLED,       /* SIGTERM or SIGINT */
    SESSION_END_REFUSED,      /* no session at all: see refusal */
} SessionEnd;

typedef struct Probe {
    int number;
    int64_t now_ns;
} Probe;

/* Read-only outside session.c. Times are 0 before the event. */
typedef struct Session {
    const Options *options;
    SpiceSession *spice;
    GMainLoop *loop;
    GPtrArray *channels; /* Channel, main first, in the order of the server's list */

    bool connected;       /* every offered channel has been open */
    Marker marker;        /* a pause or the end, while its picture is missing */
    int last_pause;       /* the number of the pause that came last, or -1 */
    int64_t pause_ns;     /* when that came or, with --expect, when its picture was there */
    unsigned int n_pauses;
    Expect *expect;       /* NULL without --expect */
    guint watch;          /* for the marker's picture, 0: none is waited for */
    int64_t watched;      /* the activity at the last look */
    bool missed;          /* whether the expected picture did not come */
    bool end_shown;       /* the END marker came, and its picture */
    SessionEnd end;
    char *refusal;        /* why the session was refused, otherwise NULL */
    bool unsaved;         /* --png could not be written */

    GArray *probes;       /* Probe */
    int64_t start_ns;     /* display 0 opened: seconds and CPU time count from here */
    struct rusage start_usage;
    int64_t end_ns;       /* at an END marker, the time it came */
    struct rusage end_usage;

    /* For the idle limit: events and bytes at the last look, and when they last had grown. */
    int64_t seen_events;
    int64_t seen_bytes;
    int64_t progress_ns;
} Session;

/* expect may be NULL; both are the caller's. */
Session *session_new(const Options *options, Expect *expect);

/* Connects. Returns at the end, which is reported by then. */
void session_run(Session *session);

/* Disconnects. */
void session_free(Session *session);

/* The picture of a display, NULL if there is none: see display_picture(). */
const Picture *session_picture(const Session *session, int id);

/* Closes the channel of a display other than 0, whose markers make the session, and opens it again. False if there is no
 * such channel, or it is not open. */
bool session_reopen_display(const Session *session, int id);
