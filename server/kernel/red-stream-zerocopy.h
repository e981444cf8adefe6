/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Large messages that the kernel reads from where they are (MSG_ZEROCOPY; Linux, TCP, no TLS).
 *
 * sendmsg returns at once, and what it took may be read until the peer has acked it, for a
 * retransmission even again. The kernel tells when that is over, a completion for each send, see
 * red-stream-errqueue.h: late, several at once, seldom out of order.
 *
 * Who owns the memory. A message is all in its marshaller, which holds a reference to whatever
 * it did not copy (a picture, or a drawable and so the guest's memory) until it is reset: the
 * pipe item is gone before, as a blocked channel shows. So when a message is written, its
 * marshaller is kept here, as it is, until the last of its sends is over, and the channel goes
 * on with a fresh one. To keep the message in the channel instead would allow one in a round
 * trip. What the egress copied to its own buffer, TLS, SASL and WebSocket frames is sent as ever.
 * Whoever gives a marshaller memory that it writes to again once the message has gone (sound
 * does, its messages have 2 KB) must send less than RED_STREAM_ZEROCOPY_MIN.
 *
 * How much. What the kernel takes is bounded by the socket's buffer, some MB; here by a number
 * of messages, as the display has 1000 drawables. Beyond it, or when the kernel has no memory to
 * tell (ENOBUFS), messages are copied. When the kernel says of several sends after each other that
 * it has copied anyway (loopback, veth, tun, somebody who listens) there is nothing to gain, and
 * zero copy is off for good. Of one that says nothing: a card that can't cut a large packet into
 * segments has a segment with the ends of two sends copied.
 *
 * The end. Waits for what was sent (before a guest's memory may go, for migration) also wait for
 * what is outstanding. A channel that is disconnected gives its memory back, and what is freed
 * must not be sent. The peer may ack for a moment that nobody notices, as the thread may be QEMU's
 * main loop (USB, ports); from far away it loses what it has not acked by then. Then the connection
 * is reset, by connect(AF_UNSPEC): close with SO_LINGER drops TCP's queue as well, but nobody is
 * told any more when the network card has let go of what it holds.
 */
#ifndef RED_STREAM_ZEROCOPY_H_
#define RED_STREAM_ZEROCOPY_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include <common/marshaller.h>

#include "red-common.h"
#include "red-stream-errqueue.h"
#include "red-stream-socket.h"

#include "push-visibility.h"

struct RedStreamZerocopyCounters {
    /* sends that the kernel reads from where they are, those that are over, those of them that
     * it has copied after all, and calls that it refused for want of memory */
    uint64_t sends;
    uint64_t completions;
    uint64_t copies;
    uint64_t refused;
    /* the most bytes that it could read at a time */
    uint64_t max_bytes;
};

/* Messages that are kept, and sends that are not over, at the most. */
#define RED_STREAM_ZEROCOPY_MESSAGES 64
#define RED_STREAM_ZEROCOPY_SENDS 1024
/* Sends after each other that the kernel has copied, after which there are no more. */
#define RED_STREAM_ZEROCOPY_COPIES 16
/* milliseconds that the peer has to ack what a stream has sent that ends, and then the kernel to let
 * go of it */
#define RED_STREAM_ZEROCOPY_WAIT 20

class RedStreamZerocopy final: public RedStreamErrqueueConsumer
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @errqueue reads what the kernel tells; @limit: bytes, what has no more is copied; @writes:
     * counts the calls of send that are more than one. */
    RedStreamZerocopy(RedStreamErrqueue *errqueue, int fd, const RedStreamSocket *ops,
                      uint32_t limit, bool tls, uint64_t *writes);
    ~RedStreamZerocopy();

    /* From now on what is sent is of messages that are given to keep. */
    void start();
    /* As RedStreamSocket::send; the first @own bytes, an entry of @iov, are of no message. */
    ssize_t send(const struct iovec *iov, int iovcnt, size_t own, bool more);
    /* The message of @marshaller has been written, or given up.
     * Returns what the next is to be made in, empty: @marshaller, or another one if the kernel
     * still reads it. */
    SpiceMarshaller *keep(SpiceMarshaller *marshaller);
    /* Bytes that the kernel may still read. */
    size_t outstanding() const { return bytes; }
    /* Wait until there are none, RED_STREAM_ZEROCOPY_WAIT at the most, then end the connection to have
     * it so, which may take as long once more. */
    void take_back();

    bool expects_notices() const override { return bytes > 0; }
    void notice(const RedStreamNotice &notice) override;
    void no_more_notices() override { release(); }

    /* For the statistics: on, or why not. */
    const char *get_state() const { return state; }
    const RedStreamZerocopyCounters &get_counters() const { return counters; }

private:
    void release();
    bool may_send(size_t size);
    bool wait();

    struct Message {
        SpiceMarshaller *marshaller;
        /* the first send after it */
        uint32_t end;
    };

    RedStreamErrqueue *const errqueue;
    const int fd;
    const RedStreamSocket *const ops;
    const uint32_t limit;
    const bool tls;
    uint64_t *const writes;
    RedStreamZerocopyCounters counters = { };
    const char *state;
    bool on = false;
    /* bytes of each send from the first one on that is not over, 0: it is */
    std::deque<size_t> sends;
    /* the number of the first of them */
    uint32_t begin = 0;
    /* their sum */
    size_t bytes = 0;
    /* the latest that were copied, after each other */
    uint32_t copies = 0;
    /* the end of the last message that was given to keep */
    uint32_t kept_end = 0;
    std::deque<Message> messages;
};

/* For RedStreamSocket, see there. */
bool red_stream_zerocopy_set(int fd);
ssize_t red_stream_zerocopy_send(int fd, const struct iovec *iov, int iovcnt, bool more);
void red_stream_zerocopy_abort(int fd);

#include "pop-visibility.h"

#endif /* RED_STREAM_ZEROCOPY_H_ */
