/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "feeder.h"

#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "../common/clock.h"
#include "marker.h"
#include "surface-draws.h"
#include "write-ahead.h"

struct Feeder {
    Display *display;
    FeederOptions options;
    FeederEvents events;
    pthread_t thread;
    bool is_joined;

    pthread_mutex_t mutex;
    pthread_cond_t changed;     /* the next three; on the monotonic clock */
    bool is_stopping;
    unsigned int resumes, releases;     /* of a pause, of the end, for which it did not wait yet */
    FeederState state;

    int64_t start_ns;
    bool has_begun;             /* the part that is played at once is done */
    int64_t due_ns;             /* due time of the last item; 0 without a pace */
    int64_t next_probe_ns;
    unsigned int next_probe;
    unsigned int next_pause;
    uint64_t last_recorded;     /* recorded time of the last item */
    uint64_t burst_begin;       /* commands before the burst under way */
    atomic_uint_fast64_t commands;
    FeederResult result;
};

static bool is_stopping(Feeder *feeder)
{
    bool stopping;

    pthread_mutex_lock(&feeder->mutex);
    stopping = feeder->is_stopping;
    pthread_mutex_unlock(&feeder->mutex);
    return stopping;
}

static bool can_mark(const Feeder *feeder)
{
    const QXLSurfaceCreate *primary = replay_stream_primary(feeder->options.stream);

    return primary && primary->width >= MARKER_PRIMARY_MIN &&
        primary->height >= MARKER_PRIMARY_MIN;
}

static void push_marker(Feeder *feeder, MarkerKind kind, unsigned int number)
{
    QXLCommandExt command = marker_new(kind, number);

    display_push(feeder->display, &command, true);
}

/* Drawn twice by XOR, a surface disappears again. */
static void show_surfaces(Feeder *feeder)
{
    if (feeder->options.show_surfaces && can_mark(feeder)) {
        surface_draws_push(feeder->options.stream, feeder->display);
    }
}

/* A client cannot tell a drawing of the guest from a probe: its number is left out. */
static unsigned int next_probe(Feeder *feeder)
{
    for (unsigned int i = 0; i < MARKER_PROBES && replay_stream_draws_probe(feeder->options.stream, feeder->next_probe); i++) {
        feeder->next_probe++;
    }
    return feeder->next_probe++;
}

