/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ways in which known clients count and ack messages and answer pings, on the channels display
 * and cursor. Every one of them must get all messages.
 *
 * SET_ACK asks for an ack after each interval of messages, and for ACK_SYNC, which says that the
 * acks that follow are of that interval. The protocol leaves open what becomes of a count that
 * has begun.
 */
#ifndef TEST_CLIENT_ACKS_H_
#define TEST_CLIENT_ACKS_H_

#include <deque>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <vector>

#include <spice/protocol.h>

#include "test-glib-compat.h"

#include "push-visibility.h"

enum ClientCount {
    /* from SET_ACK on, which is not counted */
    CLIENT_FROM_SET_ACK,
    /* from SET_ACK on, which is the first */
    CLIENT_WITH_SET_ACK,
    /* an ack when the count is the interval; SET_ACK does not restart it, so that an interval
     * below the count is never met */
    CLIENT_UP_TO,
    /* an ack when as many as the interval have come since the last; SET_ACK is one of them */
    CLIENT_SINCE_ACK,
    CLIENT_EACH,
    /* always ten, whatever SET_ACK says, and before there was one */
    CLIENT_TEN,
};

enum ClientAcks {
    CLIENT_ACKS,
    CLIENT_ACKS_TWICE,
    /* no more after CLIENT_LAST_ACKED messages */
    CLIENT_ACKS_AT_FIRST,
};

enum ClientSync {
    CLIENT_SYNCS,
    /* only the first SET_ACK, which is all that upstream sends */
    CLIENT_SYNCS_ONCE,
    /* with the generation before */
    CLIENT_SYNCS_OLD,
    CLIENT_SYNCS_NEVER,
};

enum ClientPong {
    CLIENT_PONGS,
    CLIENT_PONGS_NEVER,
    /* when nothing else comes */
    CLIENT_PONGS_LATE,
    /* the same, and only one then */
    CLIENT_PONGS_ONE_BY_ONE,
    /* each tenth */
    CLIENT_PONGS_FEW,
    CLIENT_PONGS_WRONG,
    /* with each message, for the ids that could be next */
    CLIENT_PONGS_EARLY,
};

#define CLIENT_LAST_ACKED 500

struct AckingClient
{
    const char *name;
    /* the source that shows it, or why it is here */
    const char *source;
    ClientCount count;
    ClientAcks acks;
    ClientSync sync;
    ClientPong pong;
    /* keeps all answers until nothing more comes */
    bool late;
    /* It gets everything with upstream's rule (at most two intervals without an ack). For clients
     * with which that rule stops for ever, the other rules may stop as well. */
    bool recovers;
};

