/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A channel stops reading between the header and the body of a message, as spicevmc does while
 * its device is busy. When it goes on it gets the body, also if TLS has it already.
 */
#include <config.h>

#include "test-channel-tls.h"

#include "push-visibility.h"

struct BlockingChannelClient final: public TestChannelClient
{
    using TestChannelClient::TestChannelClient;

    bool busy = true;
    unsigned messages = 0;

    uint8_t *alloc_recv_buf(uint16_t type, uint32_t size) override
    {
        if (busy) {
            block_read();
            return nullptr;
        }
        return TestChannelClient::alloc_recv_buf(type, size);
    }

    bool handle_message(uint16_t type, uint32_t size, void *message) override
    {
        messages++;
        return true;
    }
};

/* Returns the number of messages that were handled when the channel was free again.
 * @push: what the channel sends meanwhile */
static unsigned messages_after_busy(bool push)
{
    TlsStream s;
    auto channel = red::make_shared<TestChannel>(s.server, SPICE_CHANNEL_PORT, 0,
                                                 RedChannel::MigrateAll);
    auto rcc = red::make_shared<BlockingChannelClient>(channel.get(), s.client, s.stream, &s.caps);
    static const uint8_t two_messages[] = {
        SPICE_MSGC_ACK_SYNC, 0, 4, 0, 0, 0, 1, 2, 3, 4,
        SPICE_MSGC_ACK_SYNC, 0, 4, 0, 0, 0, 1, 2, 3, 4,
    };

    s.stream = nullptr;
    g_assert_true(rcc->init());
    s.run_events();

    // one record
    g_assert_cmpint(SSL_write(s.peer, two_messages, sizeof(two_messages)), ==,
                    sizeof(two_messages));
    s.run_events();
    g_assert_cmpuint(rcc->messages, ==, 0);

    rcc->busy = false;
    rcc->unblock_read();
    if (push) {
        rcc->pipe_add_empty_msg(SPICE_MSG_MIGRATE_DATA);
        rcc->push();
    }
    s.run_events();
    return rcc->messages;
}

static void read_on()
{
    g_assert_cmpuint(messages_after_busy(false), ==, 2);
}

/* Sending all there is ends the interest in a writable socket. */
static void read_on_after_push()
{
    g_assert_cmpuint(messages_after_busy(true), ==, 2);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);

    g_test_add_func("/server/read-blocked/read-on", read_on);
    g_test_add_func("/server/read-blocked/read-on-after-push", read_on_after_push);

    const int ret = g_test_run();
    test_tls_cleanup();
    return ret;
}
