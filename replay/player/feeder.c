/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "feeder.h"

#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"
#include "marker.h"

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

    GMutex mutex;
    GCond changed;              /* is_stopping, resumes */
    bool is_stopping;
    unsigned int resumes;
    _Atomic Waiting waiting;

    Recording *recording;
    SpiceReplay *replay;
    RecordingEvent event;       /* the one the library is reading */
    GByteArray *bytes;          /* of the event, as the library is to read it */
    size_t pos;
    unsigned int added;         /* commands in the bytes that are not in the recording */
    unsigned int added_ahead;   /* those that the library will give next */
    bool at_end;
    uint32_t message_size;      /* of the last message command */
    RecordingSurface primary;   /* of size 0 when there is none */

    int64_t start_ns;
    uint64_t first_timestamp;
    int64_t next_probe_ns;
    unsigned int next_pause;
    GArray *probes;
    atomic_uint_fast64_t commands;
    FeederResult result;
};

static bool is_stopping(Feeder *feeder)
{
    bool stopping;

    g_mutex_lock(&feeder->mutex);
    stopping = feeder->is_stopping;
    g_mutex_unlock(&feeder->mutex);
    return stopping;
}

static bool can_mark(const Feeder *feeder)
{
    return feeder->primary.width >= MARKER_PRIMARY_MIN &&
        feeder->primary.height >= MARKER_PRIMARY_MIN;
}

static void push_marker(Feeder *feeder, MarkerKind kind, unsigned int number)
{
    QXLCommandExt command = marker_new(kind, number);

    display_push(feeder->display, &command);
}

/* The time counts from when the probe was due to be drawn, waiting for room included. */
static void push_probe(Feeder *feeder, int64_t now)
{
    FeederProbe probe = { feeder->probes->len, now };

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
    feeder->next_probe_ns = MAX(feeder->next_probe_ns + step, now);
}

/* Sleeps until then or until told to stop. */
static void sleep_until(Feeder *feeder, int64_t until_ns)
{
    g_mutex_lock(&feeder->mutex);
    if (!feeder->is_stopping) {
        g_cond_wait_until(&feeder->changed, &feeder->mutex,
                          g_get_monotonic_time() + (until_ns - clock_ns()) / 1000 + 1);
    }
    g_mutex_unlock(&feeder->mutex);
}

/* The event's recorded time since the recording began. */
static uint64_t recorded_time(Feeder *feeder)
{
    const RecordingEvent *event = &feeder->event;

    if (feeder->options.timeline) {
        return recording_timeline_due(feeder->options.timeline, event);
    }
    if (event->number == 0) {
        feeder->first_timestamp = event->timestamp;
    }
    return event->timestamp - MIN(event->timestamp, feeder->first_timestamp);
}