static const AckingClient acking_clients[] = {
    { "spice-gtk", "spice-gtk 0.35, virt-viewer, GNOME Boxes: spice_channel_recv_msg in "
      "src/spice-channel.c, spice_channel_handle_set_ack and _ping in src/channel-base.c",
      CLIENT_FROM_SET_ACK, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS, false, true },
    { "spice-html5", "spice-html5 of 2020: process_message and process_common_messages in "
      "src/spiceconn.js",
      CLIENT_WITH_SET_ACK, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS, false, true },
    { "PureSpice", "Looking Glass' PureSpice of 2026: channel_ack, onMessage_setAck and "
      "onMessage_ping in src/channel.c",
      CLIENT_UP_TO, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS, false, true },
    { "ryll", "ryll 0.3 (shakenfist-spice-renderer): process_messages and handle_message in "
      "src/channels/display.rs",
      CLIENT_SINCE_ACK, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS, false, true },
    { "eyeOS", "eyeOS' spice-web-client of 2019: getRawSpiceMessage and setAckWindow in "
      "network/spicechannel.js, PacketLinkProcess in network/packetlinkfactory.js",
      CLIENT_FROM_SET_ACK, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS, false, true },

    { "bursts", "a client that is busy drawing: acks come together, late",
      CLIENT_FROM_SET_ACK, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS, true, true },
    { "bursts, up to", "the same, of one that does not restart its count",
      CLIENT_UP_TO, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS, true, true },
    { "bursts, since", "the same, of one that looks back at its last ack",
      CLIENT_SINCE_ACK, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS, true, true },
    { "first sync", "SET_ACK comes once a channel, says all that upstream ever did",
      CLIENT_FROM_SET_ACK, CLIENT_ACKS, CLIENT_SYNCS_ONCE, CLIENT_PONGS, false, true },

    { "no pong", "ignores PING, as it may: nothing but a measurement hung on it",
      CLIENT_FROM_SET_ACK, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS_NEVER, false, true },
    { "no pong, up to", "the same, of one that does not restart its count",
      CLIENT_UP_TO, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS_NEVER, false, true },
    { "late pong", "answers PING when it has nothing else to do",
      CLIENT_FROM_SET_ACK, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS_LATE, false, true },
    { "slow pong", "the same, one at a time",
      CLIENT_FROM_SET_ACK, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS_ONE_BY_ONE, false, true },
    { "few pongs", "answers each tenth PING, lest it be kept busy by a server",
      CLIENT_FROM_SET_ACK, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS_FEW, false, true },
    { "wrong pong", "hostile, or broken: PONGs with ids that nobody sent",
      CLIENT_FROM_SET_ACK, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS_WRONG, false, true },
    { "early pong", "hostile: PONGs for PINGs to come",
      CLIENT_FROM_SET_ACK, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS_EARLY, false, true },

    /* these stopped upstream: its count of messages in flight fell below 0 */
    { "each", "acks every message",
      CLIENT_EACH, CLIENT_ACKS, CLIENT_SYNCS, CLIENT_PONGS, false, true },
    { "twice", "acks everything twice",
      CLIENT_FROM_SET_ACK, CLIENT_ACKS_TWICE, CLIENT_SYNCS, CLIENT_PONGS, false, true },
    /* upstream ignores acks of another generation than its last */
    { "old generation", "answers SET_ACK with the generation before",
      CLIENT_FROM_SET_ACK, CLIENT_ACKS, CLIENT_SYNCS_OLD, CLIENT_PONGS, false, false },
    { "no sync", "never answers SET_ACK, acks as it asks",
      CLIENT_FROM_SET_ACK, CLIENT_ACKS, CLIENT_SYNCS_NEVER, CLIENT_PONGS, false, false },
    { "acks unasked", "acks every ten messages, from the first on, and never heard of SET_ACK",
      CLIENT_TEN, CLIENT_ACKS, CLIENT_SYNCS_NEVER, CLIENT_PONGS, false, false },
    { "stops acking", "hangs, but reads",
      CLIENT_FROM_SET_ACK, CLIENT_ACKS_AT_FIRST, CLIENT_SYNCS, CLIENT_PONGS, false, false },
    { "mute", "reads, and never says anything",
      CLIENT_FROM_SET_ACK, CLIENT_ACKS_AT_FIRST, CLIENT_SYNCS_NEVER, CLIENT_PONGS_NEVER, true,
      false },
};

/* The client's end of a channel with mini headers. */
class AckingPeer
{
public:
    /* @fd: its end of the connection, which does not block */
    AckingPeer(const AckingClient &init_kind, int init_fd):
        kind(init_kind), fd(init_fd)
    {
        if (kind.count == CLIENT_TEN) {
            ack();
        }
    }

    /* Takes what there is. Returns whether there was anything. */
    bool step()
    {
        uint8_t data[64 * 1024];
        const size_t before = bytes.size();
        ssize_t n;

        while ((n = read(fd, data, sizeof(data))) > 0) {
            bytes.insert(bytes.end(), data, data + n);
        }
        const bool any = bytes.size() > before;
        size_t pos = 0;
        for (;;) {
            SpiceMiniDataHeader header;

            if (bytes.size() - pos < sizeof(header)) {
                break;
            }
            memcpy(&header, &bytes[pos], sizeof(header));
            const uint32_t size = GUINT32_FROM_LE(header.size);
            if (bytes.size() - pos - sizeof(header) < size) {
                break;
            }
            message(GUINT16_FROM_LE(header.type), bytes.data() + pos + sizeof(header), size);
            pos += sizeof(header) + size;
        }
        bytes.erase(bytes.begin(), bytes.begin() + pos);
        return any;
    }

    /* Nothing came for a while. */
    void idle()
    {
        while (!kept.empty()) {
            send(kept.front());
            kept.pop_front();
            if (kind.pong == CLIENT_PONGS_ONE_BY_ONE) {
                break;
            }
        }
    }

    /* Messages that are none of the protocol's own have come, numbered from 0 on. */
    uint32_t arrived() const
    {
        return numbered;
    }

private:
    struct Answer {
        uint16_t type;
        std::vector<uint8_t> body;
    };

    const AckingClient &kind;
    const int fd;
    std::vector<uint8_t> bytes;
    std::deque<Answer> kept;
    uint32_t interval = 0;
    /* messages since it was restarted, and what it was at the last ack */
    uint32_t count = 0;
    uint32_t acked = 0;
    uint32_t numbered = 0;
    bool synced = false;

    void send(const Answer &answer)
    {
        SpiceMiniDataHeader header;
        std::vector<uint8_t> all(sizeof(header) + answer.body.size());

        header.type = GUINT16_TO_LE(answer.type);
        header.size = GUINT32_TO_LE(answer.body.size());
        memcpy(all.data(), &header, sizeof(header));
        std::copy(answer.body.begin(), answer.body.end(), all.begin() + sizeof(header));
        /* a server that has hung up is seen by what does not arrive */
        const ssize_t n = write(fd, all.data(), all.size());
        g_assert_true(n == static_cast<ssize_t>(all.size()) || (n == -1 && errno != EAGAIN));
    }

