/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A port's client goes at the wrong moment: the device and the server live on. */
#include <config.h>

#include "test-channel-client.h"
#include "vmc-emu.h"

#include "push-visibility.h"

/* A device that takes what is written only when it wants to. */
static bool device_takes;

static int lazy_write(SpiceCharDeviceInstance *sin, const uint8_t *buf, int len)
{
    return device_takes ? len : 0;
}

struct Fixture: public TestServer
{
    VmcEmu *vmc = vmc_emu_new("port", "org.spice-space.test");
    RedChannel *channel;
    int peer;

    Fixture()
    {
        device_takes = false;
        vmc->vmc_interface.write = lazy_write;
        g_assert_cmpint(spice_server_add_interface(server, &vmc->instance.base), ==, 0);
        channel = reds_find_channel(server, SPICE_CHANNEL_PORT, 0);
        g_assert_nonnull(channel);
    }

    ~Fixture()
    {
        close(peer);
        client->destroy();
        client = nullptr;
        spice_server_remove_interface(&vmc->instance.base);
        vmc_emu_destroy(vmc);
    }

    void connect(RedStream *stream)
    {
        channel->connect(client, stream, FALSE, &caps);
    }

    void send_data()
    {
        static const uint8_t message[] = { SPICE_MSGC_SPICEVMC_DATA, 0, 1, 0, 0, 0, 'x' };

        g_assert_cmpint(write(peer, message, sizeof(message)), ==, sizeof(message));
        run_events();
    }

    void go()
    {
        shutdown(peer, SHUT_RDWR);
        run_events();
        g_assert_false(channel->is_connected());
        g_assert_false(vmc->device_enabled);
    }
};

/* The device takes the client's data after the client has gone. */
static void data_left()
{
    Fixture f;

    f.connect(test_stream_new(f.server, &f.peer));
    g_assert_true(f.vmc->device_enabled);
    f.send_data();
    f.go();
    device_takes = true;
    spice_server_char_device_wakeup(&f.vmc->instance);
}

/* It has gone before the server greets it. */
static void gone_at_once()
{
    Fixture f;
    RedStream *stream = test_stream_new(f.server, &f.peer);

    shutdown(f.peer, SHUT_RDWR);
    f.connect(stream);
    f.go();
}

/* The same, with data of the device that waits for a client. */
static void gone_at_once_with_data()
{
    Fixture f;
    RedStream *stream = test_stream_new(f.server, &f.peer);

    vmc_emu_add_read_till(f.vmc, f.vmc->message + 100);
    shutdown(f.peer, SHUT_RDWR);
    f.connect(stream);
    f.go();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);

    g_test_add_func("/server/vmc-gone/data-left", data_left);
    g_test_add_func("/server/vmc-gone/gone-at-once", gone_at_once);
    g_test_add_func("/server/vmc-gone/gone-at-once-with-data", gone_at_once_with_data);

    return g_test_run();
}
