/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The playback channel, whose packets are counted (they are its events) and timed. */
#include "../common/clock.h"
#include "../common/json.h"
#include "../common/sound-number.h"
#include "channel.h"

typedef struct Stamp {
    int number; /* see sound-number.h */
    int64_t now_ns;
} Stamp;

typedef struct Playback {
    Channel channel;
    int64_t bytes; /* of decoded samples */
    GArray *stamps; /* Stamp */
    int num_channels;
    int frequency; /* of frames, in Hz */
} Playback;

static void on_playback_start(SpiceChannel *spice G_GNUC_UNUSED, gint format G_GNUC_UNUSED,
                              gint num_channels, gint frequency, Playback *playback)
{
    playback->num_channels = num_channels;
    playback->frequency = frequency;
}

static void on_playback_data(SpiceChannel *spice G_GNUC_UNUSED, gpointer data, gint size,
                             Playback *playback)
{
    Stamp stamp = { .now_ns = clock_ns() };

    if (playback->num_channels == 2) {
        stamp.number = sound_number_read(data, size / (2 * sizeof(int16_t)));
        g_array_append_val(playback->stamps, stamp);
    }
    playback->channel.events++;
    playback->bytes += size;
}

static void watch(Channel *channel, const Options *options G_GNUC_UNUSED)
{
    ((Playback *)channel)->stamps = g_array_new(FALSE, FALSE, sizeof(Stamp));
    g_signal_connect(channel->spice, "playback-start", G_CALLBACK(on_playback_start), channel);
    g_signal_connect(channel->spice, "playback-data", G_CALLBACK(on_playback_data), channel);
}

static GVariant *report(const Channel *channel)
{
    const Playback *playback = (const Playback *)channel;

    return g_variant_new_parsed("{'packets': <%x>, 'bytes': <%x>, 'rate': <%i>, 'stamps': <%@a(ix)>}",
                                channel->events, playback->bytes, playback->frequency,
                                json_rows("(ix)", playback->stamps));
}

static void clear(Channel *channel)
{
    g_array_unref(((Playback *)channel)->stamps);
}

const ChannelKind playback_kind = {
    .size = sizeof(Playback), .watch = watch, .report = report, .clear = clear,
};
