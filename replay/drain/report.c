/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report.h"

#include "../common/clock.h"
#include "../common/json.h"
#include "display.h"

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

static void put_int(GVariantBuilder *said, const char *name, int64_t value)
{
    json_put(said, name, g_variant_new_int64(value));
}

static void report_bytes(const Session *session, GVariantBuilder *said)
{
    GVariantBuilder of_channels;
    int64_t total = 0;

    g_variant_builder_init(&of_channels, G_VARIANT_TYPE("a{sx}"));
    for (guint i = 0; i < session->channels->len; i++) {
        const Channel *channel = session->channels->pdata[i];
        int64_t bytes = channel_bytes(channel);

        g_variant_builder_add(&of_channels, "{sx}", channel->name, bytes);
        total += bytes;
    }
    json_put(said, "bytes", g_variant_builder_end(&of_channels));
    put_int(said, "total_bytes", total);
}

/* Of display 0 as it is: the one that markers and recordings are about. */
static void report_picture(const Session *session, GVariantBuilder *said)
{
    const Picture *picture = session_picture(session, 0);
    char *sha256 = picture != NULL ? picture_sha256(picture) : NULL;
    char *blocks = picture != NULL ? picture_blocks(picture, PICTURE_BLOCK) : NULL;
    char *tiles = picture != NULL ? picture_blocks(picture, PICTURE_TILE) : NULL;

    json_put(said, "sha256", json_text(sha256));
    json_put(said, "blocks", json_text(blocks));
    json_put(said, "tiles", json_text(tiles));
    g_free(tiles);
    g_free(blocks);
    g_free(sha256);
}

static void report_display(const Session *session, GVariantBuilder *said)
{
    const Channel *first = channel_find(session->channels, SPICE_CHANNEL_DISPLAY, 0);
    const Picture *picture = first != NULL ? display_picture(first) : NULL;

    put_int(said, "updates", first != NULL ? display_updates(first) : 0);
    put_int(said, "width", picture != NULL ? picture->width : 0);
    put_int(said, "height", picture != NULL ? picture->height : 0);
    report_picture(session, said);
}

static void report_times(const Session *session, GVariantBuilder *said)
{
    int64_t start_ns = session->start_ns != 0 ? session->start_ns : session->end_ns;
    const struct rusage *start = session->start_ns != 0 ? &session->start_usage : &session->end_usage;
    const struct rusage *end = &session->end_usage;

    json_put(said, "cpu_user",
             g_variant_new_double(clock_seconds(start->ru_utime, end->ru_utime)));
    json_put(said, "cpu_system",
             g_variant_new_double(clock_seconds(start->ru_stime, end->ru_stime)));
    json_put(said, "seconds", g_variant_new_double((session->end_ns - start_ns) / (double)NSEC_PER_SEC));
    json_put(said, "started_ns", time_or_null(session->start_ns));
    json_put(said, "end_ns", time_or_null(session->end_ns));
}

static GVariant *report_or_null(const Session *session, int type)
{
    const Channel *channel = channel_find(session->channels, type, 0);

    return g_variant_new_maybe(G_VARIANT_TYPE_VARDICT,
                               channel != NULL ? channel->kind->report(channel) : NULL);
}

static void report_channels(const Session *session, GVariantBuilder *said)
{
    const Channel *cursor = channel_find(session->channels, SPICE_CHANNEL_CURSOR, 0);
    GVariantBuilder ports;

    put_int(said, "cursor_moves", cursor != NULL ? cursor->events : 0);
    if (session->options->channels && cursor != NULL) {
        json_put(said, "cursor_move_times", cursor->kind->report(cursor));
    }
    json_put(said, "inputs", report_or_null(session, SPICE_CHANNEL_INPUTS));
    json_put(said, "audio", report_or_null(session, SPICE_CHANNEL_PLAYBACK));
    g_variant_builder_init(&ports, G_VARIANT_TYPE_VARDICT);
    for (guint i = 0; i < session->channels->len; i++) {
        const Channel *channel = session->channels->pdata[i];

        if (channel->kind == &port_kind) {
            json_put(&ports, channel->name, channel->kind->report(channel));
        }
    }
    json_put(said, "ports", g_variant_builder_end(&ports));
}

static void open_event(GVariantBuilder *said, const char *name)
{
    g_variant_builder_init(said, G_VARIANT_TYPE_VARDICT);
    json_put(said, "event", json_text(name));
}

void report_pause(const Session *session, int number)
{
    GVariantBuilder said;

    open_event(&said, "pause");
    put_int(&said, "n", number);
    put_int(&said, "time_ns", session->pause_ns);
    put_int(&said, "missed", session->missed);
    report_picture(session, &said);
    json_print(g_variant_builder_end(&said));
}

void report_done(const Session *session)
{
    GVariantBuilder said;

    open_event(&said, "done");
    json_put(&said, "end", json_text(end_names[session->end]));
    report_bytes(session, &said);
    report_display(session, &said);
    report_times(session, &said);
    json_put(&said, "probes", json_rows("(ix)", session->probes));
    report_channels(session, &said);
    json_print(g_variant_builder_end(&said));
}
