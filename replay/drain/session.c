/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session.h"

#include <glib-unix.h>
#include <signal.h>

#include "../common/clock.h"
#include "../common/json.h"
#include "diag.h"
#include "refusal.h"
#include "report.h"

/* The library sends pongs and acks by itself: so many bytes per tick are not progress. */
#define IDLE_NOISE_BYTES 1024
#define TICK_MS 500

#define WATCH_MS 10
#define WATCH_LIMIT_NS (20 * NSEC_PER_SEC)

/* When a server closes, its channels close one after the other, and there may be data to read in
 * those still open. */
#define CLOSING_QUIET_NS (2 * NSEC_PER_SEC)

/* The library closes its channels in a moment, unless one hangs. */
#define DISCONNECT_LIMIT_MS 2000

static void save_png(Session *session)
{
    const Picture *picture = session_picture(session, 0);
    GError *error = NULL;

    session->unsaved = picture == NULL || !picture_save_png(picture, session->options->png, &error);
    if (error != NULL) {
        diag_error("cannot save %s: %s", session->options->png, error->message);
        g_error_free(error);
    } else if (session->unsaved) {
        diag_error("no picture for %s", session->options->png);
    }
}

/* Reports at once: later there is more than at the end. */
static void finish(Session *session, SessionEnd end, int64_t now_ns)
{
    if (session->end != SESSION_RUNNING) {
        return;
    }
    session->end = end;
    if (end != SESSION_END_MARKER) {
        session->end_ns = now_ns;
        getrusage(RUSAGE_SELF, &session->end_usage);
    }
    g_main_loop_quit(session->loop);
    if (end == SESSION_END_REFUSED) {
        return;
    }
    report_done(session);
    if (session->options->png != NULL) {
        save_png(session);
    }
}

/* The end of a very short recording can come before the last channel is open. It waits for that
 * one: then every run has the same channels. */
static void finish_at_marker(Session *session)
{
    if (session->end_shown && session->connected) {
        finish(session, SESSION_END_MARKER, session->end_ns);
    }
}

/* The picture is the result of the commands before the marker. */
static void marker_shown(Session *session)
{
    Marker marker = session->marker;

    session->marker.kind = MARKER_NONE;
    if (marker.kind == MARKER_PAUSE) {
        report_pause(session, marker.number);
    } else if (marker.kind == MARKER_END) {
        session->end_shown = true;
        finish_at_marker(session);
    }
}

/* A number that changes whenever something has arrived. At a pause the player waits for the
 * picture. At the end everything that was sent must be read, as the bytes received must equal those
 * on the wire. The server may then still resend lossy areas without loss, also on surfaces that are
 * not shown. */
static int64_t activity_of(const Session *session)
{
    int64_t activity = channel_find(session->channels, SPICE_CHANNEL_DISPLAY, 0)->events;

    for (guint i = 0; session->marker.kind == MARKER_END && i < session->channels->len; i++) {
        const Channel *channel = session->channels->pdata[i];

        if (channel->type == SPICE_CHANNEL_CURSOR || channel->type == SPICE_CHANNEL_DISPLAY) {
            activity += channel_bytes(channel);
        }
    }
    return activity;
}

static bool is_expecting(const Session *session)
{
    return session->expect != NULL && session->marker.kind == MARKER_PAUSE;
}

/* FALSE when the wait for the marker's picture is over: the expected one is there, or comes too
 * late; or nothing has arrived since the last look. */
static gboolean watch_picture(gpointer opaque)
{
    Session *session = opaque;
    int64_t activity = activity_of(session);
    bool has_changed = activity != session->watched;

    session->watched = activity;
    if (is_expecting(session)) {
        const Picture *picture = session_picture(session, 0);
        int64_t now_ns = clock_ns();
        bool is_shown = has_changed && picture != NULL &&
                        expect_is_shown(session->expect, session->n_pauses - 1, picture);

        if (!is_shown && now_ns < session->pause_ns + WATCH_LIMIT_NS) {
            return G_SOURCE_CONTINUE;
        }
        session->missed = !is_shown;
        session->pause_ns = now_ns;
    } else if (has_changed) {
        return G_SOURCE_CONTINUE;
    }
    session->watch = 0;
    marker_shown(session);
    return G_SOURCE_REMOVE;
}

/* A marker says that all commands before it were decoded. But parts that a server sends as a video
 * stream are then still lossy and late: a second after a stream's last frame the server ends it and
 * sends its area once more, without loss. And a marker says nothing of the other channels: over a
 * slow link the pointer's last shapes come after the end of the display. */
