/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "channel.h"

static const ChannelKind *kind_of(int type)
{
    static const ChannelKind only_read = { .size = sizeof(Channel) };

    switch (type) {
    case SPICE_CHANNEL_MAIN:
        return &clipboard_kind;
    case SPICE_CHANNEL_DISPLAY:
        return &display_kind;
    case SPICE_CHANNEL_CURSOR:
        return &cursor_kind;
    case SPICE_CHANNEL_INPUTS:
        return &inputs_kind;
    case SPICE_CHANNEL_PLAYBACK:
        return &playback_kind;
    case SPICE_CHANNEL_PORT:
    case SPICE_CHANNEL_WEBDAV:
        return &port_kind;
    default:
        return &only_read;
    }
}

Channel *channel_new(SpiceChannel *spice, const Options *options)
{
    int type, id;

    g_object_get(spice, "channel-type", &type, "channel-id", &id, NULL);

    const ChannelKind *kind = kind_of(type);
    const char *type_name = spice_channel_type_to_string(type);
    Channel *channel = g_malloc0(kind->size);

    channel->kind = kind;
    channel->spice = g_object_ref(spice);
    channel->type = type;
    channel->id = id;
    channel->name = type == SPICE_CHANNEL_MAIN
                    ? g_strdup(type_name) : g_strdup_printf("%s-%d", type_name, id);
    if (kind->watch != NULL) {
        kind->watch(channel, options);
    }
    return channel;
}

void channel_free(Channel *channel)
{
    g_signal_handlers_disconnect_by_data(channel->spice, channel);
    if (channel->kind->clear != NULL) {
        channel->kind->clear(channel);
    }
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

Channel *channel_find(const GPtrArray *channels, int type, int id)
{
    for (guint i = 0; i < channels->len; i++) {
        Channel *channel = channels->pdata[i];

        if (channel->type == type && channel->id == id) {
            return channel;
        }
    }
    return NULL;
}
