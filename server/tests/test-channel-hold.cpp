/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * While the path is full, what an ack lets go waits for what the next lets go.
 */
#include <config.h>

#include <deque>
#include <vector>

#include "test-channel-batch.h"

#include "push-visibility.h"

/* The path, in microseconds: a round trip, an ack every so often, how long it is used until
 * the channel knows it. */
#define DELAY 40000
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
    /* when the messages that each ack is for had arrived */
    std::deque<int64_t> acks;

    HoldFixture(): Fixture(RedChannel::HandleAcks | RedChannel::MigrateAll)
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
        if (type == SPICE_MSG_SET_ACK) {
            /* generation and interval */
            memcpy(&interval, data + sizeof(uint32_t), sizeof(interval));
            answer(SPICE_MSGC_ACK_SYNC, data, sizeof(uint32_t));
            messages = 0;
        } else if (++messages == interval) {
            acks.push_back(g_get_monotonic_time());
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
        answer(SPICE_MSGC_ACK, nullptr, 0);
        acks.pop_front();
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
            if (!acks.empty() && g_get_monotonic_time() - acks.front() >= DELAY) {
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

static const BatchTest tests[] = {
    { "full", "flow", held_while_the_path_is_full },
    { "unknown", "flow", not_before_it_is_known },
};

int main(int argc, char *argv[])
{
    return batch_test_main(argc, argv, "channel-hold", tests);
}