static void wait_for_picture(Session *session, Marker marker)
{
    int wait_ms = marker.kind == MARKER_END ? session->options->settle_end_ms
                                            : session->options->settle_ms;

    /* The player waits at a marker, so that there is one at a time. Another server may not. */
    g_clear_handle_id(&session->watch, g_source_remove);
    marker_shown(session);
    session->marker = marker;
    session->watched = activity_of(session);
    if (is_expecting(session)) {
        session->watched = -1; /* the picture may be there already */
        wait_ms = watch_picture(session) ? WATCH_MS : 0;
    }
    if (wait_ms > 0) {
        session->watch = g_timeout_add(wait_ms, watch_picture, session);
    } else {
        marker_shown(session);
    }
}

static void on_marker(Marker marker, int64_t now_ns, void *opaque)
{
    Session *session = opaque;
    Probe probe = { marker.number, now_ns };

    if (session->end != SESSION_RUNNING) {
        return;
    }
    switch (marker.kind) {
    case MARKER_PROBE:
        g_array_append_val(session->probes, probe);
        break;
    case MARKER_PAUSE:
        /* the player may have sent the marker again */
        if (marker.number != session->last_pause) {
            session->last_pause = marker.number;
            session->pause_ns = now_ns;
            session->n_pauses++;
            wait_for_picture(session, marker);
        }
        break;
    case MARKER_END:
        if (session->options->no_end || session->end_ns != 0) {
            break;
        }
        session->end_ns = now_ns;
        getrusage(RUSAGE_SELF, &session->end_usage);
        wait_for_picture(session, marker);
        break;
    case MARKER_NONE:
        break;
    }
}

static Channel *find_by_spice(const Session *session, SpiceChannel *spice)
{
    for (guint i = 0; i < session->channels->len; i++) {
        Channel *channel = session->channels->pdata[i];

        if (channel->spice == spice) {
            return channel;
        }
    }
    return NULL;
}

static guint count_channels(const Session *session, ChannelState state)
{
    guint count = 0;

    for (guint i = 0; i < session->channels->len; i++) {
        count += ((const Channel *)session->channels->pdata[i])->state == state;
    }
    return count;
}

static void channel_opened(Session *session, Channel *channel)
{
    bool reopened = channel->state == CHANNEL_REOPENING;

    channel->state = CHANNEL_OPEN;
    if (reopened) {
        json_event("reopened");
        return;
    }
    if (channel->type == SPICE_CHANNEL_DISPLAY && channel->id == 0) {
        session->start_ns = clock_ns();
        getrusage(RUSAGE_SELF, &session->start_usage);
    }
    if (channel->kind->opened != NULL) {
        channel->kind->opened(channel);
    }
    /* The main channel opens alone and brings the list of the others. */
    if (!session->connected && session->channels->len > 1 &&
        count_channels(session, CHANNEL_OPEN) == session->channels->len) {
        session->connected = true;
        json_event("connected");
        finish_at_marker(session);
    }
}

static void channel_closed(Session *session, Channel *channel)
{
    channel->state = CHANNEL_CLOSED;
    if (count_channels(session, CHANNEL_CLOSED) == session->channels->len) {
        finish(session, SESSION_END_DISCONNECTED, clock_ns());
    }
}

static void on_channel_event(SpiceChannel *spice, SpiceChannelEvent event, Session *session)
{
    Channel *channel = find_by_spice(session, spice);

    if (session->end != SESSION_RUNNING) {
        return;
    }
    if (event == SPICE_CHANNEL_OPENED) {
        channel_opened(session, channel);
    } else if (event == SPICE_CHANNEL_CLOSED && channel->state == CHANNEL_REOPENING) {
        spice_channel_connect(spice);
    } else if (event == SPICE_CHANNEL_CLOSED) {
        channel_closed(session, channel);
    } else if (event >= SPICE_CHANNEL_ERROR_CONNECT) {
        /* Once open, a channel that breaks is as good as closed. */
        if (channel->state == CHANNEL_CONNECTING) {
            session->refusal = refusal_text(session->options, channel, event);
            finish(session, SESSION_END_REFUSED, clock_ns());
        } else {
            channel_closed(session, channel);
        }
    }
}

static void on_channel_new(SpiceSession *spice_session G_GNUC_UNUSED, SpiceChannel *spice,
                           Session *session)
{
    Channel *channel = channel_new(spice, session->options);

    /* A live guest draws no markers, but a drawing of its own may look like one. */
    if (channel->type == SPICE_CHANNEL_DISPLAY && channel->id == 0 && !session->options->control) {
        display_set_marker_func(channel, on_marker, session);
    }
    g_ptr_array_add(session->channels, channel);
    g_signal_connect(spice, "channel-event", G_CALLBACK(on_channel_event), session);
    /* The library connects the main channel itself. */
    if (channel->type != SPICE_CHANNEL_MAIN) {
        spice_channel_connect(spice);
    }
}

