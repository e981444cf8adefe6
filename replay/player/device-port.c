/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A serial port through which the guest pushes a file to the client. After the
 * last byte the guest closes its end; a client that has all of it answers with
 * a break.
 */
#include "device.h"

#include <spice/enums.h>
#include <spice/protocol.h>

#define PORT_NAME "org.spice.test"
#define INTERVAL_MS 5

/* What the guest hands over at once: from a keystroke to the most a virtio port takes, 32 KiB. */
static const unsigned int pieces[] = { 1, 100, 32768, 1500, 4096, 16384 };

typedef struct DevicePort {
    Device device;
    SpiceCharDeviceInstance instance;
    GRand *random;              /* bytes that cannot be compressed, the same in every run */
    GChecksum *checksum;        /* bytes that the library has taken */
    guint timer;                /* 0: nothing to send */
    uint64_t size, sent;        /* bytes */
    unsigned int reads;
    bool is_closed, is_confirmed;
} DevicePort;

static DevicePort *port_of(SpiceCharDeviceInstance *instance)
{
    return SPICE_CONTAINEROF(instance, DevicePort, instance);
}

static int port_read(SpiceCharDeviceInstance *instance, uint8_t *bytes, int size)
{
    DevicePort *port = port_of(instance);
    uint64_t count = MIN((uint64_t) size, port->size - port->sent);

    if (!port->timer || count == 0) {
        return 0;
    }
    count = MIN(count, pieces[port->reads++ % G_N_ELEMENTS(pieces)]);
    for (uint64_t i = 0; i < count; i++) {
        bytes[i] = g_rand_int(port->random);
    }
    g_checksum_update(port->checksum, bytes, count);
    port->sent += count;
    if (port->sent < port->size) {
        /* the guest has the next piece ready; the library reads it when it has taken this one */
        spice_server_char_device_wakeup(instance);
    }
    return count;
}

static int port_write(SpiceCharDeviceInstance *instance G_GNUC_UNUSED,
                      const uint8_t *bytes G_GNUC_UNUSED, int size)
{
    return size;
}

static void port_state(SpiceCharDeviceInstance *instance G_GNUC_UNUSED,
                       int connected G_GNUC_UNUSED)
{
}

static void port_event(SpiceCharDeviceInstance *instance, uint8_t event)
{
    DevicePort *port = port_of(instance);

    port->is_confirmed |= port->is_closed && event == SPICE_PORT_EVENT_BREAK;
}

static const SpiceCharDeviceInterface interface = {
    .base = {
        .type = SPICE_INTERFACE_CHAR_DEVICE,
        .description = "a port",
        .major_version = SPICE_INTERFACE_CHAR_DEVICE_MAJOR,
        .minor_version = SPICE_INTERFACE_CHAR_DEVICE_MINOR,
    },
    .state = port_state,
    .write = port_write,
    .read = port_read,
    .event = port_event,
};

/* Not in port_read: what it returns is only then on its way. */
static gboolean push(gpointer opaque)
{
    DevicePort *port = opaque;

    if (port->sent < port->size) {
        spice_server_char_device_wakeup(&port->instance);
        return G_SOURCE_CONTINUE;
    }
    port->is_closed = true;
    port->timer = 0;
    spice_server_port_event(&port->instance, SPICE_PORT_EVENT_CLOSED);
    return G_SOURCE_REMOVE;
}

static void start(Device *device)
{
    DevicePort *port = (DevicePort *) device;

    spice_server_port_event(&port->instance, SPICE_PORT_EVENT_OPENED);
    port->timer = g_timeout_add(INTERVAL_MS, push, port);
}

static void stop(Device *device)
{
    g_clear_handle_id(&((DevicePort *) device)->timer, g_source_remove);
}

static bool is_finished(const Device *device)
{
    return ((const DevicePort *) device)->is_confirmed;
}

static uint64_t progress(const Device *device)
{
    const DevicePort *port = (const DevicePort *) device;

    return port->sent + port->is_closed + port->is_confirmed;
}

static GVariant *report(const Device *device)
{
    const DevicePort *port = (const DevicePort *) device;

    return g_variant_new_parsed("{'name': <%s>, 'bytes': <%t>, 'sha256': <%s>}", PORT_NAME, port->sent,
                                g_checksum_get_string(port->checksum));
}

static void clear(Device *device)
{
    g_checksum_free(((DevicePort *) device)->checksum);
    g_rand_free(((DevicePort *) device)->random);
}

static void add(Device *device, const Guest *guest, uint64_t bytes)
{
    DevicePort *port = (DevicePort *) device;

    port->instance.base.sif = &interface.base;
    port->instance.subtype = "port";
    port->instance.portname = PORT_NAME;
    port->size = bytes;
    port->checksum = g_checksum_new(G_CHECKSUM_SHA256);
    port->random = g_rand_new_with_seed(1);
    spice_server_add_interface(guest->server, &port->instance.base);
}

const DeviceKind device_port = {
    .name = "port",
    .reported = "port",
    .in_all = true,
    .mib = 4,
    .size = sizeof(DevicePort),
    .add = add,
    .start = start,
    .stop = stop,
    .is_finished = is_finished,
    .progress = progress,
    .report = report,
    .clear = clear,
};
