/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "port.h"

#include <spice/protocol.h>

struct Port {
    SpiceChannel *channel;
    int64_t bytes;
    GChecksum *checksum;
};

static void on_data(SpiceChannel *channel G_GNUC_UNUSED, gconstpointer data, gint size,
                    Port *port)
{
    port->bytes += size;
    g_checksum_update(port->checksum, data, size);
}

static void on_event(SpiceChannel *channel, gint event, Port *port G_GNUC_UNUSED)
{
    if (event == SPICE_PORT_EVENT_CLOSED) {
        spice_port_channel_event(SPICE_PORT_CHANNEL(channel), SPICE_PORT_EVENT_BREAK);
    }
}

Port *port_new(SpiceChannel *channel, bool answers)
{
    Port *port = g_new0(Port, 1);

    port->channel = g_object_ref(channel);
    port->checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_signal_connect(channel, "port-data", G_CALLBACK(on_data), port);
    if (answers) {
        g_signal_connect(channel, "port-event", G_CALLBACK(on_event), port);
    }
    return port;
}

void port_free(Port *port)
{
    g_signal_handlers_disconnect_by_data(port->channel, port);
    g_object_unref(port->channel);
    g_checksum_free(port->checksum);
    g_free(port);
}

int64_t port_bytes(const Port *port)
{
    return port->bytes;
}

void port_report(const Port *port, JsonBuilder *json)
{
    char *name = NULL;

    g_object_get(port->channel, "port-name", &name, NULL);
    json_builder_begin_object(json);
    json_put_string(json, "name", name);
    if (SPICE_IS_WEBDAV_CHANNEL(port->channel)) {
        json_put_string(json, "bytes", NULL);
        json_put_string(json, "sha256", NULL);
    } else {
        /* Reading a GChecksum closes it, and more data may follow. */
        GChecksum *so_far = g_checksum_copy(port->checksum);

        json_put_int(json, "bytes", port->bytes);
        json_put_string(json, "sha256", g_checksum_get_string(so_far));
        g_checksum_free(so_far);
    }
    json_builder_end_object(json);
    g_free(name);
}