/* A probe has the due time of the item after it. */
static void push_probe(Feeder *feeder, int64_t now)
{
    int64_t due = feeder->due_ns ? MIN(feeder->due_ns, now) : now;
    FeederProbe probe = { next_probe(feeder), clock_ns(), due };
    QXLCommandExt command = marker_new(MARKER_PROBE, probe.number);
    QXLRect area = ((const QXLDrawable *) (uintptr_t) command.cmd.data)->bbox;

    g_array_append_val(feeder->result.probes, probe);
    display_push(feeder->display, &command, true);
    if (feeder->options.keep_probes) {
        display_settle(feeder->display, &area);
    }
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
static void sleep_until(Feeder *feeder, int64_t until_ns, FeederState state)
{
    const struct timespec until = {
        .tv_sec = until_ns / NSEC_PER_SEC,
        .tv_nsec = until_ns % NSEC_PER_SEC,
    };

    pthread_mutex_lock(&feeder->mutex);
    feeder->state = state;
    if (!feeder->is_stopping) {
        pthread_cond_timedwait(&feeder->changed, &feeder->mutex, &until);
    }
    feeder->state = FEEDER_PLAYING;
    pthread_mutex_unlock(&feeder->mutex);
}

/* Waits for a call, which may have come already. False when told to stop. */
static bool wait_for(Feeder *feeder, unsigned int *calls, FeederState state)
{
    bool stopping;

    display_release(feeder->display);
    pthread_mutex_lock(&feeder->mutex);
    feeder->state = state;
    while (*calls == 0 && !feeder->is_stopping) {
        pthread_cond_wait(&feeder->changed, &feeder->mutex);
    }
    *calls -= MIN(*calls, 1);
    feeder->state = FEEDER_PLAYING;
    stopping = feeder->is_stopping;
    pthread_mutex_unlock(&feeder->mutex);
    return !stopping;
}

/*
 * Waits until the worker has taken every command. While there is no primary surface, commands draw
 * on nothing; the worker must have taken them before the next one exists.
 */
static void wait_for_worker(Feeder *feeder)
{
    while (!display_is_empty(feeder->display) && !is_stopping(feeder)) {
        sleep_until(feeder, clock_ns() + NSEC_PER_MSEC, FEEDER_PLAYING);
    }
}

/*
 * What a part of a recording depends on is played at once. Time begins when the server has
 * taken that: in the session it was there before, and made nothing late.
 */
static void begin_if_due(Feeder *feeder, uint64_t recorded)
{
    if (feeder->has_begun || recorded == 0) {
        return;
    }
    feeder->has_begun = true;
    display_release(feeder->display);
    wait_for_worker(feeder);
    feeder->result.begun_ns = feeder->start_ns = clock_ns();
}

/*
 * Before an item that comes after a gap: waits until the client has shown what was drawn before.
 * The gap begins then, however late that is. If @begins, this is also where recorded time starts,
 * after the part that is played at once. False when told to stop.
 */
static bool end_burst_if_due(Feeder *feeder, uint64_t recorded, bool begins)
{
    const FeederOptions *options = &feeder->options;
    FeederBurst burst = { atomic_load(&feeder->commands), begins ? 0 : feeder->due_ns, 0 };
    int64_t gap = recorded - feeder->last_recorded;

    if (options->think_max_ns == 0 || (gap < FEEDER_THINK_MIN_NS && !begins) ||
        burst.command == feeder->burst_begin || !can_mark(feeder)) {
        return true;
    }
    push_marker(feeder, MARKER_PAUSE, feeder->next_pause);
    feeder->events.paused(feeder->next_pause++, burst.command);
    if (!wait_for(feeder, &feeder->resumes, FEEDER_PAUSED)) {
        return false;
    }
    burst.resumed_ns = clock_ns();
    g_array_append_val(feeder->result.bursts, burst);
    feeder->burst_begin = burst.command;
    feeder->start_ns = burst.resumed_ns + MIN(gap, options->think_max_ns) - (int64_t) recorded;
    return true;
}

/* Waits for the item's recorded time, drawing the probes that come due meanwhile. */
static void wait_for_recorded_time(Feeder *feeder, const ReplayItem *item)
{
    const FeederOptions *options = &feeder->options;
    uint64_t recorded = item->due_ns;
    bool begins = !feeder->has_begun && recorded > 0;
    int64_t due, now;

    if (options->pace == PACE_MAX) {
        return;
    }
    begin_if_due(feeder, recorded);
    if (!end_burst_if_due(feeder, recorded, begins)) {
        return;
    }
    if (begins) {
        feeder->events.begun();
    }
    feeder->last_recorded = recorded;
    due = feeder->due_ns = feeder->start_ns + recorded / options->pace;
    while ((now = clock_ns()) < due && !is_stopping(feeder)) {
        int64_t until = due;

        probe_if_due(feeder, now);
        if (options->probe_ms > 0 && can_mark(feeder)) {
            until = MIN(until, feeder->next_probe_ns);
        }
        display_release(feeder->display);
        sleep_until(feeder, until, FEEDER_WAITING);
    }
}

/*
 * Waits until the server is rid of the surface that had the number of a new one.
 * False when told to stop.
 */
static bool take_command(Feeder *feeder)
{
    while (!replay_stream_take(feeder->options.stream)) {
        if (is_stopping(feeder)) {
            return false;
        }
        display_release(feeder->display);
        sleep_until(feeder, clock_ns() + NSEC_PER_MSEC, FEEDER_PLAYING);
    }
    return true;
}

static void send_message(Feeder *feeder, const ReplayItem *item)
{
    display_release(feeder->display);
    if (item->kind == RECORDED_CREATE_PRIMARY) {
        wait_for_worker(feeder);
    }
    replay_stream_send(feeder->options.stream, display_instance(feeder->display));
}

/* False when told to stop. */
static bool push_command(Feeder *feeder, QXLCommandExt *command)
{
    if (!take_command(feeder)) {
        return false;
    }
    /* a feeder that is late puts its probes between the same commands as one that is in time */
    probe_if_due(feeder, feeder->due_ns ? MIN(feeder->due_ns, clock_ns()) : clock_ns());
    if (feeder->options.writes_ahead) {
        write_ahead(replay_stream_primary(feeder->options.stream), command);
    }
    return display_push(feeder->display, command, true);
}

/*
 * The start time is moved by the length of each pause, so that the rest keeps its pace. Without a
 * screen to mark, a pause waits for the next one.
 */
static bool pause_if_due(Feeder *feeder, uint64_t commands)
{
    const FeederOptions *options = &feeder->options;

    while (feeder->next_pause < options->n_pauses &&
           options->pauses[feeder->next_pause] <= commands && can_mark(feeder)) {
        unsigned int number = feeder->next_pause++;
        int64_t begin = clock_ns();

        show_surfaces(feeder);
        push_marker(feeder, MARKER_PAUSE, number);
        feeder->events.paused(number, commands);
        if (!wait_for(feeder, &feeder->resumes, FEEDER_PAUSED)) {
            return false;
        }
        show_surfaces(feeder);
        feeder->start_ns += clock_ns() - begin;
    }
    return true;
}

static void feed(Feeder *feeder)
{
    ReplayStream *stream = feeder->options.stream;
    uint64_t commands = 0;
    ReplayItem item;

    while (!is_stopping(feeder) && replay_stream_next(stream, &item)) {
        wait_for_recorded_time(feeder, &item);
        if (!item.command) {
            send_message(feeder, &item);
        } else if (push_command(feeder, item.command)) {
            atomic_store(&feeder->commands, ++commands);
        } else {
            return;
        }
        if (!pause_if_due(feeder, commands)) {
            return;
        }
    }
}

static void conclude(Feeder *feeder)
{
    FeederResult *result = &feeder->result;
    struct rusage usage;

    result->commands = atomic_load(&feeder->commands);
    result->error = replay_stream_error(feeder->options.stream);
    if (result->error) {
        result->status = FEEDER_DAMAGED;
    } else if (is_stopping(feeder) ||
               (feeder->options.hold_end && !wait_for(feeder, &feeder->releases, FEEDER_HELD))) {
        result->status = FEEDER_STOPPED;
    } else if (!can_mark(feeder)) {
        result->status = FEEDER_DAMAGED;
        result->error = g_strdup_printf("it ends without a screen of %d x %d pixels, so nothing of it can be compared",
                                        MARKER_PRIMARY_MIN, MARKER_PRIMARY_MIN);
    } else {
        result->status = FEEDER_FED;
        show_surfaces(feeder);
    }
    /* taken before the marker: the session may end as soon as the client has seen that */
    result->fed_ns = clock_ns();
    if (result->status == FEEDER_FED) {
        push_marker(feeder, MARKER_END, 0);
    }
    display_release(feeder->display);
    getrusage(RUSAGE_THREAD, &usage);
    result->cpu_user = usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6;
    result->cpu_system = usage.ru_stime.tv_sec + usage.ru_stime.tv_usec / 1e6;
}

static void *run(void *opaque)
{
    Feeder *feeder = opaque;

    feeder->result.begun_ns = feeder->start_ns = clock_ns();
    feeder->next_probe_ns = feeder->start_ns;
    display_set_stream(feeder->display, feeder->options.stream);
    if (feeder->options.pace == PACE_MAX) {
        feeder->events.begun();
    }
    feed(feeder);
    conclude(feeder);
    feeder->events.finished();
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
    sigset_t all, old;
    int ret;

    feeder->display = display;
    feeder->options = *options;
    feeder->events = *events;
    init_locks(feeder);
    feeder->result.probes = g_array_new(false, false, sizeof(FeederProbe));
    feeder->result.bursts = g_array_new(false, false, sizeof(FeederBurst));

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    ret = pthread_create(&feeder->thread, NULL, run, feeder);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    g_assert(ret == 0);
    return feeder;
}

static void call(Feeder *feeder, unsigned int *calls)
{
    pthread_mutex_lock(&feeder->mutex);
    ++*calls;
    pthread_cond_broadcast(&feeder->changed);
    pthread_mutex_unlock(&feeder->mutex);
}

void feeder_resume(Feeder *feeder)
{
    call(feeder, &feeder->resumes);
}

void feeder_release_end(Feeder *feeder)
{
    call(feeder, &feeder->releases);
}

uint64_t feeder_commands(Feeder *feeder)
{
    return atomic_load(&feeder->commands);
}

FeederState feeder_state(Feeder *feeder)
{
    FeederState state;

    pthread_mutex_lock(&feeder->mutex);
    state = feeder->state == FEEDER_PAUSED && feeder->resumes > 0 ? FEEDER_PLAYING : feeder->state;
    pthread_mutex_unlock(&feeder->mutex);
    return state;
}

void feeder_remind(Feeder *feeder)
{
    QXLCommandExt command;

    if (!can_mark(feeder)) {
        return;
    }
    if (feeder_state(feeder) == FEEDER_PAUSED) {
        command = marker_new(MARKER_PAUSE, feeder->next_pause - 1);
    } else if (feeder->result.status == FEEDER_FED) {
        command = marker_new(MARKER_END, 0);
    } else {
        return;
    }
    display_push(feeder->display, &command, false);
    /* an incomplete burst would hold it back */
    display_release(feeder->display);
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
    g_array_unref(feeder->result.probes);
    g_array_unref(feeder->result.bursts);
    g_free(feeder->result.error);
    pthread_mutex_destroy(&feeder->mutex);
    pthread_cond_destroy(&feeder->changed);
    g_free(feeder);
}
