/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "feeder.h"

#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "clock.h"
#include "marker.h"
#include "replay-stream.h"
#include "surface-draws.h"

/*
 * Destroyed surfaces whose numbers are not free yet: their commands are in the
 * ring, or what was drawn with them is in the pipe. More than both hold.
 */
#define SURFACES_IN_FLIGHT 256

typedef enum {
    WAITING_FOR_NOTHING,
    WAITING_FOR_TIME,
    WAITING_FOR_RESUME,
} Waiting;

struct Feeder {
    Display *display;
    FeederOptions options;
    FeederEvents events;
    pthread_t thread;
    bool is_joined;

    pthread_mutex_t mutex;
    pthread_cond_t changed;     /* the next three; on the monotonic clock */
    bool is_stopping;
    bool end_is_released;
    unsigned int resumes;
    _Atomic Waiting waiting;
    atomic_bool is_held;

    ReplayStream *stream;
    SurfaceDraws *surface_draws;    /* NULL if they are not to be shown */

    int64_t start_ns;
    uint64_t first_timestamp;
    int64_t due_ns;             /* of the event that was last read; 0 without a pace */
    int64_t next_probe_ns;
    unsigned int next_pause;
    GArray *probes;
    atomic_uint_fast64_t commands;
    FeederResult result;
};

static bool is_stopping(void *opaque)
{
    Feeder *feeder = opaque;
    bool stopping;

    pthread_mutex_lock(&feeder->mutex);
    stopping = feeder->is_stopping;
    pthread_mutex_unlock(&feeder->mutex);
    return stopping;
}

static bool can_mark(const Feeder *feeder)
{
    const RecordingSurface *primary = replay_stream_primary(feeder->stream);

    return primary && primary->width >= MARKER_PRIMARY_MIN &&
        primary->height >= MARKER_PRIMARY_MIN;
}

static void push_marker(Feeder *feeder, MarkerKind kind, unsigned int number)
{
    QXLCommandExt command = marker_new(kind, number);

    display_push(feeder->display, &command);
}

/* What is shown once is gone when it is shown again. */
static void show_surfaces(Feeder *feeder)
{
    if (feeder->surface_draws && can_mark(feeder)) {
        surface_draws_push(feeder->surface_draws, replay_stream_primary(feeder->stream),
                           feeder->display);
    }
}

/* A probe is due with the event it stands before. */
static void push_probe(Feeder *feeder, int64_t now)
{
    int64_t due = feeder->due_ns ? MIN(feeder->due_ns, now) : now;
    FeederProbe probe = { feeder->probes->len, now, due };

    g_array_append_val(feeder->probes, probe);
    push_marker(feeder, MARKER_PROBE, probe.number);
}

static void probe_if_due(Feeder *feeder, int64_t now)
{
    int64_t step = feeder->options.probe_ms * NSEC_PER_MSEC;

    if (step == 0 || now < feeder->next_probe_ns || !can_mark(feeder)) {
        return;
    }
    push_probe(feeder, now);
    feeder->next_probe_ns += step;
    if (feeder->next_probe_ns <= now) {
        feeder->next_probe_ns = now + step;
    }
}

/* Sleeps until then or until told to stop. */
static void sleep_until(Feeder *feeder, int64_t until_ns)
{
    const struct timespec until = {
        .tv_sec = until_ns / NSEC_PER_SEC,
        .tv_nsec = until_ns % NSEC_PER_SEC,
    };

    pthread_mutex_lock(&feeder->mutex);
    if (!feeder->is_stopping) {
        pthread_cond_timedwait(&feeder->changed, &feeder->mutex, &until);
    }
    pthread_mutex_unlock(&feeder->mutex);
}

/* The event's recorded time since the recording began. */
static uint64_t recorded_time(Feeder *feeder, const RecordingEvent *event)
{
    if (feeder->options.timeline) {
        return recording_timeline_due(feeder->options.timeline, event);
    }
    if (event->number == 0) {
        feeder->first_timestamp = event->timestamp;
    }
    return event->timestamp - MIN(event->timestamp, feeder->first_timestamp);
}

/* Waits for the event's recorded time, drawing the probes that come due meanwhile. */
static void wait_for_recorded_time(Feeder *feeder, const RecordingEvent *event)
{
    const FeederOptions *options = &feeder->options;
    uint64_t recorded = recorded_time(feeder, event);
    int64_t due, now;

    if (options->pace == PACE_MAX) {
        return;
    }
    due = feeder->due_ns = feeder->start_ns + recorded / options->pace;
    while ((now = clock_ns()) < due && !is_stopping(feeder)) {
        int64_t until = due;

        probe_if_due(feeder, now);
        if (options->probe_ms > 0 && can_mark(feeder)) {
            until = MIN(until, feeder->next_probe_ns);
        }
        display_release(feeder->display);
        atomic_store(&feeder->waiting, WAITING_FOR_TIME);
        sleep_until(feeder, until);
        atomic_store(&feeder->waiting, WAITING_FOR_NOTHING);
    }
}

