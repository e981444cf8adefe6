/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The statistics of a channel (configure with -Dstatistics=true) know what its streams did:
 * what the channel sent, not what went before it, and all channels of one name together.
 */
#include <config.h>

#include "red-stream-egress.h"
#include "stat.h"
#include "test-channel-tls.h"

#include "push-visibility.h"

#ifdef RED_STATISTICS
/* One small message an item. */
struct SendingChannelClient final: public TestChannelClient
{
    using TestChannelClient::TestChannelClient;

    void send_item(RedPipeItem *item) override
    {
        static uint8_t data[64];

        init_send_data(SPICE_MSG_MIGRATE_DATA);
        spice_marshaller_add_by_ref(get_marshaller(), data, sizeof(data));
        begin_send_message();
    }
};

/* Two channels of one node, as all of a kind are, with a client each. */
struct Fixture: public TlsStream
{
    red::shared_ptr<TestChannel> channels[2];

    Fixture()
    {
        for (int id = 0; id < 2; ++id) {
            channels[id] = red::make_shared<TestChannel>(server, SPICE_CHANNEL_PORT, id,
                                                         RedChannel::MigrateAll);
            channels[id]->init_stat_node(nullptr, "test");
        }
    }

    uint64_t value(const char *name)
    {
        RedStatCounter counter;

        /* there is one of that name already */
        stat_init_counter(&counter, server, channels[0]->get_stat_node(), name, TRUE);
        g_assert_nonnull(counter.counter);
        return *counter.counter;
    }

    red::shared_ptr<SendingChannelClient> connect(int id, RedStream *client_stream)
    {
        auto rcc = red::make_shared<SendingChannelClient>(channels[id].get(), client,
                                                          client_stream, &caps);

        g_assert_true(rcc->init());
        return rcc;
    }

    void send(SendingChannelClient *rcc, int messages)
    {
        for (int i = 0; i < messages; ++i) {
            rcc->pipe_add_type(RED_PIPE_ITEM_TYPE_CHANNEL_BASE);
        }
        rcc->push();
    }
};

static void counters()
{
    Fixture f;
    int peer;
    RedStream *plain = test_stream_new(f.server, &peer);
    RedStreamCounters handshake, now;

    red_stream_get_counters(f.stream, &handshake);
    g_assert_cmpuint(handshake.writes, >, 0);
    auto tls_rcc = f.connect(0, f.stream);
    auto plain_rcc = f.connect(1, plain);
    g_assert_cmpuint(f.value("out_writes"), ==, 0);

    for (int drain = 0; drain < 3; ++drain) {
        f.send(tls_rcc.get(), 10);
    }
    red_stream_get_counters(f.stream, &now);
    g_assert_cmpuint(f.value("out_messages"), ==, 30);
    g_assert_cmpuint(f.value("out_records"), ==, now.records);
    g_assert_cmpuint(f.value("out_records"), >=, 3);
    g_assert_cmpuint(f.value("out_writes"), ==, now.writes - handshake.writes);
    g_assert_cmpuint(f.value("out_writes"), >=, 3);
    g_assert_cmpuint(f.value("out_flushes"), ==, now.flushes - handshake.flushes);
    g_assert_cmpuint(f.value("out_eagains"), ==, 0);

    /* the peer of the other one does not read */
    const uint64_t writes = f.value("out_writes");
    test_stream_shrink(plain);
    while (!plain_rcc->is_blocked()) {
        f.send(plain_rcc.get(), 10);
    }
    red_stream_get_counters(plain, &now);
    g_assert_cmpuint(now.eagains, >, 0);
    g_assert_cmpuint(f.value("out_eagains"), ==, now.eagains);
    g_assert_cmpuint(f.value("out_writes"), ==, writes + now.writes);

    f.stream = nullptr;
    tls_rcc->disconnect();
    plain_rcc->disconnect();
    close(peer);
}
#endif

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
#ifdef RED_STATISTICS
    g_test_add_func("/server/channel-stats/counters", counters);
#endif
    return g_test_run();
}