static gboolean on_tick(gpointer opaque)
{
    Session *session = opaque;
    int64_t now_ns = clock_ns();
    int64_t events = 0;
    int64_t bytes = 0;

    for (guint i = 0; i < session->channels->len; i++) {
        const Channel *channel = session->channels->pdata[i];

        events += channel->events + channel->state;
        bytes += channel_bytes(channel);
    }
    if (events != session->seen_events || bytes - session->seen_bytes > IDLE_NOISE_BYTES) {
        session->progress_ns = now_ns;
    }
    session->seen_events = events;
    session->seen_bytes = bytes;

    int64_t quiet_ns = now_ns - session->progress_ns;

    if (count_channels(session, CHANNEL_CLOSED) > 0 && quiet_ns >= CLOSING_QUIET_NS) {
        finish(session, SESSION_END_DISCONNECTED, now_ns);
    } else if (quiet_ns >= session->options->idle_seconds * NSEC_PER_SEC) {
        finish(session, SESSION_END_IDLE, now_ns);
    }
    return G_SOURCE_CONTINUE;
}

static gboolean on_signal(gpointer opaque)
{
    finish(opaque, SESSION_END_KILLED, clock_ns());
    return G_SOURCE_CONTINUE;
}

static void set_port(SpiceSession *spice, const char *property, int port)
{
    char *digits = g_strdup_printf("%d", port);

    if (port != 0) {
        g_object_set(spice, property, digits, NULL);
    }
    g_free(digits);
}

static SpiceSession *new_spice_session(const Options *options)
{
    SpiceSession *spice = spice_session_new();

    /* A picture that lives in GPU memory cannot be read here. */
    g_object_set(spice, "gl-scanout", FALSE, "ca-file", options->ca_file, NULL);
    if (options->unix_path != NULL) {
        g_object_set(spice, "unix-path", options->unix_path, NULL);
    } else {
        g_object_set(spice, "host", options->host, NULL);
        set_port(spice, "port", options->port);
        set_port(spice, "tls-port", options->tls_port);
    }
    return spice;
}

static gboolean quit_loop(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_CONTINUE;
}

/* The library emits "disconnected" when the last reference to a channel is gone, so ours are
 * released first. */
static void disconnect(Session *session)
{
    guint timer = g_timeout_add(DISCONNECT_LIMIT_MS, quit_loop, session->loop);

    for (guint i = 0; i < session->channels->len; i++) {
        const Channel *channel = session->channels->pdata[i];

        g_signal_handlers_disconnect_by_data(channel->spice, session);
    }
    g_signal_handlers_disconnect_by_data(session->spice, session);
    g_ptr_array_set_size(session->channels, 0);
    g_signal_connect_swapped(session->spice, "disconnected", G_CALLBACK(g_main_loop_quit),
                             session->loop);
    spice_session_disconnect(session->spice);
    g_main_loop_run(session->loop);
    g_source_remove(timer);
}

Session *session_new(const Options *options, Expect *expect)
{
    Session *session = g_new0(Session, 1);

    session->options = options;
    session->expect = expect;
    session->spice = new_spice_session(options);
    session->loop = g_main_loop_new(NULL, FALSE);
    session->channels = g_ptr_array_new_with_free_func((GDestroyNotify)channel_free);
    session->last_pause = -1;
    session->probes = g_array_new(FALSE, FALSE, sizeof(Probe));
    return session;
}

void session_run(Session *session)
{
    guint sources[] = {
        g_timeout_add(TICK_MS, on_tick, session),
        g_unix_signal_add(SIGTERM, on_signal, session),
        g_unix_signal_add(SIGINT, on_signal, session),
    };

    session->progress_ns = clock_ns();
    g_signal_connect(session->spice, "channel-new", G_CALLBACK(on_channel_new), session);
    spice_session_connect(session->spice);
    g_main_loop_run(session->loop);
    for (size_t i = 0; i < G_N_ELEMENTS(sources); i++) {
        g_source_remove(sources[i]);
    }
    g_clear_handle_id(&session->watch, g_source_remove);
}

void session_free(Session *session)
{
    disconnect(session);
    g_ptr_array_unref(session->channels);
    g_array_unref(session->probes);
    g_object_unref(session->spice);
    g_main_loop_unref(session->loop);
    g_free(session->refusal);
    g_free(session);
}

const Picture *session_picture(const Session *session, int id)
{
    const Channel *channel = channel_find(session->channels, SPICE_CHANNEL_DISPLAY, id);

    return channel != NULL ? display_picture(channel) : NULL;
}

bool session_reopen_display(const Session *session, int id)
{
    Channel *channel = channel_find(session->channels, SPICE_CHANNEL_DISPLAY, id);

    if (!session->connected || id == 0 || channel == NULL || channel->state != CHANNEL_OPEN) {
        return false;
    }
    channel->state = CHANNEL_REOPENING;
    spice_channel_disconnect(channel->spice, SPICE_CHANNEL_NONE);
    return true;
}
