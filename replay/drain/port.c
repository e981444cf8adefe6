/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "port.h"

#include <spice/protocol.h>

#include "../common/json.h"

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

GVariant *port_report(const Port *port)
{
    bool is_known = !SPICE_IS_WEBDAV_CHANNEL(port->channel);
    /* Reading a GChecksum closes it, and more data may follow. */
    GChecksum *so_far = g_checksum_copy(port->checksum);
    char *name = NULL;

    g_object_get(port->channel, "port-name", &name, NULL);
    GVariant *found = g_variant_new_parsed("{'name': <%@ms>, 'bytes': <%@mx>, 'sha256': <%@ms>}", json_text(name),
        g_variant_new_maybe(G_VARIANT_TYPE_INT64, is_known ? g_variant_new_int64(port->bytes) : NULL),
        json_text(is_known ? g_checksum_get_string(so_far) : NULL));
    g_checksum_free(so_far);
    g_free(name);
    return found;
}
