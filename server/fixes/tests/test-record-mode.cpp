/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A client says how its sound is encoded each time it begins to record. It has one decoder at most.
 */
#include <config.h>

#include <common/snd_codec.h>

#include "test-channel-client.h"
#include "test-link.h"

#include "push-visibility.h"

/* how often a client begins to record */
#define TIMES 10

static unsigned num_made;
static unsigned num_freed;

/* In place of the library's. Nobody decodes anything here. */
extern "C" {
struct OpusDecoder;

OpusDecoder *opus_decoder_create(int32_t rate, int channels, int *error);
void opus_decoder_destroy(OpusDecoder *decoder);
}

OpusDecoder *opus_decoder_create(int32_t rate, int channels, int *error)
{
    ++num_made;
    *error = 0;
    return static_cast<OpusDecoder *>(g_malloc(1));
}

void opus_decoder_destroy(OpusDecoder *decoder)
{
    ++num_freed;
    g_free(decoder);
}

static void say_mode(TestLink *client, uint8_t mode)
{
    /* SpiceMsgcRecordMode: a time, how, and no more */
    const uint8_t body[] = { 0, 0, 0, 0, mode, 0 };

    client->send_message(SPICE_MSGC_RECORD_MODE, body, sizeof(body));
    TestLink::run_events();
}

static void modes()
{
    TestServer server;
    SpiceRecordInterface interface = {
        { SPICE_INTERFACE_RECORD, "record", SPICE_INTERFACE_RECORD_MAJOR,
          SPICE_INTERFACE_RECORD_MINOR },
    };
    SpiceRecordInstance record = { { &interface.base }, nullptr };

    if (!snd_codec_is_capable(SPICE_AUDIO_DATA_MODE_OPUS, SND_CODEC_ANY_FREQUENCY)) {
        g_test_skip("without Opus");
        return;
    }
    g_assert_cmpint(spice_server_set_noauth(server.server), ==, 0);
    g_assert_cmpint(spice_server_add_interface(server.server, &record.base), ==, 0);
    {
        TestLink main(server.server, SPICE_CHANNEL_MAIN);
        TestLink sound(server.server, SPICE_CHANNEL_RECORD, main.let_in());

        g_assert_cmpint(sound.authenticate(""), ==, SPICE_LINK_ERR_OK);
        for (unsigned i = 1; i <= TIMES; ++i) {
            say_mode(&sound, SPICE_AUDIO_DATA_MODE_OPUS);
            g_assert_cmpuint(num_made, ==, i);
            g_assert_cmpuint(num_freed, ==, i - 1);
            say_mode(&sound, SPICE_AUDIO_DATA_MODE_RAW);
        }
        spice_server_remove_interface(&record.base);
    }
    g_assert_cmpuint(num_freed, ==, num_made);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of clients that go */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/record-mode/modes", modes);
    return g_test_run();
}
