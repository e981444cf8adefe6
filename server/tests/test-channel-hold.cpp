/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * While the path is full, what an ack lets go waits for what the next lets go.
 */
#include <config.h>

#include <deque>
#include <vector>

#include "test-channel-batch.h"
#include "test-stream-sockets.h"

#include "push-visibility.h"

/* The path, in microseconds: a round trip, what a message takes, how often the client looks, how
 * long it is used until the channel knows it. */
#define DELAY 40000
#define MESSAGE_TIME 100
#define SPACE 2000
#define LONG_ENOUGH 1000000
/* microseconds after which nothing is held any more */
#define LATEST 20000

/* A channel that waits for acks, and a client that gives them when it is told to. */
struct HoldFixture: public Fixture
{
    std::vector<uint8_t> bytes;
    uint32_t interval = 0;
    uint32_t messages = 0;
    struct Ack {
        /* when what it is for has passed the path */
        int64_t time;
        /* of the SET_ACK that it answers, 0: it is for a group */
        uint32_t generation;
    };
    std::deque<Ack> acks;
    int64_t passed = 0;

    explicit HoldFixture(RedStream *(*make)(SpiceServer *, int *)=test_stream_new):
        Fixture(RedChannel::HandleAcks | RedChannel::MigrateAll, make)
    {
        rcc->push_set_ack();
        rcc->ack_zero_messages_window();
    }

    void answer(uint16_t type, const void *data, uint32_t size)
    {
        uint8_t buffer[sizeof(SpiceMiniDataHeader) + sizeof(uint32_t)];
        SpiceMiniDataHeader header;
        const ssize_t all = sizeof(header) + size;
        ssize_t n;

        g_assert_cmpint(all, <=, sizeof(buffer));
        header.type = type;
        header.size = size;
        memcpy(buffer, &header, sizeof(header));
        if (size) {
            memcpy(buffer + sizeof(header), data, size);
        }
        while ((n = write(peer, buffer, all)) < 0 && errno == EAGAIN) {
            run_events();
        }
        g_assert_cmpint(n, ==, all);
    }

    void message(uint16_t type, const uint8_t *data)
    {
        passed = MAX(passed, g_get_monotonic_time()) + MESSAGE_TIME;
        if (type == SPICE_MSG_SET_ACK) {
            uint32_t generation;

            memcpy(&generation, data, sizeof(generation));
            memcpy(&interval, data + sizeof(generation), sizeof(interval));
            acks.push_back({ passed, generation });
            messages = 0;
        } else if (++messages == interval) {
            acks.push_back({ passed, 0 });
            messages = 0;
        }
    }

    /* Takes what has arrived, and counts the acks it calls for. Returns whether there was
     * anything. */
    bool take()
    {
        uint8_t buffer[4096];
        SpiceMiniDataHeader header;
        ssize_t n;
        size_t pos = 0;
        const size_t before = bytes.size();

        while ((n = read(peer, buffer, sizeof(buffer))) > 0) {
            bytes.insert(bytes.end(), buffer, buffer + n);
        }
        const bool any = bytes.size() > before;
        while (bytes.size() - pos >= sizeof(header)) {
            memcpy(&header, &bytes[pos], sizeof(header));
            if (bytes.size() - pos < sizeof(header) + header.size) {
                break;
            }
            message(header.type, &bytes[pos] + sizeof(header));
            pos += sizeof(header) + header.size;
        }
        bytes.erase(bytes.begin(), bytes.begin() + pos);
        return any;
    }

    /* The server gets an ack and sends what it lets go. */
    void ack()
    {
        const uint32_t generation = acks.front().generation;

        acks.pop_front();
        if (generation) {
            answer(SPICE_MSGC_ACK_SYNC, &generation, sizeof(generation));
        } else {
            answer(SPICE_MSGC_ACK, nullptr, 0);
        }
        run_events();
    }

    void fill_pipe()
    {
        while (rcc->get_pipe_size() < 4000) {
            add_items(500);
        }
        rcc->push();
    }

    /* Uses the path until the channel knows it.
     * Returns how many acks let messages go of which nothing left at once. */
    int use_path()
    {
        const int64_t end = g_get_monotonic_time() + LONG_ENOUGH;
        int held = 0;

        while (g_get_monotonic_time() < end) {
            fill_pipe();
            run_events();
            take();
            while (!acks.empty() && g_get_monotonic_time() - acks.front().time >= DELAY) {
                const uint32_t before = rcc->get_pipe_size();

                ack();
                held += rcc->get_pipe_size() < before && !take();
            }
            g_usleep(SPACE);
        }
        return held;
    }
};

static void held_while_the_path_is_full()
{
    HoldFixture f;

    g_assert_cmpint(f.use_path(), >, 0);

    /* no ack comes any more */
    g_usleep(LATEST);
    f.run_events();
    f.take();
    g_assert_cmpuint(red_stream_pending(f.rcc->get_stream()), ==, 0);
    g_assert_true(f.bytes.empty());
}

/* As long as the path is not known an ack is all that keeps it busy. */
static void not_before_it_is_known()
{
    HoldFixture f;

    f.fill_pipe();
    f.run_events();
    g_assert_true(f.take());
    g_assert_false(f.acks.empty());
    for (size_t n = f.acks.size(); n > 0; --n) {
        const uint32_t before = f.rcc->get_pipe_size();

        f.ack();
        g_assert_true(f.take() || f.rcc->get_pipe_size() == before);
    }
}

static RedStream *tcp_stream_new(SpiceServer *server, int *peer)
{
    int sockets[2];

    test_make_sockets(TEST_TCP, 0, sockets);
    for (int fd : sockets) {
        red_socket_set_non_blocking(fd, true);
    }
    *peer = sockets[1];
    return red_stream_new(server, sockets[0]);
}

/* TCP, to which this path seems to be a fast one, is given no more than it needs. */
static void tells_the_stream_of_the_rate()
{
#ifdef TCP_NOTSENT_LOWAT
    HoldFixture f(tcp_stream_new);
    uint32_t limit;
    socklen_t size = sizeof(limit);

    /* on a busy machine it takes longer until the rate has stopped growing */
    for (int tries = 0; tries < 10; ++tries) {
        f.use_path();
        g_assert_cmpint(getsockopt(f.rcc->get_stream()->socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT,
                                   &limit, &size), ==, 0);
        if (limit < 2 * RED_STREAM_UNSENT_MIN) {
            return;
        }
    }
    g_error("it may hold %u bytes", limit);
#else
    g_test_skip("the kernel can't be told");
#endif
}

static const BatchTest tests[] = {
    { "full", "flow", held_while_the_path_is_full },
    { "unknown", "flow", not_before_it_is_known },
    { "rate", "flow", tells_the_stream_of_the_rate },
};

int main(int argc, char *argv[])
{
    return batch_test_main(argc, argv, "channel-hold", tests);
}
