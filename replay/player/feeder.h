/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FEEDER_H_
#define FEEDER_H_

#include <stdbool.h>
#include <stdint.h>

#include "../common/clock.h"
#include "display.h"
#include "recording-timeline.h"
#include "replay-stream.h"

/*
 * The thread that plays: pushes a recording's commands and sends its messages,
 * each when it is due.
 */
typedef struct Feeder Feeder;

#define PACE_MAX 0.0

/*
 * With think_max_ns: a gap this long or longer in the recording is somebody thinking, what lies
 * between two such gaps a burst. Nobody reacts in less to what he sees (simple reactions to a
 * picture take 200 to 250 ms), so shorter gaps are the guest's own.
 */
#define FEEDER_THINK_MIN_NS (200 * NSEC_PER_MSEC)

typedef struct FeederOptions {
    ReplayStream *stream;       /* the caller's, who leaves it alone until joining */
    const RecordingTimeline *timeline;  /* the caller's; NULL to go by the timestamps alone */
    double pace;                /* times the recorded speed, or PACE_MAX for no waiting */
    unsigned int probe_ms;      /* 0 for no probes */
    bool keep_probes;           /* the server leaves out none, which takes it longer */
    const uint64_t *pauses;     /* command counts, rising */
    unsigned int n_pauses;
    int64_t think_max_ns;       /* 0, or after each burst wait for feeder_resume, then for as long
                                   as recorded, but no longer than this */
    bool show_surfaces;         /* on the primary, in pauses and at the end */
    bool hold_end;              /* the end waits for feeder_release_end */
} FeederOptions;

typedef enum {
    FEEDER_FED,                 /* all of it, and an end marker */
    FEEDER_FED_WITHOUT_MARKER,  /* all of it; there is no primary surface to mark */
    FEEDER_STOPPED,
    FEEDER_DAMAGED,
} FeederStatus;

typedef struct FeederProbe {
    unsigned int number;
    int64_t time_ns;            /* when it was drawn, waiting for room included */
    int64_t due_ns;             /* earlier if the server has held the recording up */
} FeederProbe;

typedef struct FeederBurst {
    uint64_t command;           /* recorded commands until then */
    int64_t due_ns;             /* its last drawing, counted from when the burst began; 0: it is
                                   what was played at once before time began */
    int64_t resumed_ns;
} FeederBurst;

typedef struct FeederResult {
    FeederStatus status;
    uint64_t commands;
    int64_t begun_ns;           /* recorded times count from here */
    int64_t fed_ns;             /* all is handed over but the end marker */
    double cpu_user, cpu_system;    /* of this thread alone */
    const FeederProbe *probes;
    unsigned int n_probes;
    const FeederBurst *bursts;
    unsigned int n_bursts;
    const char *error;              /* when damaged */
    uint64_t error_offset;
} FeederResult;

/* Called in the feeder's thread. */
typedef struct FeederEvents {
    /*
     * The session's clock begins, once: recorded times count from here, without a pace the
     * playing. Not called when nothing in the recording has a time of its own.
     */
    void (*begun)(void *opaque);
    void (*paused)(void *opaque, unsigned int number, uint64_t command);
    void (*finished)(void *opaque);
    void *opaque;
} FeederEvents;

Feeder *feeder_start(Display *display, const FeederOptions *options, const FeederEvents *events);

/* Ends a pause. */
void feeder_resume(Feeder *feeder);

/* All commands are pushed, and the end is held. */
bool feeder_is_held(Feeder *feeder);

/* Lets it end, now or later. */
void feeder_release_end(Feeder *feeder);

/* Recorded commands pushed so far. */
uint64_t feeder_commands(Feeder *feeder);

/* It waits on purpose: for a recorded time, or in a pause. */
bool feeder_is_waiting(Feeder *feeder);
bool feeder_is_paused(Feeder *feeder);

/*
 * A server that shows the client what is there instead of what was drawn may leave out the
 * marker that the client is to answer. Hands it over once more, if there is one: in a pause, or
 * after feeder_join. The client answers the first that comes.
 */
void feeder_remind(Feeder *feeder);

/* Makes it end early; the display must be closed too. */
void feeder_stop(Feeder *feeder);

/* Waits until its thread has ended. False when that takes more than this. */
bool feeder_join(Feeder *feeder, unsigned int seconds);

/* After joining. The result is the feeder's. */
const FeederResult *feeder_result(Feeder *feeder);

/* After joining, and after the server is destroyed. */
void feeder_free(Feeder *feeder);

#endif /* FEEDER_H_ */
