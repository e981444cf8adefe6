/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sound both ways, a port that is written to, a mouse that counts. */

#include <inttypes.h>
#include <spice/enums.h>
#include <spice/protocol.h>
#include <stdio.h>

#include "test-server.h"

#define SOUND_INTERVAL_MS 10
#define PORT_CHUNK 1000

static const TestOptions *options = NULL;
static int port_sent = 0;
static int sound_sent = 0;
static int64_t recorded = 0;
static int64_t motions = 0;

static const SpicePlaybackInterface playback_interface = {
    .base = { SPICE_INTERFACE_PLAYBACK, "test playback", SPICE_INTERFACE_PLAYBACK_MAJOR,
              SPICE_INTERFACE_PLAYBACK_MINOR },
};
static const SpiceRecordInterface record_interface = {
    .base = { SPICE_INTERFACE_RECORD, "test record", SPICE_INTERFACE_RECORD_MAJOR,
              SPICE_INTERFACE_RECORD_MINOR },
};
static SpicePlaybackInstance playback = { .base = { &playback_interface.base } };
static SpiceRecordInstance record = { .base = { &record_interface.base } };

static gboolean play(gpointer opaque G_GNUC_UNUSED)
{
    uint32_t *samples;
    uint32_t num_samples;

    spice_server_playback_get_buffer(&playback, &samples, &num_samples);
    if (samples == NULL) {
        return G_SOURCE_CONTINUE;
    }
    for (uint32_t i = 0; i < num_samples; i++) {
        samples[i] = i * 0x00400040;
    }
    spice_server_playback_put_samples(&playback, samples);
    if (++sound_sent < options->sound_packets) {
        return G_SOURCE_CONTINUE;
    }
    spice_server_playback_stop(&playback);
    return G_SOURCE_REMOVE;
}

static gboolean take_samples(gpointer opaque G_GNUC_UNUSED)
{
    uint32_t samples[4096];

    recorded += spice_server_record_get_samples(&record, samples, G_N_ELEMENTS(samples));
    return G_SOURCE_CONTINUE;
}

static int port_read(SpiceCharDeviceInstance *sin G_GNUC_UNUSED, uint8_t *buffer, int size)
{
    int num_bytes = MIN(MIN(size, PORT_CHUNK), options->port_bytes - port_sent);

    for (int i = 0; i < num_bytes; i++) {
        buffer[i] = port_sent++ % 251;
    }
    return num_bytes;
}

static int port_write(SpiceCharDeviceInstance *sin G_GNUC_UNUSED,
                      const uint8_t *buffer G_GNUC_UNUSED, int size)
{
    return size;
}

static void port_state(SpiceCharDeviceInstance *sin G_GNUC_UNUSED, int connected G_GNUC_UNUSED)
{
}

static void port_event(SpiceCharDeviceInstance *sin G_GNUC_UNUSED, uint8_t event G_GNUC_UNUSED)
{
}

static SpiceCharDeviceInterface port_interface = {
    .base = { SPICE_INTERFACE_CHAR_DEVICE, "test port", SPICE_INTERFACE_CHAR_DEVICE_MAJOR,
              SPICE_INTERFACE_CHAR_DEVICE_MINOR },
    .state = port_state,
    .read = port_read,
    .write = port_write,
    .event = port_event,
};
static SpiceCharDeviceInstance port = {
    .base = { &port_interface.base },
    .subtype = "port",
    .portname = "org.test.\"port\"",
};

static void on_motion(SpiceMouseInstance *sin G_GNUC_UNUSED, int dx, int dy G_GNUC_UNUSED,
                      int dz G_GNUC_UNUSED, uint32_t buttons G_GNUC_UNUSED)
{
    motions += dx;
}

static void on_buttons(SpiceMouseInstance *sin G_GNUC_UNUSED, uint32_t buttons G_GNUC_UNUSED)
{
}

static const SpiceMouseInterface mouse_interface = {
    .base = { SPICE_INTERFACE_MOUSE, "test mouse", SPICE_INTERFACE_MOUSE_MAJOR,
              SPICE_INTERFACE_MOUSE_MINOR },
    .motion = on_motion,
    .buttons = on_buttons,
};
static SpiceMouseInstance mouse = { .base = { &mouse_interface.base } };

static gboolean write_port(gpointer opaque G_GNUC_UNUSED)
{
    spice_server_char_device_wakeup(&port);
    return port_sent < options->port_bytes ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

void test_device_start(int type)
{
    switch (type) {
    case SPICE_CHANNEL_PLAYBACK:
        spice_server_playback_start(&playback);
        g_timeout_add(SOUND_INTERVAL_MS, play, NULL);
        break;
    case SPICE_CHANNEL_RECORD:
        spice_server_record_start(&record);
        g_timeout_add(SOUND_INTERVAL_MS, take_samples, NULL);
        break;
    case SPICE_CHANNEL_PORT:
        spice_server_port_event(&port, SPICE_PORT_EVENT_OPENED);
        g_timeout_add(1, write_port, NULL);
        break;
    default:
        break;
    }
}

gboolean test_devices_are_busy(void)
{
    return sound_sent < options->sound_packets || port_sent < options->port_bytes;
}

void test_devices_add(SpiceServer *server, const TestOptions *test_options)
{
    options = test_options;
    spice_server_add_interface(server, &mouse.base);
    if (options->sound_packets > 0) {
        spice_server_add_interface(server, &playback.base);
    }
    if (options->record) {
        spice_server_add_interface(server, &record.base);
    }
    if (options->port_bytes > 0) {
        spice_server_add_interface(server, &port.base);
    }
}

void test_devices_print(void)
{
    printf("{\"motions\":%" PRId64 ",\"recorded\":%" PRId64 ",\"played\":%d}\n", motions,
           recorded, sound_sent);
    fflush(stdout);
}
