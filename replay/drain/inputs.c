/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a user at the client does, with --channels: moves the mouse by a pixel, as often as a mouse
 * reports, and presses Scroll Lock now and then. The next key waits for the light of the one
 * before. */
#include "../common/clock.h"
#include "../common/json.h"
#include "channel.h"

#define SCAN_SCROLL_LOCK 0x46
#define MOTION_INTERVAL_MS 16 /* a mouse of 60 Hz, about */
#define KEY_INTERVAL_MS 250

typedef struct Inputs {
    Channel channel;
    bool is_used;
    guint motion_timer; /* source ids; 0 before it is open, or if not used */
    guint key_timer;
    int64_t motions;
    int64_t keys;
    int64_t pressed_ns;  /* the key whose light has not changed yet; 0: none */
    int lights;          /* before it was pressed */
    GArray *echoes_ms;   /* double: from each press to its light */
} Inputs;

static gboolean send_motion(gpointer opaque)
{
    Inputs *inputs = opaque;

    spice_inputs_channel_motion(SPICE_INPUTS_CHANNEL(inputs->channel.spice), 1, 0, 0);
    inputs->motions++;
    return G_SOURCE_CONTINUE;
}

static int lights_of(SpiceChannel *spice)
{
    int lights;

    g_object_get(spice, "key-modifiers", &lights, NULL);
    return lights & SPICE_INPUTS_SCROLL_LOCK;
}

static gboolean press_key(gpointer opaque)
{
    Inputs *inputs = opaque;
    SpiceInputsChannel *spice = SPICE_INPUTS_CHANNEL(inputs->channel.spice);

    if (inputs->pressed_ns != 0) {
        return G_SOURCE_CONTINUE;
    }
    inputs->lights = lights_of(inputs->channel.spice);
    inputs->pressed_ns = clock_ns();
    inputs->keys++;
    spice_inputs_channel_key_press(spice, SCAN_SCROLL_LOCK);
    spice_inputs_channel_key_release(spice, SCAN_SCROLL_LOCK);
    return G_SOURCE_CONTINUE;
}

/* The server repeats the state from time to time: only a change answers the key. */
static void on_lights(SpiceChannel *spice, Inputs *inputs)
{
    if (inputs->pressed_ns != 0 && lights_of(spice) != inputs->lights) {
        double echo_ms = (clock_ns() - inputs->pressed_ns) / (double)NSEC_PER_MSEC;

        g_array_append_val(inputs->echoes_ms, echo_ms);
        inputs->pressed_ns = 0;
    }
}

static void watch(Channel *channel, const Options *options)
{
    Inputs *inputs = (Inputs *)channel;

    inputs->is_used = options->channels;
    inputs->echoes_ms = g_array_new(FALSE, FALSE, sizeof(double));
    g_signal_connect(channel->spice, "inputs-modifiers", G_CALLBACK(on_lights), inputs);
}

static void opened(Channel *channel)
{
    Inputs *inputs = (Inputs *)channel;

    if (inputs->is_used && inputs->motion_timer == 0) {
        inputs->motion_timer = g_timeout_add(MOTION_INTERVAL_MS, send_motion, inputs);
        inputs->key_timer = g_timeout_add(KEY_INTERVAL_MS, press_key, inputs);
    }
}

static GVariant *report(const Channel *channel)
{
    const Inputs *inputs = (const Inputs *)channel;

    return g_variant_new_parsed("{'motions': <%x>, 'keys': <%x>, 'echoes_ms': <%@ad>}", inputs->motions, inputs->keys,
                                json_rows("d", inputs->echoes_ms));
}

static void clear(Channel *channel)
{
    Inputs *inputs = (Inputs *)channel;

    g_clear_handle_id(&inputs->motion_timer, g_source_remove);
    g_clear_handle_id(&inputs->key_timer, g_source_remove);
    g_array_unref(inputs->echoes_ms);
}

const ChannelKind inputs_kind = {
    .size = sizeof(Inputs), .watch = watch, .opened = opened, .report = report, .clear = clear,
};
