/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A port channel: what it sends is counted (its events are bytes) and hashed. With --channels a
 * server that closes its end of the port, after all data, is sent a break. */
#include <spice/protocol.h>

#include "../common/json.h"
#include "channel.h"

typedef struct Port {
    Channel channel;
    GChecksum *checksum;
} Port;

static void on_data(SpiceChannel *spice G_GNUC_UNUSED, gconstpointer data, gint size, Port *port)
{
    port->channel.events += size;
    g_checksum_update(port->checksum, data, size);
}

static void on_event(SpiceChannel *spice, gint event, Port *port G_GNUC_UNUSED)
{
    if (event == SPICE_PORT_EVENT_CLOSED) {
        spice_port_channel_event(SPICE_PORT_CHANNEL(spice), SPICE_PORT_EVENT_BREAK);
    }
}

static void watch(Channel *channel, const Options *options)
{
    ((Port *)channel)->checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_signal_connect(channel->spice, "port-data", G_CALLBACK(on_data), channel);
    if (options->channels) {
        g_signal_connect(channel->spice, "port-event", G_CALLBACK(on_event), channel);
    }
}

/* The library handles webdav itself and does not show its data: there bytes and sha256 are null. */
static GVariant *report(const Channel *channel)
{
    bool is_known = !SPICE_IS_WEBDAV_CHANNEL(channel->spice);
    /* Reading a GChecksum closes it, and more data may follow. */
    GChecksum *so_far = g_checksum_copy(((const Port *)channel)->checksum);
    char *name = NULL;

    g_object_get(channel->spice, "port-name", &name, NULL);
    GVariant *found = g_variant_new_parsed("{'name': <%@ms>, 'bytes': <%@mx>, 'sha256': <%@ms>}", json_text(name),
        g_variant_new_maybe(G_VARIANT_TYPE_INT64,
                            is_known ? g_variant_new_int64(channel->events) : NULL),
        json_text(is_known ? g_checksum_get_string(so_far) : NULL));
    g_checksum_free(so_far);
    g_free(name);
    return found;
}

static void clear(Channel *channel)
{
    g_checksum_free(((Port *)channel)->checksum);
}

const ChannelKind port_kind = {
    .size = sizeof(Port), .watch = watch, .report = report, .clear = clear,
};