    void answer(uint16_t type, const void *body, size_t size, bool late)
    {
        const auto from = static_cast<const uint8_t *>(body);
        const Answer answer = { type, std::vector<uint8_t>(from, from + size) };

        if (late || kind.late) {
            kept.push_back(answer);
        } else {
            send(answer);
        }
    }

    void ack()
    {
        const uint8_t none = 0;

        if (kind.acks == CLIENT_ACKS_AT_FIRST && numbered >= CLIENT_LAST_ACKED) {
            return;
        }
        for (int i = kind.acks == CLIENT_ACKS_TWICE ? 2 : 1; i > 0; --i) {
            answer(SPICE_MSGC_ACK, &none, 0, false);
        }
    }

    void ack_after(uint32_t messages)
    {
        if (messages && count == messages) {
            count = 0;
            ack();
        }
    }

    void message(uint16_t type, const uint8_t *body, uint32_t size)
    {
        ++count;
        switch (kind.count) {
        case CLIENT_FROM_SET_ACK:
        case CLIENT_UP_TO:
            /* as soon as the header has come */
            if (interval == 0) {
                count = 0;
            }
            ack_after(interval);
            handle(type, body, size);
            break;
        case CLIENT_WITH_SET_ACK:
            handle(type, body, size);
            ack_after(interval);
            break;
        case CLIENT_SINCE_ACK:
            handle(type, body, size);
            if (interval && count - acked >= interval) {
                acked = count;
                ack();
            }
            break;
        case CLIENT_EACH:
            handle(type, body, size);
            ack();
            break;
        case CLIENT_TEN:
            handle(type, body, size);
            ack_after(10);
            break;
        }
    }

    void handle(uint16_t type, const uint8_t *body, uint32_t size)
    {
        if (type == SPICE_MSG_SET_ACK) {
            set_ack(body, size);
        } else if (type == SPICE_MSG_PING) {
            ping(body, size);
        } else {
            uint32_t number;

            g_assert_cmpuint(size, >=, sizeof(number));
            memcpy(&number, body, sizeof(number));
            g_assert_cmpuint(number, ==, numbered);
            ++numbered;
        }
        if (kind.pong == CLIENT_PONGS_EARLY) {
            early_pongs();
        }
    }

    void set_ack(const uint8_t *body, uint32_t size)
    {
        uint32_t generation;

        g_assert_cmpuint(size, ==, 2 * sizeof(uint32_t));
        memcpy(&generation, body, sizeof(generation));
        memcpy(&interval, body + sizeof(generation), sizeof(interval));
        interval = GUINT32_FROM_LE(interval);
        if (kind.count == CLIENT_FROM_SET_ACK) {
            count = 0;
        } else if (kind.count == CLIENT_WITH_SET_ACK) {
            count = 1;
        }
        if (kind.sync == CLIENT_SYNCS_NEVER || (kind.sync == CLIENT_SYNCS_ONCE && synced)) {
            return;
        }
        synced = true;
        if (kind.sync == CLIENT_SYNCS_OLD) {
            generation = GUINT32_TO_LE(GUINT32_FROM_LE(generation) - 1);
        }
        answer(SPICE_MSGC_ACK_SYNC, &generation, sizeof(generation), false);
    }

    /* PING may be followed by bytes that mean nothing; PONG is what is before them. */
    struct Ping {
        uint32_t id;
        uint32_t time[2];
    };
    Ping last_ping = { };
    uint32_t pings = 0;

    void pong(const Ping &ping)
    {
        answer(SPICE_MSGC_PONG, &ping, sizeof(ping),
               kind.pong == CLIENT_PONGS_LATE || kind.pong == CLIENT_PONGS_ONE_BY_ONE);
    }

    void ping(const uint8_t *body, uint32_t size)
    {
        g_assert_cmpuint(size, >=, sizeof(last_ping));
        memcpy(&last_ping, body, sizeof(last_ping));
        if (kind.pong == CLIENT_PONGS_NEVER || (kind.pong == CLIENT_PONGS_FEW && ++pings % 10)) {
            return;
        }
        Ping said = last_ping;
        if (kind.pong == CLIENT_PONGS_WRONG) {
            said.id = ~said.id;
        }
        pong(said);
    }

    void early_pongs()
    {
        for (uint32_t ahead = 1; ahead <= 2; ++ahead) {
            Ping said = last_ping;

            said.id = GUINT32_TO_LE(GUINT32_FROM_LE(said.id) + ahead);
            pong(said);
        }
    }
};

#include "pop-visibility.h"

#endif /* TEST_CLIENT_ACKS_H_ */
