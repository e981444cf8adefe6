/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../common/clock.h"
#include "display.h"
#include "replay-stream.h"

/*
 * The thread that plays a recording: pushes its commands and sends its messages,
 * each at its due time.
 */
typedef struct Feeder Feeder;

#define PACE_MAX 0.0

/*
 * With think_max_ns: a gap of at least this length counts as a user who thinks, and the drawings
 * between two such gaps are a burst. Simple reactions to a picture take 200 to 250 ms, so shorter
 * gaps are the guest's own.
 */
#define FEEDER_THINK_MIN_NS (200 * NSEC_PER_MSEC)

typedef struct FeederOptions {
    ReplayStream *stream;       /* the caller's; not to be used until joining */
    double pace;                /* times the recorded speed, or PACE_MAX for no waiting */
    unsigned int probe_ms;      /* 0: no probes */
    bool keep_probes;           /* the server drops none, which costs it time */
    const uint64_t *pauses;     /* command counts, ascending */
    unsigned int n_pauses;
    int64_t think_max_ns;       /* after each burst wait for feeder_resume, then for the recorded
                                   gap, at most this long; 0: do not */
    bool show_surfaces;         /* on the primary, in pauses and at the end */
    bool writes_ahead;          /* as in write-ahead.h */
    bool hold_end;              /* the end waits for feeder_release_end */
} FeederOptions;

typedef enum {
    FEEDER_FED,                 /* all of it, and an end marker */
    FEEDER_STOPPED,
    FEEDER_DAMAGED,             /* or nothing can be marked at its end */
} FeederStatus;

typedef enum {
    FEEDER_PLAYING,             /* or the server makes it wait, or it has ended */
    FEEDER_WAITING,             /* for a recorded time */
    FEEDER_PAUSED,
    FEEDER_HELD,                /* all commands are pushed, and the end is held */
} FeederState;

typedef struct FeederProbe {
    unsigned int number;
    int64_t time_ns;            /* when it was pushed, after waiting for space in the ring */
    int64_t due_ns;             /* earlier than time_ns if the server made the player wait */
} FeederProbe;

typedef struct FeederBurst {
    uint64_t command;           /* recorded commands until then */
    int64_t due_ns;             /* of its last drawing, from the begin of the burst; 0: the part
                                   that is played at once, before recorded times count */
    int64_t resumed_ns;
} FeederBurst;

typedef struct FeederResult {
    FeederStatus status;
    uint64_t commands;
    int64_t begun_ns;           /* recorded times count from here */
    int64_t fed_ns;             /* everything except the end marker was pushed */
    double cpu_user, cpu_system;    /* of this thread alone */
    GArray *probes;             /* FeederProbe */
    GArray *bursts;             /* FeederBurst */
    char *error;                    /* when damaged */
} FeederResult;

/* Called in the feeder's thread. */
typedef struct FeederEvents {
    /*
     * The session's clock starts, once: recorded times count from here; at pace max, the playing.
     * Not called if nothing in the recording has a time.
     */
    void (*begun)(void);
    void (*paused)(unsigned int number, uint64_t command);
    void (*finished)(void);
} FeederEvents;

Feeder *feeder_start(Display *display, const FeederOptions *options, const FeederEvents *events);

/* Ends a pause. */
void feeder_resume(Feeder *feeder);

/* Releases a held end, also one that is held later. */
void feeder_release_end(Feeder *feeder);

/* Recorded commands pushed so far. */
uint64_t feeder_commands(Feeder *feeder);

FeederState feeder_state(Feeder *feeder);

/*
 * A server that sends a slow client the current screen may drop the marker that the client is to
 * answer. This pushes the marker again, if there is one: in a pause, or after feeder_join. The client
 * answers the first one that arrives.
 */
void feeder_remind(Feeder *feeder);

/* Ends it early; the display must be closed as well. */
void feeder_stop(Feeder *feeder);

/* Waits until its thread has ended. False if that takes longer than this. */
bool feeder_join(Feeder *feeder, unsigned int seconds);

/* After joining. The result is the feeder's. */
const FeederResult *feeder_result(Feeder *feeder);

/* After joining, and after the server is destroyed. */
void feeder_free(Feeder *feeder);