/* Waits for the event's recorded time, drawing the probes that come due meanwhile. */
static void wait_for_recorded_time(Feeder *feeder)
{
    const FeederOptions *options = &feeder->options;
    uint64_t recorded = recorded_time(feeder);
    int64_t due, now;

    if (options->pace == PACE_MAX) {
        return;
    }
    due = feeder->start_ns + recorded / options->pace;
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

/* Destroyed surfaces whose numbers are not free yet: their commands are in the ring or
 * what was drawn with them is in the pipe. More than both hold. */
#define SURFACES_IN_FLIGHT 256

/*
 * Whether the worker has to catch up before the library reads the event: some
 * messages act on all that was drawn before (the reader passes over the
 * others), and for a new surface the reader may wait until the worker has
 * destroyed another.
 */
static bool needs_worker(Feeder *feeder)
{
    const RecordingEvent *event = &feeder->event;

    return recording_event_creates_primary(event) ||
        (!event->is_command && (event->type == RECORDING_MESSAGE_DESTROY_PRIMARY ||
                                event->type == RECORDING_MESSAGE_DESTROY_SURFACES)) ||
        recording_surfaces(feeder->recording)->live + SURFACES_IN_FLIGHT >= RECORDING_SURFACES_MAX;
}

/* The library has read all of the event; what to remember of it. */
static void event_done(Feeder *feeder)
{
    const RecordingEvent *event = &feeder->event;

    if (event->is_command) {
        feeder->message_size = event->type == QXL_CMD_MESSAGE ? event->block_bytes : 0;
    } else if (recording_event_creates_primary(event)) {
        feeder->primary = event->surface;
    } else if (event->type == RECORDING_MESSAGE_DESTROY_PRIMARY ||
               event->type == RECORDING_MESSAGE_DESTROY_SURFACES) {
        /* the asynchronous kinds are passed over by the library's reader */
        memset(&feeder->primary, 0, sizeof(feeder->primary));
    }
}

static bool destroys_surfaces(const RecordingEvent *event)
{
    return !event->is_command && (event->type == RECORDING_MESSAGE_DESTROY_SURFACES ||
                                  event->type == RECORDING_MESSAGE_DESTROY_SURFACES_ASYNC);
}

/*
 * The library's reader gives each surface a number and takes it back at the
 * surface's destroy command. A message that destroys all surfaces gives none
 * back, and the asynchronous one is passed over: soon no number would be left.
 * So such a message is preceded by a destroy command for each.
 */
static void add_destroy_commands(Feeder *feeder)
{
    const RecordingSurfaces *surfaces = recording_surfaces(feeder->recording);

    for (unsigned int id = 1; id < RECORDING_SURFACES_MAX; id++) {
        char *text;

        if (surfaces->surface[id].state != SURFACE_DYING) {
            continue;
        }
        text = g_strdup_printf("event 0 0 %d %" G_GUINT64_FORMAT "\nsurface_cmd\n"
                               "surface_id %u\ntype %d\nflags 0\n", QXL_CMD_SURFACE,
                               feeder->event.timestamp, id, QXL_SURFACE_CMD_DESTROY);
        g_byte_array_append(feeder->bytes, (const uint8_t *) text, strlen(text));
        g_free(text);
        feeder->added++;
    }
}

/* Reads and checks one event more. False at the end, damage included. */
static bool next_event(Feeder *feeder)
{
    const uint8_t *bytes;
    size_t size;

    do {
        event_done(feeder);
        if (!recording_next(feeder->recording, &feeder->event)) {
            feeder->at_end = true;
            return false;
        }
        /* its surface is gone by a command of ours */
        atomic_fetch_add(&feeder->commands, feeder->event.is_moot);
    } while (feeder->event.is_moot);
    g_byte_array_set_size(feeder->bytes, 0);
    if (destroys_surfaces(&feeder->event)) {
        add_destroy_commands(feeder);
    }
    bytes = recording_bytes(feeder->recording, &size);
    g_byte_array_append(feeder->bytes, bytes, size);
    feeder->pos = 0;
    return true;
}

/*
 * What the library reads, an event at a time. To skip white space it always
 * reads one byte past an event, so an event's first byte is given out alone
 * and at once; when it wants the second, all events before are done and it is
 * this one's turn.
 */
static ssize_t stream_read(void *cookie, char *buf, size_t size)
{
    Feeder *feeder = cookie;

    if (is_stopping(feeder)) {
        return 0;
    }
    if (feeder->pos == feeder->bytes->len && !next_event(feeder)) {
        return 0;
    }
    if (feeder->pos == 0) {
        size = 1;
    } else if (feeder->pos == 1) {
        feeder->added_ahead += feeder->added;
        feeder->added = 0;
        wait_for_recorded_time(feeder);
        if (needs_worker(feeder)) {
            display_release(feeder->display);
        }
    }
    size = MIN(size, feeder->bytes->len - feeder->pos);
    memcpy(buf, feeder->bytes->data + feeder->pos, size);
    feeder->pos += size;
    return size;
}

/* NULL if the library does not want it. */
static SpiceReplay *open_replay(Feeder *feeder)
{
    static const cookie_io_functions_t functions = { .read = stream_read };
    FILE *stream = fopencookie(feeder, "r", functions);
    SpiceReplay *replay;

    g_byte_array_append(feeder->bytes, (const uint8_t *) RECORDING_HEADER,
                        strlen(RECORDING_HEADER));
    replay = spice_replay_new(stream, RECORDING_SURFACES_MAX);
    if (!replay) {
        fclose(stream);
    }
    return replay;
}

/*
 * The library's reader neither ends a message's text with a 0, which its
 * worker looks for, nor says whom to release it to.
 */
static void complete_message(QXLCommandExt *command, uint32_t size)
{
    QXLMessage *message = (QXLMessage *) (uintptr_t) command->cmd.data;

    message = g_realloc(message, sizeof(*message) + size + 1);
    message->data[size] = 0;
    message->release_info.id = (uintptr_t) command;
    command->cmd.data = (uintptr_t) message;
}

/* Waits for feeder_resume. False when told to stop. */
static bool wait_for_resume(Feeder *feeder)
{
    bool stopping;

    display_release(feeder->display);
    atomic_store(&feeder->waiting, WAITING_FOR_RESUME);
    g_mutex_lock(&feeder->mutex);
    while (feeder->resumes == 0 && !feeder->is_stopping) {
        g_cond_wait(&feeder->changed, &feeder->mutex);
    }
    if (feeder->resumes > 0) {
        feeder->resumes--;
    }
    atomic_store(&feeder->waiting, WAITING_FOR_NOTHING);
    stopping = feeder->is_stopping;
    g_mutex_unlock(&feeder->mutex);
    return !stopping;
}

/* Pauses take recorded time off the clock, so that the rest keeps its pace. */
static bool pause_if_due(Feeder *feeder, uint64_t commands)
{
    const FeederOptions *options = &feeder->options;
    int64_t begin = clock_ns();

    while (feeder->next_pause < options->n_pauses &&
           options->pauses[feeder->next_pause] <= commands) {
        unsigned int number = feeder->next_pause++;

        if (can_mark(feeder)) {
            push_marker(feeder, MARKER_PAUSE, number);
        }
        feeder->events.paused(feeder->events.opaque, number, commands);
        if (!wait_for_resume(feeder)) {
            return false;
        }
        feeder->start_ns += clock_ns() - begin;
    }
    return true;
}

static void feed(Feeder *feeder)
{
    QXLInstance *instance = display_instance(feeder->display);
    QXLCommandExt *command;

    while ((command = spice_replay_next_cmd(feeder->replay, instance)) != NULL) {
        uint64_t commands;

        if (command->cmd.type == QXL_CMD_MESSAGE) {
            complete_message(command, feeder->message_size);
        }
        probe_if_due(feeder, clock_ns());
        if (!display_push(feeder->display, command)) {
            return;
        }
        if (feeder->added_ahead > 0) {
            feeder->added_ahead--;
            continue;
        }
        commands = atomic_fetch_add(&feeder->commands, 1) + 1;
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
    result->error = recording_error(feeder->recording, &result->error_offset);
    if (result->error) {
        result->status = FEEDER_DAMAGED;
    } else if (is_stopping(feeder)) {
        result->status = FEEDER_STOPPED;
    } else if (!feeder->at_end) {
        result->status = FEEDER_DAMAGED;
        result->error = "the library's reader gives up on this event";
        result->error_offset = feeder->event.start;
    } else {
        result->status = can_mark(feeder) ? FEEDER_FED : FEEDER_FED_WITHOUT_MARKER;
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

    feeder->start_ns = clock_ns();
    feeder->next_probe_ns = feeder->start_ns;
    feeder->replay = open_replay(feeder);
    if (feeder->replay) {
        display_set_replay(feeder->display, feeder->replay);
        feed(feeder);
    }
    conclude(feeder);
    feeder->events.finished(feeder->events.opaque);
    return NULL;
}

Feeder *feeder_start(Display *display, const FeederOptions *options, const FeederEvents *events)
{
    Feeder *feeder = g_new0(Feeder, 1);
    sigset_t all, old;
    int ret;

    feeder->display = display;
    feeder->options = *options;
    feeder->events = *events;
    g_mutex_init(&feeder->mutex);
    g_cond_init(&feeder->changed);
    feeder->probes = g_array_new(false, false, sizeof(FeederProbe));
    feeder->bytes = g_byte_array_new();
    feeder->recording = recording_new(options->input);
    recording_keep_bytes(feeder->recording);

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    ret = pthread_create(&feeder->thread, NULL, run, feeder);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    g_assert(ret == 0);
    return feeder;
}

void feeder_resume(Feeder *feeder)
{
    g_mutex_lock(&feeder->mutex);
    feeder->resumes++;
    g_cond_broadcast(&feeder->changed);
    g_mutex_unlock(&feeder->mutex);
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

    g_mutex_lock(&feeder->mutex);
    paused = atomic_load(&feeder->waiting) == WAITING_FOR_RESUME && feeder->resumes == 0;
    g_mutex_unlock(&feeder->mutex);
    return paused;
}

void feeder_stop(Feeder *feeder)
{
    g_mutex_lock(&feeder->mutex);
    feeder->is_stopping = true;
    g_cond_broadcast(&feeder->changed);
    g_mutex_unlock(&feeder->mutex);
}

bool feeder_join(Feeder *feeder, unsigned int seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    return pthread_timedjoin_np(feeder->thread, NULL, &until) == 0;
}

const FeederResult *feeder_result(Feeder *feeder)
{
    return &feeder->result;
}

void feeder_free(Feeder *feeder)
{
    if (feeder->replay) {
        spice_replay_free(feeder->replay);
    }
    recording_free(feeder->recording);
    g_byte_array_unref(feeder->bytes);
    g_array_unref(feeder->probes);
    g_mutex_clear(&feeder->mutex);
    g_cond_clear(&feeder->changed);
    g_free(feeder);
}
