/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report.h"

#include "../common/clock.h"
#include "../common/json.h"
#include "display.h"

/* Of display 0 as it is: the one that markers and recordings are about. */
#define PICTURE "'sha256': <%@ms>, 'blocks': <%@ms>, 'tiles': <%@ms>"

static const char *const end_names[] = {
    [SESSION_RUNNING] = "running",
    [SESSION_END_MARKER] = "marker",
    [SESSION_END_DISCONNECTED] = "disconnected",
    [SESSION_END_IDLE] = "idle",
    [SESSION_END_KILLED] = "killed",
    [SESSION_END_REFUSED] = "refused",
};

static GVariant *time_or_null(int64_t ns)
{
    return g_variant_new_maybe(G_VARIANT_TYPE_INT64, ns ? g_variant_new_int64(ns) : NULL);
}

static GVariant *taken(char *text)
{
    GVariant *value = json_text(text);

    g_free(text);
    return value;
}

static GVariant *sha256(const Picture *picture)
{
    return taken(picture != NULL ? picture_sha256(picture) : NULL);
}

static GVariant *blocks(const Picture *picture, int side)
{
    return taken(picture != NULL ? picture_blocks(picture, side) : NULL);
}

/* Of each channel; adds them up. */
static GVariant *bytes(const Session *session, int64_t *total)
{
    GVariantBuilder of_channels;

    g_variant_builder_init(&of_channels, G_VARIANT_TYPE("a{sx}"));
    for (guint i = 0; i < session->channels->len; i++) {
        const Channel *channel = session->channels->pdata[i];
        int64_t count = channel_bytes(channel);

        g_variant_builder_add(&of_channels, "{sx}", channel->name, count);
        *total += count;
    }
    return g_variant_builder_end(&of_channels);
}

static GVariant *report_or_null(const Channel *channel, const GVariantType *type)
{
    return g_variant_new_maybe(type, channel != NULL ? channel->kind->report(channel) : NULL);
}

static GVariant *ports(const Session *session)
{
    GVariantBuilder found;

    g_variant_builder_init(&found, G_VARIANT_TYPE_VARDICT);
    for (guint i = 0; i < session->channels->len; i++) {
        const Channel *channel = session->channels->pdata[i];

        if (channel->kind == &port_kind) {
            json_put(&found, channel->name, channel->kind->report(channel));
        }
    }
    return g_variant_builder_end(&found);
}

void report_pause(const Session *session, int number)
{
    const Picture *picture = session_picture(session, 0);

    json_print(g_variant_new_parsed(
        "{'event': <'pause'>, 'n': <%i>, 'time_ns': <%x>, 'missed': <%i>, " PICTURE "}", number,
        session->pause_ns, (int)session->missed, sha256(picture), blocks(picture, PICTURE_BLOCK),
        blocks(picture, PICTURE_TILE)));
}

void report_done(const Session *session)
{
    const GPtrArray *channels = session->channels;
    const Channel *display = channel_find(channels, SPICE_CHANNEL_DISPLAY, 0);
    const Channel *cursor = channel_find(channels, SPICE_CHANNEL_CURSOR, 0);
    const Picture *picture = session_picture(session, 0);
    const bool has_started = session->start_ns != 0;
    const int64_t start_ns = has_started ? session->start_ns : session->end_ns;
    const struct rusage *start = has_started ? &session->start_usage : &session->end_usage;
    const struct rusage *end = &session->end_usage;
    int64_t total = 0;
    GVariant *of_channels = bytes(session, &total);

    json_print(g_variant_new_parsed(
        "{'event': <'done'>, 'end': <%s>, 'bytes': <%@a{sx}>, 'total_bytes': <%x>, 'updates': <%x>,"
        " 'width': <%i>, 'height': <%i>, " PICTURE ", 'cpu_user': <%d>, 'cpu_system': <%d>,"
        " 'seconds': <%d>, 'started_ns': <%@mx>, 'end_ns': <%@mx>, 'probes': <%@a(ix)>,"
        " 'cursor_moves': <%x>, 'cursor_move_times': <%@ma(iix)>, 'inputs': <%@ma{sv}>,"
        " 'audio': <%@ma{sv}>, 'ports': <%@a{sv}>}",
        end_names[session->end], of_channels, total, display != NULL ? display_updates(display) : 0,
        picture != NULL ? picture->width : 0, picture != NULL ? picture->height : 0,
        sha256(picture), blocks(picture, PICTURE_BLOCK), blocks(picture, PICTURE_TILE),
        clock_seconds(start->ru_utime, end->ru_utime), clock_seconds(start->ru_stime, end->ru_stime),
        (session->end_ns - start_ns) / (double)NSEC_PER_SEC, time_or_null(session->start_ns),
        time_or_null(session->end_ns), json_rows("(ix)", session->probes),
        cursor != NULL ? cursor->events : 0,
        report_or_null(session->options->channels ? cursor : NULL, G_VARIANT_TYPE("a(iix)")),
        report_or_null(channel_find(channels, SPICE_CHANNEL_INPUTS, 0), G_VARIANT_TYPE_VARDICT),
        report_or_null(channel_find(channels, SPICE_CHANNEL_PLAYBACK, 0), G_VARIANT_TYPE_VARDICT),
        ports(session)));
}
