/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The device gets the samples that the client recorded, in order, also where a packet wraps around
 * the end of the ring buffer.
 */
#include <config.h>

#include "test-channel-client.h"
#include "test-link.h"

#include "push-visibility.h"

/* samples; the packets go around the ring several times, and wrap at different places */
enum { PER_PACKET = 1000, NUM_PACKETS = 200 };


static void send_packet(TestLink *client, uint32_t first)
{
    /* SpiceMsgcRecordPacket: a time, then the samples */
    std::vector<uint32_t> body(1 + PER_PACKET);

    for (uint32_t i = 0; i < PER_PACKET; ++i) {
        body[1 + i] = first + i;
    }
    client->send_message(SPICE_MSGC_RECORD_DATA, body.data(), body.size() * sizeof(body[0]));
}

static void in_order()
{
    TestServer server;
    SpiceRecordInterface interface = {
        { SPICE_INTERFACE_RECORD, "record", SPICE_INTERFACE_RECORD_MAJOR,
          SPICE_INTERFACE_RECORD_MINOR },
    };
    SpiceRecordInstance record = { { &interface.base }, nullptr };

    g_assert_cmpint(spice_server_set_noauth(server.server), ==, 0);
    g_assert_cmpint(spice_server_add_interface(server.server, &record.base), ==, 0);
    {
        TestLink main(server.server, SPICE_CHANNEL_MAIN);
        TestLink sound(server.server, SPICE_CHANNEL_RECORD, main.let_in());
        const uint8_t raw[] = { 0, 0, 0, 0, SPICE_AUDIO_DATA_MODE_RAW, 0 };
        std::vector<uint32_t> samples(4 * PER_PACKET);
        uint32_t taken = 0;

        g_assert_cmpint(sound.authenticate(""), ==, SPICE_LINK_ERR_OK);
        TestLink::run_events();
        spice_server_record_start(&record);
        sound.send_message(SPICE_MSGC_RECORD_MODE, raw, sizeof(raw));
        for (uint32_t sent = 0; sent < NUM_PACKETS; ++sent) {
            send_packet(&sound, sent * PER_PACKET);
            TestLink::run_events();
            const uint32_t got =
                spice_server_record_get_samples(&record, samples.data(), samples.size());
            for (uint32_t i = 0; i < got; ++i) {
                g_assert_cmpuint(samples[i], ==, taken++);
            }
        }
        g_assert_cmpuint(taken, ==, NUM_PACKETS * PER_PACKET);
        spice_server_remove_interface(&record.base);
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/record-ring/in-order", in_order);
    return g_test_run();
}
