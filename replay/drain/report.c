/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report.h"

#include "../common/clock.h"

static const char *const end_names[] = {
    [SESSION_RUNNING] = "running",
    [SESSION_END_MARKER] = "marker",
    [SESSION_END_DISCONNECTED] = "disconnected",
    [SESSION_END_IDLE] = "idle",
    [SESSION_END_KILLED] = "killed",
    [SESSION_END_REFUSED] = "refused",
};

static void put_time(JsonBuilder *json, const char *name, int64_t ns)
{
    if (ns == 0) {
        json_put_string(json, name, NULL);
    } else {
        json_put_int(json, name, ns);
    }
}

static void report_bytes(const Session *session, JsonBuilder *json)
{
    int64_t total = 0;

    json_builder_set_member_name(json, "bytes");
    json_builder_begin_object(json);
    for (guint i = 0; i < session->channels->len; i++) {
        const Channel *channel = session->channels->pdata[i];
        int64_t bytes = channel_bytes(channel);

        json_put_int(json, channel->name, bytes);
        total += bytes;
    }
    json_builder_end_object(json);
    json_put_int(json, "total_bytes", total);
}

/* Of display 0 as it is: the one that markers and recordings are about. */
static void report_picture(const Session *session, JsonBuilder *json)
{
    const Picture *picture = session_picture(session, 0);
    char *sha256 = picture != NULL ? picture_sha256(picture) : NULL;
    char *blocks = picture != NULL ? picture_blocks(picture, PICTURE_BLOCK) : NULL;
    char *tiles = picture != NULL ? picture_blocks(picture, PICTURE_TILE) : NULL;

    json_put_string(json, "sha256", sha256);
    json_put_string(json, "blocks", blocks);
    json_put_string(json, "tiles", tiles);
    g_free(tiles);
    g_free(blocks);
    g_free(sha256);
}

static void report_display(const Session *session, JsonBuilder *json)
{
    const Channel *first = session_find(session, SPICE_CHANNEL_DISPLAY, 0);
    const Picture *picture = session_picture(session, 0);

    json_put_int(json, "updates", first != NULL ? display_updates(first->display) : 0);
    json_put_int(json, "width", picture != NULL ? picture->width : 0);
    json_put_int(json, "height", picture != NULL ? picture->height : 0);
    report_picture(session, json);
}

static void report_probes(const Session *session, JsonBuilder *json)
{
    json_builder_set_member_name(json, "probes");
    json_builder_begin_array(json);
    for (guint i = 0; i < session->probes->len; i++) {
        const Probe *probe = &g_array_index(session->probes, Probe, i);

        json_builder_begin_array(json);
        json_builder_add_int_value(json, probe->number);
        json_builder_add_int_value(json, probe->now_ns);
        json_builder_end_array(json);
    }
    json_builder_end_array(json);
}

static double seconds_between(struct timeval start, struct timeval end)
{
    return (end.tv_sec - start.tv_sec) + (end.tv_usec - start.tv_usec) / 1e6;
}

static void report_times(const Session *session, JsonBuilder *json)
{
    int64_t start_ns = session->start_ns != 0 ? session->start_ns : session->end_ns;
    const struct rusage *start = session->start_ns != 0 ? &session->start_usage
                                                        : &session->end_usage;

    json_put_real(json, "cpu_user",
                  seconds_between(start->ru_utime, session->end_usage.ru_utime));
    json_put_real(json, "cpu_system",
                  seconds_between(start->ru_stime, session->end_usage.ru_stime));
    json_put_real(json, "seconds", (session->end_ns - start_ns) / (double)NSEC_PER_SEC);
    put_time(json, "started_ns", session->start_ns);
    put_time(json, "end_ns", session->end_ns);
}

static void report_pointer(const Session *session, JsonBuilder *json)
{
    const Channel *cursor = session_find(session, SPICE_CHANNEL_CURSOR, 0);
    const Channel *inputs = session_find(session, SPICE_CHANNEL_INPUTS, 0);

    json_put_int(json, "cursor_moves", cursor != NULL ? cursor_moves(cursor->cursor) : 0);
    if (session->options->channels && cursor != NULL) {
        json_builder_set_member_name(json, "cursor_move_times");
        cursor_report_moves(cursor->cursor, json);
    }
    json_builder_set_member_name(json, "inputs");
    if (inputs != NULL) {
        inputs_report(inputs->inputs, json);
    } else {
        json_builder_add_null_value(json);
    }
}

static void report_sound(const Session *session, JsonBuilder *json)
{
    const Channel *playback = session_find(session, SPICE_CHANNEL_PLAYBACK, 0);

    json_builder_set_member_name(json, "audio");
    if (playback != NULL) {
        playback_report(playback->playback, json);
    } else {
        json_builder_add_null_value(json);
    }
}

static void report_ports(const Session *session, JsonBuilder *json)
{
    json_builder_set_member_name(json, "ports");
    json_builder_begin_object(json);
    for (guint i = 0; i < session->channels->len; i++) {
        const Channel *channel = session->channels->pdata[i];

        if (channel->port != NULL) {
            json_builder_set_member_name(json, channel->name);
            port_report(channel->port, json);
        }
    }
    json_builder_end_object(json);
}

static JsonBuilder *open_event(const char *name)
{
    JsonBuilder *json = json_builder_new();

    json_builder_begin_object(json);
    json_put_string(json, "event", name);
    return json;
}

static void print_event(JsonBuilder *json)
{
    json_builder_end_object(json);
    json_print(json);
}

void report_connected(void)
{
    print_event(open_event("connected"));
}

void report_reopened(void)
{
    print_event(open_event("reopened"));
}

void report_pause(const Session *session, int number)
{
    JsonBuilder *json = open_event("pause");

    json_put_int(json, "n", number);
    json_put_int(json, "time_ns", session->pause_ns);
    json_put_int(json, "missed", session->missed);
    report_picture(session, json);
    print_event(json);
}

void report_done(const Session *session)
{
    JsonBuilder *json = open_event("done");

    json_put_string(json, "end", end_names[session->end]);
    report_bytes(session, json);
    report_display(session, json);
    report_times(session, json);
    report_probes(session, json);
    report_pointer(session, json);
    report_sound(session, json);
    report_ports(session, json);
    print_event(json);
}
