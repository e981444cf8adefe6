/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A channel whose messages are three iovecs each, its peer, and what its stream counted,
 * for tests of what becomes of a pipe. */
#ifndef TEST_CHANNEL_BATCH_H_
#define TEST_CHANNEL_BATCH_H_

#include <string>
#include <unistd.h>

#include <spice/protocol.h>

#include "red-stream-counters.h"
#include "red-stream-policy.h"
#include "test-channel-client.h"

#include "push-visibility.h"

/* a message of three iovecs, as most are */
#define PART_SIZE 30
#define MESSAGE_SIZE (sizeof(SpiceMiniDataHeader) + 2 * PART_SIZE)
/* or a large one */
#define LARGE_PART_SIZE (1024 * 1024)
#define LARGE_ITEM (RED_PIPE_ITEM_TYPE_CHANNEL_BASE + 1)

/* What the stream of the latest Fixture has counted, when that is gone. */
static RedStreamCounters last_counters;

struct ThreePartClient final: public TestChannelClient
{
    using TestChannelClient::TestChannelClient;
    using RedChannelClient::start_connectivity_monitoring;

    void send_item(RedPipeItem *item) override
    {
        static uint8_t data[2][LARGE_PART_SIZE];
        const size_t size = item->type == LARGE_ITEM ? LARGE_PART_SIZE : PART_SIZE;

        init_send_data(SPICE_MSG_MIGRATE_DATA);
        spice_marshaller_add_by_ref(get_marshaller(), data[0], size);
        spice_marshaller_add_by_ref(get_marshaller(), data[1], size);
        begin_send_message();
    }
};

struct Fixture: public TestServer
{
    red::shared_ptr<TestChannel> channel;
    red::shared_ptr<ThreePartClient> rcc;
    int peer;

    /* @make: a stream and its other end; @type: of channel */
    explicit Fixture(RedChannel::CreationFlags flags=RedChannel::MigrateAll,
                     RedStream *(*make)(SpiceServer *, int *)=test_stream_new,
                     int type=SPICE_CHANNEL_PORT)
    {
        channel = red::make_shared<TestChannel>(server, type, 0, flags);
        RedStream *stream = make(server, &peer);
        red_stream_set_channel(stream, 0, type, 0);
        rcc = red::make_shared<ThreePartClient>(channel.get(), client, stream, &caps);
        g_assert_true(rcc->init());
    }

    ~Fixture()
    {
        if (rcc) {
            rcc->disconnect();
            last_counters = red_stream_get_counters(rcc->get_stream());
            rcc.reset();
        }
        channel.reset();
        close(peer);
    }

    void add_items(int count)
    {
        for (int i = 0; i < count; ++i) {
            rcc->pipe_add_type(RED_PIPE_ITEM_TYPE_CHANNEL_BASE);
        }
    }

    /* Bytes that have arrived and were not read yet. */
    size_t receive()
    {
        static uint8_t buffer[1024 * 1024];
        size_t size = 0;
        ssize_t n;

        while ((n = read(peer, buffer, sizeof(buffer))) > 0) {
            size += n;
        }
        return size;
    }
};

/* A channel that waits for acks, after its first SET_ACK. */
struct AckFixture: public Fixture
{
    AckFixture(): Fixture(RedChannel::HandleAcks | RedChannel::MigrateAll)
    {
        rcc->push_set_ack();
        rcc->ack_zero_messages_window();
        rcc->push();
        run_events();
        receive();
    }
};

/* Everything that may be sent has been when sending stops for an ack. @window: messages */
static inline void test_ack_missing(size_t window)
{
    Fixture f(RedChannel::HandleAcks | RedChannel::MigrateAll);
    const size_t set_ack = sizeof(SpiceMiniDataHeader) + sizeof(SpiceMsgSetAck);

    f.rcc->ack_set_client_window(20);
    f.rcc->push_set_ack();
    f.rcc->ack_zero_messages_window();
    f.add_items(1000);
    f.rcc->push();
    /* sending stops above the window, in which SET_ACK counts */
    g_assert_cmpuint(f.receive(), ==, set_ack + window * MESSAGE_SIZE);
    g_assert_false(f.rcc->is_blocked());
    g_assert_false(f.rcc->pipe_is_empty());
}

/* @function is run in a process of its own, as the policy is read once a process. */
struct BatchTest
{
    const char *name;
    const char *policy;
    void (*function)();
};

static inline void batch_test_run(gconstpointer data)
{
    const BatchTest *test = static_cast<const BatchTest *>(data);

    if (g_test_subprocess()) {
        test->function();
        return;
    }
    g_setenv("SPICE_STREAM", test->policy, TRUE);
    g_test_trap_subprocess(nullptr, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
    g_test_trap_assert_passed();
}

/* All of a main function. @name: of the file of tests. */
template <size_t COUNT>
static inline int batch_test_main(int argc, char *argv[], const char *name,
                                  const BatchTest (&tests)[COUNT])
{
    g_test_init(&argc, &argv, nullptr);
    for (const BatchTest &test : tests) {
        const std::string path = std::string("/server/") + name + "/" + test.name;
        g_test_add_data_func(path.c_str(), &test, batch_test_run);
    }
    return g_test_run();
}

#include "pop-visibility.h"

#endif /* TEST_CHANNEL_BATCH_H_ */
