/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sound.h"

#include "../common/clock.h"
#include "../common/json.h"
#include "../common/sound-number.h"

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

GVariant *playback_report(const Playback *playback)
{
    return g_variant_new_parsed("{'packets': <%x>, 'bytes': <%x>, 'rate': <%i>, 'stamps': <%@a(ix)>}", playback->packets,
                                playback->bytes, playback->frequency, json_rows("(ix)", playback->stamps));
}
