/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "channel.h"

static void watch(Channel *channel, const Options *options, DisplayMarkerFunc on_marker,
                  void *opaque)
{
    SpiceChannel *spice = channel->spice;

    switch (channel->type) {
    case SPICE_CHANNEL_MAIN:
        channel->clipboard = options->channels ? clipboard_new(spice) : NULL;
        break;
    case SPICE_CHANNEL_DISPLAY:
        /* A live guest draws no markers, but a drawing of its own may look like one. */
        channel->display = display_new(spice, channel->id == 0 && !options->control ? on_marker : NULL,
                                       opaque);
        if (channel->id == 0 && options->screen != NULL) {
            display_log_screen(channel->display, options->screen, options->screen_at_probes);
        }
        break;
    case SPICE_CHANNEL_CURSOR:
        channel->cursor = cursor_new(spice, options->channels);
        break;
    case SPICE_CHANNEL_INPUTS:
        channel->inputs = inputs_new(spice, options->channels);
        break;
    case SPICE_CHANNEL_PLAYBACK:
        channel->playback = playback_new(spice);
        break;
    case SPICE_CHANNEL_PORT:
    case SPICE_CHANNEL_WEBDAV:
        channel->port = port_new(spice, options->channels);
        break;
    default:
        break;
    }
}

Channel *channel_new(SpiceChannel *spice, const Options *options, DisplayMarkerFunc on_marker,
                     void *opaque)
{
    Channel *channel = g_new0(Channel, 1);
    const char *type_name;

    channel->spice = g_object_ref(spice);
    g_object_get(spice, "channel-type", &channel->type, "channel-id", &channel->id, NULL);
    type_name = spice_channel_type_to_string(channel->type);
    channel->name = channel->type == SPICE_CHANNEL_MAIN
                    ? g_strdup(type_name) : g_strdup_printf("%s-%d", type_name, channel->id);
    watch(channel, options, on_marker, opaque);
    return channel;
}

void channel_free(Channel *channel)
{
    g_clear_pointer(&channel->clipboard, clipboard_free);
    g_clear_pointer(&channel->display, display_free);
    g_clear_pointer(&channel->cursor, cursor_free);
    g_clear_pointer(&channel->inputs, inputs_free);
    g_clear_pointer(&channel->playback, playback_free);
    g_clear_pointer(&channel->port, port_free);
    g_object_unref(channel->spice);
    g_free(channel->name);
    g_free(channel);
}

int64_t channel_bytes(const Channel *channel)
{
    gulong bytes = 0;

    g_object_get(channel->spice, "total-read-bytes", &bytes, NULL);
    return bytes;
}

int64_t channel_events(const Channel *channel)
{
    int64_t events = channel->state;

    if (channel->display != NULL) {
        events += display_events(channel->display);
    }
    if (channel->cursor != NULL) {
        events += cursor_moves(channel->cursor);
    }
    if (channel->playback != NULL) {
        events += playback_packets(channel->playback);
    }
    if (channel->port != NULL) {
        events += port_bytes(channel->port);
    }
    return events;
}