/*
 * Whether the worker has to catch up before the library reads the event: some
 * messages act on all that was drawn before (the reader passes over the
 * others), and for a new surface the reader may wait until the worker has
 * destroyed another.
 */
static bool needs_worker(const ReadyEvent *ready)
{
    const RecordingEvent *event = &ready->event;

    return recording_event_creates_primary(event) ||
        (!event->is_command && (event->type == RECORDING_MESSAGE_DESTROY_PRIMARY ||
                                event->type == RECORDING_MESSAGE_DESTROY_SURFACES)) ||
        ready->live_surfaces + SURFACES_IN_FLIGHT >= RECORDING_SURFACES_MAX;
}

/*
 * Until the worker has taken every command. Those between two primary surfaces
 * draw on none: they must not be left over for the new one.
 */
static void wait_for_worker(Feeder *feeder)
{
    while (!display_is_empty(feeder->display) && !is_stopping(feeder)) {
        sleep_until(feeder, clock_ns() + NSEC_PER_MSEC);
    }
}

/* It is the event's turn: wait for its time, and for the worker if need be. */
static void begin_event(void *opaque, const ReadyEvent *ready)
{
    Feeder *feeder = opaque;

    wait_for_recorded_time(feeder, &ready->event);
    if (needs_worker(ready)) {
        display_release(feeder->display);
    }
    if (recording_event_creates_primary(&ready->event)) {
        wait_for_worker(feeder);
    }
}

/* Waits for feeder_resume. False when told to stop. */
static bool wait_for_resume(Feeder *feeder)
{
    bool stopping;

    display_release(feeder->display);
    atomic_store(&feeder->waiting, WAITING_FOR_RESUME);
    pthread_mutex_lock(&feeder->mutex);
    while (feeder->resumes == 0 && !feeder->is_stopping) {
        pthread_cond_wait(&feeder->changed, &feeder->mutex);
    }
    if (feeder->resumes > 0) {
        feeder->resumes--;
    }
    atomic_store(&feeder->waiting, WAITING_FOR_NOTHING);
    stopping = feeder->is_stopping;
    pthread_mutex_unlock(&feeder->mutex);
    return !stopping;
}

/* Pauses take recorded time off the clock, so that the rest keeps its pace. */
static bool pause_if_due(Feeder *feeder, uint64_t commands)
{
    const FeederOptions *options = &feeder->options;

    while (feeder->next_pause < options->n_pauses &&
           options->pauses[feeder->next_pause] <= commands) {
        unsigned int number = feeder->next_pause++;
        int64_t begin = clock_ns();

        show_surfaces(feeder);
        if (can_mark(feeder)) {
            push_marker(feeder, MARKER_PAUSE, number);
        }
        feeder->events.paused(feeder->events.opaque, number, commands);
        if (!wait_for_resume(feeder)) {
            return false;
        }
        show_surfaces(feeder);
        feeder->start_ns += clock_ns() - begin;
    }
    return true;
}

static void feed(Feeder *feeder)
{
    QXLInstance *instance = display_instance(feeder->display);
    QXLCommandExt *command;
    uint64_t commands = 0;
    bool is_added;

    while ((command = replay_stream_next(feeder->stream, instance, &is_added)) != NULL) {
        probe_if_due(feeder, clock_ns());
        if (feeder->surface_draws) {
            surface_draws_note(feeder->surface_draws, command);
        }
        if (!display_push(feeder->display, command)) {
            return;
        }
        commands += !is_added;
        atomic_store(&feeder->commands, commands + replay_stream_skipped(feeder->stream));
        if (!pause_if_due(feeder, atomic_load(&feeder->commands))) {
            return;
        }
    }
    atomic_store(&feeder->commands, commands + replay_stream_skipped(feeder->stream));
}

/* Waits for feeder_release_end if asked to. False when told to stop. */
static bool wait_for_release(Feeder *feeder)
{
    bool stopping;

    display_release(feeder->display);
    atomic_store(&feeder->is_held, feeder->options.hold_end);
    pthread_mutex_lock(&feeder->mutex);
    while (feeder->options.hold_end && !feeder->end_is_released && !feeder->is_stopping) {
        pthread_cond_wait(&feeder->changed, &feeder->mutex);
    }
    stopping = feeder->is_stopping;
    pthread_mutex_unlock(&feeder->mutex);
    atomic_store(&feeder->is_held, false);
    return !stopping;
}

