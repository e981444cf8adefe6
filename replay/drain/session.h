/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One session with a server, from connecting to the end. */

#ifndef DRAIN_SESSION_H_
#define DRAIN_SESSION_H_

#include <sys/resource.h>

#include "channel.h"
#include "expect.h"
#include "settle.h"

typedef enum SessionEnd {
    SESSION_RUNNING,
    SESSION_END_MARKER,       /* the END marker came */
    SESSION_END_DISCONNECTED, /* the server closed the channels */
    SESSION_END_IDLE,         /* nothing from the server for too long */
    SESSION_END_KILLED,       /* SIGTERM or SIGINT */
    SESSION_END_REFUSED,      /* no session at all: see refusal */
} SessionEnd;

typedef struct Session Session;

/* What a session reports while it runs. */
typedef struct SessionEvents {
    /* Every channel the server offers is open. */
    void (*connected)(const Session *session, void *opaque);
    /* See session_reopen_display(). */
    void (*reopened)(const Session *session, void *opaque);
    /* A pause marker: display 0 is as the commands before it left it. */
    void (*paused)(const Session *session, int number, void *opaque);
    /* Called once, at the end; the state is still unchanged. */
    void (*ended)(const Session *session, void *opaque);
} SessionEvents;

typedef struct Probe {
    int number;
    int64_t now_ns;
} Probe;

/* Read-only outside session.c. Times are 0 before the event. */
struct Session {
    const Options *options;
    SpiceSession *spice;
    GMainLoop *loop;
    GPtrArray *channels; /* Channel, main first, in the order of the server's list */
    const SessionEvents *events;
    void *opaque;

    bool connected;       /* every offered channel has been open */
    Marker marker;        /* a pause or the end, while its picture is missing */
    int last_pause;       /* the number of the pause that came last, or -1 */
    int64_t pause_ns;     /* when that came or, with --expect, when its picture was there */
    unsigned int n_pauses;
    Expect *expect;       /* NULL without --expect */
    guint watch;          /* for that picture, 0: none is waited for */
    int64_t watch_until_ns;
    int64_t watched;      /* events of the display at the last look */
    bool missed;          /* whether that picture did not come */
    Settle *settle;       /* the wait for it, or NULL */
    bool end_shown;       /* the END marker came, and its picture */
    SessionEnd end;
    char *refusal;        /* why the session was refused, otherwise NULL */

    GArray *probes;       /* Probe */
    int64_t start_ns;     /* display 0 opened: seconds and CPU time count from here */
    struct rusage start_usage;
    int64_t end_ns;       /* at an END marker, the time it came */
    struct rusage end_usage;

    /* For the idle limit: events and bytes at the last look, and when they last had grown. */
    int64_t seen_events;
    int64_t seen_bytes;
    int64_t progress_ns;
};

/* Connects, runs until the end, disconnects. expect may be NULL. */
void session_run(const Options *options, Expect *expect, const SessionEvents *events, void *opaque);

/* The channel of a type (SPICE_CHANNEL_...) and id, or NULL. */
const Channel *session_find(const Session *session, int type, int id);

/* That of a display, NULL if there is none: see display_picture(). */
const Picture *session_picture(const Session *session, int id);

/* Closes the channel of a display other than 0, whose markers make the session, and opens it again. False if there is no
 * such channel, or it is not open. */
bool session_reopen_display(const Session *session, int id);

#endif /* DRAIN_SESSION_H_ */
