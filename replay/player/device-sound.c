/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sound card that plays a tone in real time, each packet numbered (sound-number.h). */
#include "device.h"

#include <math.h>

#include "../common/clock.h"
#include "../common/json.h"
#include "../common/sound-number.h"

/* Half an Opus packet: the largest lateness of a packet. */
#define INTERVAL_MS 5
#define TONE_HZ 1500

/* A packet that is later is dropped, as by a sound card without data. */
#define LATE_MAX_NS (100 * NSEC_PER_MSEC)

typedef struct DeviceSound {
    Device device;
    SpicePlaybackInstance instance;
    bool is_raw;
    uint32_t rate;
    guint timer;                /* 0 while it is quiet */
    int64_t due_ns;             /* when the next packet is to be played; 0: at once */
    uint64_t frames;            /* played: the tone's phase */
    GArray *stamps;             /* of each packet handed to the server */
} DeviceSound;

static const SpicePlaybackInterface interface = {
    .base = {
        .type = SPICE_INTERFACE_PLAYBACK,
        .description = "a tone",
        .major_version = SPICE_INTERFACE_PLAYBACK_MAJOR,
        .minor_version = SPICE_INTERFACE_PLAYBACK_MINOR,
    },
};

static void fill(DeviceSound *sound, uint32_t *samples, uint32_t count, double amplitude)
{
    for (uint32_t i = 0; i < count; i++) {
        double angle = 2 * G_PI * TONE_HZ * sound->frames++ / sound->rate;
        uint16_t sample = (int16_t) (amplitude * sin(angle));

        samples[i] = (uint32_t) sample << 16 | sample;
    }
}

/* False when the library has no room: no client, or one that is behind. */
static bool play_packet(DeviceSound *sound, int64_t now)
{
    uint32_t *samples;
    uint32_t count;
    unsigned int number = sound->stamps->len % (sound->is_raw ? SOUND_NUMBERS : SOUND_LEVELS);
    Stamp stamp = { number, now };

    spice_server_playback_get_buffer(&sound->instance, &samples, &count);
    if (!samples) {
        return false;
    }
    fill(sound, samples, count, sound_number_amplitude(number));
    if (sound->is_raw) {
        sound_number_write((int16_t *) samples, count, number);
    }
    spice_server_playback_put_samples(&sound->instance, samples);
    g_array_append_val(sound->stamps, stamp);
    sound->due_ns += count * NSEC_PER_SEC / sound->rate;
    return true;
}

static gboolean play(gpointer opaque)
{
    DeviceSound *sound = opaque;
    int64_t now = clock_ns();

    if (now - sound->due_ns > LATE_MAX_NS) {
        sound->due_ns = now;
    }
    while (sound->due_ns <= now && play_packet(sound, now)) {
        /* as many as are due */
    }
    return G_SOURCE_CONTINUE;
}

static void start(Device *device)
{
    DeviceSound *sound = (DeviceSound *) device;

    spice_server_playback_start(&sound->instance);
    sound->timer = g_timeout_add(INTERVAL_MS, play, sound);
}

static void stop(Device *device)
{
    DeviceSound *sound = (DeviceSound *) device;

    g_clear_handle_id(&sound->timer, g_source_remove);
    spice_server_playback_stop(&sound->instance);
}

static bool is_finished(const Device *device)
{
    return ((const DeviceSound *) device)->stamps->len > 0;
}

static GVariant *report(const Device *device)
{
    const DeviceSound *sound = (const DeviceSound *) device;

    return g_variant_new_parsed("{'packets': <%u>, 'raw': <%b>, 'rate': <%u>, 'stamps': <%@a(ux)>}",
                                sound->stamps->len, sound->is_raw, sound->rate, json_rows("(ux)", sound->stamps));
}

static void clear(Device *device)
{
    g_array_unref(((DeviceSound *) device)->stamps);
}

static void add(Device *device, const Guest *guest, uint64_t bytes G_GNUC_UNUSED)
{
    DeviceSound *sound = (DeviceSound *) device;

    sound->instance.base.sif = &interface.base;
    sound->is_raw = device->kind == &device_sound_raw;
    sound->stamps = g_array_new(false, false, sizeof(Stamp));
    spice_server_set_playback_compression(guest->server, !sound->is_raw);
    spice_server_add_interface(guest->server, &sound->instance.base);
    sound->rate = spice_server_get_best_playback_rate(&sound->instance);
    spice_server_set_playback_rate(&sound->instance, sound->rate);
}

#define SOUND(...) { \
    .reported = "sound", \
    .size = sizeof(DeviceSound), \
    .add = add, \
    .start = start, \
    .stop = stop, \
    .is_finished = is_finished, \
    .report = report, \
    .clear = clear, \
    __VA_ARGS__ \
}

/* Opus, if the client can. */
const DeviceKind device_sound = SOUND(.name = "sound", .in_all = true);

const DeviceKind device_sound_raw = SOUND(.name = "sound-raw");
