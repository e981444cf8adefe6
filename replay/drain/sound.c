/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sound.h"

#include <math.h>

#include "../common/clock.h"
#include "../common/sound-number.h"

#define TONE_HZ 440
#define TONE_AMPLITUDE 8000
#define TONE_INTERVAL_MS 10

typedef struct Stamp {
    int number;
    int64_t now_ns;
} Stamp;

struct Playback {
    SpiceChannel *channel;
    int64_t packets;
    int64_t bytes;
    GArray *stamps; /* Stamp */
    int num_channels;
    int frequency;
};

struct Record {
    SpiceChannel *channel;
    guint timer; /* source id while the server records, otherwise 0 */
    int num_channels;
    int frequency;
    int64_t frames;  /* sent since the start: the tone's phase */
    int64_t packets;
    int64_t bytes;
};

static void on_playback_start(SpiceChannel *channel G_GNUC_UNUSED, gint format G_GNUC_UNUSED,
                              gint num_channels, gint frequency, Playback *playback)
{
    playback->num_channels = num_channels;
    playback->frequency = frequency;
}

static void stamp(Playback *playback, const int16_t *samples, gint size, int64_t now_ns)
{
    Stamp stamp = { .now_ns = now_ns };

    if (playback->num_channels == 2) {
        stamp.number = sound_number_read(samples, size / (2 * sizeof(*samples)));
        g_array_append_val(playback->stamps, stamp);
    }
}

static void on_playback_data(SpiceChannel *channel G_GNUC_UNUSED, gpointer data,
                             gint size, Playback *playback)
{
    stamp(playback, data, size, clock_ns());
    playback->packets++;
    playback->bytes += size;
}

Playback *playback_new(SpiceChannel *channel)
{
    Playback *playback = g_new0(Playback, 1);

    playback->channel = g_object_ref(channel);
    playback->stamps = g_array_new(FALSE, FALSE, sizeof(Stamp));
    g_signal_connect(channel, "playback-start", G_CALLBACK(on_playback_start), playback);
    g_signal_connect(channel, "playback-data", G_CALLBACK(on_playback_data), playback);
    return playback;
}

void playback_free(Playback *playback)
{
    g_signal_handlers_disconnect_by_data(playback->channel, playback);
    g_object_unref(playback->channel);
    g_array_unref(playback->stamps);
    g_free(playback);
}

int64_t playback_packets(const Playback *playback)
{
    return playback->packets;
}

void playback_report(const Playback *playback, JsonBuilder *json)
{
    json_builder_begin_object(json);
    json_put_int(json, "packets", playback->packets);
    json_put_int(json, "bytes", playback->bytes);
    json_put_int(json, "rate", playback->frequency);
    json_builder_set_member_name(json, "stamps");
    json_builder_begin_array(json);
    for (guint i = 0; i < playback->stamps->len; i++) {
        const Stamp *stamp = &g_array_index(playback->stamps, Stamp, i);

        json_builder_begin_array(json);
        json_builder_add_int_value(json, stamp->number);
        json_builder_add_int_value(json, stamp->now_ns);
        json_builder_end_array(json);
    }
    json_builder_end_array(json);
    json_builder_end_object(json);
}

static gboolean send_tone(gpointer opaque)
{
    Record *record = opaque;
    int num_frames = record->frequency * TONE_INTERVAL_MS / 1000;
    gsize num_bytes = num_frames * record->num_channels * sizeof(int16_t);
    int16_t *samples = g_malloc(num_bytes);
    int16_t *sample = samples;

    for (int i = 0; i < num_frames; i++) {
        double angle = 2 * G_PI * TONE_HZ * record->frames++ / record->frequency;

        for (int c = 0; c < record->num_channels; c++) {
            *sample++ = TONE_AMPLITUDE * sin(angle);
        }
    }
    spice_record_channel_send_data(SPICE_RECORD_CHANNEL(record->channel), samples, num_bytes,
                                   clock_ns() / NSEC_PER_MSEC);
    g_free(samples);
    record->packets++;
    record->bytes += num_bytes;
    return G_SOURCE_CONTINUE;
}

static void on_record_start(SpiceChannel *channel G_GNUC_UNUSED, gint format G_GNUC_UNUSED,
                            gint num_channels, gint frequency, Record *record)
{
    g_clear_handle_id(&record->timer, g_source_remove);
    record->num_channels = num_channels;
    record->frequency = frequency;
    record->frames = 0;
    record->timer = g_timeout_add(TONE_INTERVAL_MS, send_tone, record);
}

/* The library says this also when the channel goes away. */
static void on_record_stop(SpiceChannel *channel G_GNUC_UNUSED, Record *record)
{
    g_clear_handle_id(&record->timer, g_source_remove);
}

Record *record_new(SpiceChannel *channel)
{
    Record *record = g_new0(Record, 1);

    record->channel = g_object_ref(channel);
    g_signal_connect(channel, "record-start", G_CALLBACK(on_record_start), record);
    g_signal_connect(channel, "record-stop", G_CALLBACK(on_record_stop), record);
    return record;
}

void record_free(Record *record)
{
    g_clear_handle_id(&record->timer, g_source_remove);
    g_signal_handlers_disconnect_by_data(record->channel, record);
    g_object_unref(record->channel);
    g_free(record);
}

void record_report(const Record *record, JsonBuilder *json)
{
    json_builder_begin_object(json);
    json_put_int(json, "packets", record->packets);
    json_put_int(json, "bytes", record->bytes);
    json_builder_end_object(json);
}
