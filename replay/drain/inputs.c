/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inputs.h"

#include "../common/clock.h"
#include "../common/json.h"

#define SCAN_SCROLL_LOCK 0x46
#define MOTION_INTERVAL_MS 16 /* a mouse of 60 Hz, about */
#define KEY_INTERVAL_MS 250

struct Inputs {
    SpiceChannel *channel;
    bool is_used;
    guint motion_timer; /* source ids; 0 before inputs_start(), or if not used */
    guint key_timer;
    int64_t motions;
    int64_t keys;
    int64_t pressed_ns;  /* the key whose light has not changed yet; 0: none */
    int lights;          /* before it was pressed */
    GArray *echoes_ms;   /* double */
};

static gboolean send_motion(gpointer opaque)
{
    Inputs *inputs = opaque;

    spice_inputs_channel_motion(SPICE_INPUTS_CHANNEL(inputs->channel), 1, 0, 0);
    inputs->motions++;
    return G_SOURCE_CONTINUE;
}

static int lights_of(SpiceChannel *channel)
{
    int lights;

    g_object_get(channel, "key-modifiers", &lights, NULL);
    return lights & SPICE_INPUTS_SCROLL_LOCK;
}

static gboolean press_key(gpointer opaque)
{
    Inputs *inputs = opaque;
    SpiceInputsChannel *channel = SPICE_INPUTS_CHANNEL(inputs->channel);

    if (inputs->pressed_ns != 0) {
        return G_SOURCE_CONTINUE;
    }
    inputs->lights = lights_of(inputs->channel);
    inputs->pressed_ns = clock_ns();
    inputs->keys++;
    spice_inputs_channel_key_press(channel, SCAN_SCROLL_LOCK);
    spice_inputs_channel_key_release(channel, SCAN_SCROLL_LOCK);
    return G_SOURCE_CONTINUE;
}

/* The server repeats the state from time to time: only a change answers the key. */
static void on_lights(SpiceChannel *channel, Inputs *inputs)
{
    if (inputs->pressed_ns != 0 && lights_of(channel) != inputs->lights) {
        double echo_ms = (clock_ns() - inputs->pressed_ns) / (double)NSEC_PER_MSEC;

        g_array_append_val(inputs->echoes_ms, echo_ms);
        inputs->pressed_ns = 0;
    }
}

Inputs *inputs_new(SpiceChannel *channel, bool is_used)
{
    Inputs *inputs = g_new0(Inputs, 1);

    inputs->channel = g_object_ref(channel);
    inputs->is_used = is_used;
    inputs->echoes_ms = g_array_new(FALSE, FALSE, sizeof(double));
    g_signal_connect(channel, "inputs-modifiers", G_CALLBACK(on_lights), inputs);
    return inputs;
}

void inputs_free(Inputs *inputs)
{
    g_clear_handle_id(&inputs->motion_timer, g_source_remove);
    g_clear_handle_id(&inputs->key_timer, g_source_remove);
    g_signal_handlers_disconnect_by_data(inputs->channel, inputs);
    g_object_unref(inputs->channel);
    g_array_unref(inputs->echoes_ms);
    g_free(inputs);
}

void inputs_start(Inputs *inputs)
{
    if (inputs->is_used && inputs->motion_timer == 0) {
        inputs->motion_timer = g_timeout_add(MOTION_INTERVAL_MS, send_motion, inputs);
        inputs->key_timer = g_timeout_add(KEY_INTERVAL_MS, press_key, inputs);
    }
}

GVariant *inputs_report(const Inputs *inputs)
{
    return g_variant_new_parsed("{'motions': <%x>, 'keys': <%x>, 'echoes_ms': <%@ad>}", inputs->motions, inputs->keys,
                                json_rows("d", inputs->echoes_ms));
}
