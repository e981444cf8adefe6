/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A message with a descriptor (a frame that is shared with a local client) and a client that does
 * not read: the thread goes on, and all arrives in order when the client reads.
 */
#include <config.h>

#include <vector>

#include <spice/protocol.h>

#include "test-channel-client.h"
#include "win-alarm.h"

#include "push-visibility.h"

/* what a test has at most, as waiting must take no time */
#define TEST_SECONDS 20
#define MAX_SIZE 3000

struct SizedItem final: public RedPipeItemNum<RED_PIPE_ITEM_TYPE_CHANNEL_BASE>
{
    explicit SizedItem(uint32_t init_size): size(init_size) {}
    const uint32_t size;
};

struct FdClient final: public TestChannelClient
{
    using TestChannelClient::TestChannelClient;

    void send_item(RedPipeItem *item) override
    {
        static uint8_t data[MAX_SIZE];

        init_send_data(SPICE_MSG_MIGRATE_DATA);
        spice_marshaller_add_by_ref(get_marshaller(), data, static_cast<SizedItem *>(item)->size);
        spice_marshaller_add_fd(get_marshaller(), STDOUT_FILENO);
        begin_send_message();
    }
};

struct FdFixture: public TestServer
{
    red::shared_ptr<TestChannel> channel =
        red::make_shared<TestChannel>(server, SPICE_CHANNEL_PORT, 0, RedChannel::MigrateAll);
    red::shared_ptr<FdClient> rcc;
    int peer;
    std::vector<uint8_t> bytes;
    unsigned descriptors = 0;

    FdFixture()
    {
        rcc = red::make_shared<FdClient>(channel.get(), client, test_stream_new(server, &peer),
                                         &caps);
        g_assert_true(rcc->init());
        test_stream_shrink(rcc->get_stream());
        alarm(TEST_SECONDS);
    }

    ~FdFixture()
    {
        alarm(0);
        rcc->disconnect();
        rcc.reset();
        channel.reset();
        close(peer);
    }

    /* Returns whether there was anything. */
    bool receive()
    {
        const size_t before = bytes.size();

        for (;;) {
            uint8_t data[4096];
            union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int))];
            } control;
            struct iovec part;
            struct msghdr message = { };

            part.iov_base = data;
            part.iov_len = sizeof(data);
            message.msg_iov = &part;
            message.msg_iovlen = 1;
            message.msg_control = control.space;
            message.msg_controllen = sizeof(control.space);
            const ssize_t n = recvmsg(peer, &message, 0);
            if (n <= 0) {
                return bytes.size() > before;
            }
            if (const struct cmsghdr *got = CMSG_FIRSTHDR(&message)) {
                int fd;

                g_assert_cmpint(got->cmsg_type, ==, SCM_RIGHTS);
                memcpy(&fd, CMSG_DATA(got), sizeof(fd));
                close(fd);
                ++descriptors;
            }
            bytes.insert(bytes.end(), data, data + n);
        }
    }
};

/* The socket is full within a message for some of @size, and for some where its descriptor goes. */
static void fill_socket(uint32_t size, unsigned *blocked_with_all)
{
    FdFixture f;
    unsigned messages = 0;

    do {
        f.rcc->pipe_add(red::make_shared<SizedItem>(size));
        ++messages;
        f.rcc->push();
        /* what is held for more to come leaves */
        f.run_events();
    } while (!f.rcc->is_blocked());
    g_assert_true(f.rcc->is_connected());
    /* nothing gets lost behind it */
    f.rcc->pipe_add(red::make_shared<SizedItem>(size));
    ++messages;
    f.rcc->push();
    f.run_events();
    g_assert_true(f.rcc->is_connected());

    f.receive();
    *blocked_with_all += f.bytes.size() % (sizeof(SpiceMiniDataHeader) + size + 1) ==
                         sizeof(SpiceMiniDataHeader) + size;
    do {
        f.run_events();
    } while (f.receive() || f.rcc->is_blocked() || !f.rcc->pipe_is_empty());

    size_t pos = 0;
    for (unsigned i = 0; i < messages; ++i) {
        SpiceMiniDataHeader header;

        g_assert_cmpuint(f.bytes.size() - pos, >=, sizeof(header) + size + 1);
        memcpy(&header, &f.bytes[pos], sizeof(header));
        g_assert_cmpuint(GUINT32_FROM_LE(header.size), ==, size);
        pos += sizeof(header) + size;
        /* which is sent with a descriptor */
        g_assert_cmpint(f.bytes[pos++], ==, '@');
    }
    g_assert_cmpuint(pos, ==, f.bytes.size());
    g_assert_cmpuint(f.descriptors, ==, messages);
}

static void test_full_socket()
{
    unsigned blocked_with_all = 0;

    for (uint32_t size = 1; size < MAX_SIZE; size += 60) {
        fill_socket(size, &blocked_with_all);
    }
    g_test_message("%u times only the descriptor was left", blocked_with_all);
    g_assert_cmpuint(blocked_with_all, >, 0);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/send-fd/full-socket", test_full_socket);
    return g_test_run();
}
