/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends large messages with MSG_ZEROCOPY (Linux, TCP, no TLS): the kernel reads their memory
 * instead of copying it.
 *
 * sendmsg returns at once. The kernel may read the memory until the peer has acked it, and again
 * for a retransmission. It then reports a completion for each send, see red-stream-errqueue.h:
 * late, several at once, rarely out of order.
 *
 * Ownership. A marshaller holds references to all memory of its message that it did not copy (an
 * image, or a drawable and so the guest's memory) until it is reset; the pipe item may be gone
 * before. So when a message is written, its marshaller is kept ("pinned") here until its last send
 * is complete, and the channel continues with a fresh one. Keeping the message in the channel
 * instead would allow one message per round trip. Bytes that the output buffer copied, TLS, and
 * frames of SASL and WebSocket are sent without MSG_ZEROCOPY. Code that gives a marshaller memory
 * which it writes to again after the message is sent must send less than RED_STREAM_ZEROCOPY_MIN
 * (sound does: its messages have 2 KB).
 *
 * Limits. The kernel takes up to a socket buffer, some MB. The number of pinned messages is
 * limited here, as the display has 1000 drawables. Beyond that, or if the kernel has no memory for
 * completions (ENOBUFS), messages are copied. If the kernel reports several sends in a row as
 * copied after all (loopback, veth, tun, a packet capture), zero copy gains nothing and is turned
 * off for this stream. One such report does not count: a network card without segmentation causes
 * it for the segment that joins two sends.
 *
 * Disconnect. Waits for sent data (before the guest's memory may be reused, and for migration)
 * include the outstanding sends. A channel that is disconnected releases its memory, and freed
 * memory must not be sent. So the peer has RED_STREAM_ZEROCOPY_WAIT to ack, short because the
 * thread may be QEMU's main loop (USB, ports). Then connect(AF_UNSPEC) resets the connection,
 * and a client that is farther away loses what it has not acked. close() with SO_LINGER drops
 * TCP's queue as well, but then no completion says when the network card has released its
 * memory.
 */
#ifndef RED_STREAM_ZEROCOPY_H_
#define RED_STREAM_ZEROCOPY_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include <common/marshaller.h>

#include "red-common.h"
#include "red-stream-egress.h"
#include "red-stream-errqueue.h"

#include "push-visibility.h"

struct RedStreamOffloadSocket;

struct RedStreamZerocopyCounters {
    /* sends with MSG_ZEROCOPY; completed ones; those of these that the kernel copied after all;
     * calls that failed with ENOBUFS */
    uint64_t sends;
    uint64_t completions;
    uint64_t copies;
    uint64_t refused;
    /* maximum of outstanding() */
    uint64_t max_bytes;
};

/* bytes; smaller payloads cost more to pin than to copy, and may be written to again */
#define RED_STREAM_ZEROCOPY_MIN 4096
#define RED_STREAM_ZEROCOPY_LIMIT (16 * 1024 * 1024)
/* Maximum number of messages pinned, and of outstanding sends. */
#define RED_STREAM_ZEROCOPY_MESSAGES 64
#define RED_STREAM_ZEROCOPY_SENDS 1024
/* Sends in a row that the kernel copied, after which zero copy is turned off. */
#define RED_STREAM_ZEROCOPY_COPIES 16
/* milliseconds at the end of a stream: for the peer to ack, and then for the kernel to release the
 * memory */
#define RED_STREAM_ZEROCOPY_WAIT 20

class RedStreamZerocopy final: public RedStreamErrqueueConsumer
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @errqueue: delivers completions; @limit: sends of at most so many bytes are copied */
    RedStreamZerocopy(RedStreamErrqueue *errqueue, RedStreamEgress *egress,
                      const RedStreamOffloadSocket *ops, uint32_t limit, bool tls);
    ~RedStreamZerocopy();

    /* From now on the caller passes each message to keep(). */
    void start();
    /* As RedStreamSender::send. The first @own bytes are in no marshaller and are copied. */
    ssize_t send(const struct iovec *iov, int iovcnt, size_t own, bool more);
    /* The message of @marshaller was written, or dropped. Takes ownership of @marshaller if the
     * kernel may still read it. Returns the marshaller for the next message, empty: @marshaller or
     * a new one. */
    SpiceMarshaller *keep(SpiceMarshaller *marshaller);
    /* Bytes that the kernel may still read. */
    size_t outstanding() const { return bytes; }
    /* Wait until outstanding() is 0, at most RED_STREAM_ZEROCOPY_WAIT. Then reset the connection
     * and wait as long again. Blocks. */
    void take_back();

    bool expects_notices() const override { return bytes > 0; }
    void notice(const RedStreamNotice &notice) override;
    void no_more_notices() override { release(); }

    /* For the statistics: "on", or why it is off. */
    const char *get_state() const { return state; }
    const RedStreamZerocopyCounters &get_counters() const { return counters; }

private:
    void release();
    bool may_send(size_t size);
    bool wait();

    struct Message {
        SpiceMarshaller *marshaller;
        /* the number of the first send after it */
        uint32_t end;
    };

    RedStreamErrqueue *const errqueue;
    RedStreamEgress *const egress;
    const int fd;
    const RedStreamOffloadSocket *const ops;
    const uint32_t limit;
    const bool tls;
    RedStreamZerocopyCounters counters = { };
    const char *state;
    bool on = false;
    /* bytes of each send from the first outstanding one, 0: it is complete */
    std::deque<size_t> sends;
    /* the number of the first of them */
    uint32_t begin = 0;
    /* their sum */
    size_t bytes = 0;
    /* number of the latest sends in a row that were copied */
    uint32_t copies = 0;
    /* the end of the last message passed to keep() */
    uint32_t kept_end = 0;
    std::deque<Message> messages;
};

/* For RedStreamOffloadSocket, see there. */
bool red_stream_zerocopy_set(int fd);
ssize_t red_stream_zerocopy_send(int fd, const struct iovec *iov, int iovcnt, bool more);
void red_stream_zerocopy_abort(int fd);

#include "pop-visibility.h"

#endif /* RED_STREAM_ZEROCOPY_H_ */