static void conclude(Feeder *feeder)
{
    FeederResult *result = &feeder->result;
    struct rusage usage;

    result->commands = atomic_load(&feeder->commands);
    result->error = event_reader_error(feeder->options.reader, &result->error_offset);
    if (result->error) {
        result->status = FEEDER_DAMAGED;
    } else if (is_stopping(feeder)) {
        result->status = FEEDER_STOPPED;
    } else if (!replay_stream_at_end(feeder->stream)) {
        result->status = FEEDER_DAMAGED;
        result->error = "the library's reader gives up on this event";
        result->error_offset = replay_stream_offset(feeder->stream);
    } else if (!wait_for_release(feeder)) {
        result->status = FEEDER_STOPPED;
    } else {
        result->status = can_mark(feeder) ? FEEDER_FED : FEEDER_FED_WITHOUT_MARKER;
        show_surfaces(feeder);
        if (can_mark(feeder)) {
            push_marker(feeder, MARKER_END, 0);
        }
    }
    display_release(feeder->display);
    result->fed_ns = clock_ns();
    result->probes = (const FeederProbe *) feeder->probes->data;
    result->n_probes = feeder->probes->len;
    getrusage(RUSAGE_THREAD, &usage);
    result->cpu_user = usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6;
    result->cpu_system = usage.ru_stime.tv_sec + usage.ru_stime.tv_usec / 1e6;
}

static void *run(void *opaque)
{
    Feeder *feeder = opaque;
    SpiceReplay *replay;

    feeder->start_ns = clock_ns();
    feeder->next_probe_ns = feeder->start_ns;
    replay = replay_stream_replay(feeder->stream);
    if (replay) {
        display_set_replay(feeder->display, replay);
        feed(feeder);
    }
    conclude(feeder);
    feeder->events.finished(feeder->events.opaque);
    return NULL;
}

static void init_locks(Feeder *feeder)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&feeder->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&feeder->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

Feeder *feeder_start(Display *display, const FeederOptions *options, const FeederEvents *events)
{
    Feeder *feeder = g_new0(Feeder, 1);
    const ReplayStreamFuncs funcs = {
        .begin = begin_event,
        .is_stopping = is_stopping,
        .opaque = feeder,
    };
    sigset_t all, old;
    int ret;

    feeder->display = display;
    feeder->options = *options;
    feeder->events = *events;
    init_locks(feeder);
    feeder->surface_draws = options->show_surfaces ? surface_draws_new() : NULL;
    feeder->probes = g_array_new(false, false, sizeof(FeederProbe));
    feeder->stream = replay_stream_new(options->reader, &funcs);

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    ret = pthread_create(&feeder->thread, NULL, run, feeder);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    g_assert(ret == 0);
    return feeder;
}

void feeder_resume(Feeder *feeder)
{
    pthread_mutex_lock(&feeder->mutex);
    feeder->resumes++;
    pthread_cond_broadcast(&feeder->changed);
    pthread_mutex_unlock(&feeder->mutex);
}

bool feeder_is_held(Feeder *feeder)
{
    return atomic_load(&feeder->is_held);
}

void feeder_release_end(Feeder *feeder)
{
    pthread_mutex_lock(&feeder->mutex);
    feeder->end_is_released = true;
    pthread_cond_broadcast(&feeder->changed);
    pthread_mutex_unlock(&feeder->mutex);
}

uint64_t feeder_commands(Feeder *feeder)
{
    return atomic_load(&feeder->commands);
}

bool feeder_is_waiting(Feeder *feeder)
{
    return atomic_load(&feeder->waiting) != WAITING_FOR_NOTHING;
}

bool feeder_is_paused(Feeder *feeder)
{
    bool paused;

    pthread_mutex_lock(&feeder->mutex);
    paused = atomic_load(&feeder->waiting) == WAITING_FOR_RESUME && feeder->resumes == 0;
    pthread_mutex_unlock(&feeder->mutex);
    return paused;
}

void feeder_stop(Feeder *feeder)
{
    pthread_mutex_lock(&feeder->mutex);
    feeder->is_stopping = true;
    pthread_cond_broadcast(&feeder->changed);
    pthread_mutex_unlock(&feeder->mutex);
}

bool feeder_join(Feeder *feeder, unsigned int seconds)
{
    struct timespec until;

    if (feeder->is_joined) {
        return true;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    feeder->is_joined = pthread_timedjoin_np(feeder->thread, NULL, &until) == 0;
    return feeder->is_joined;
}

const FeederResult *feeder_result(Feeder *feeder)
{
    return &feeder->result;
}

void feeder_free(Feeder *feeder)
{
    replay_stream_free(feeder->stream);
    surface_draws_free(feeder->surface_draws);
    g_array_unref(feeder->probes);
    pthread_mutex_destroy(&feeder->mutex);
    pthread_cond_destroy(&feeder->changed);
    g_free(feeder);
}
