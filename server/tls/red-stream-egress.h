/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The output buffer of a stream ("egress" in names), its bottom layer: takes the bytes of
 * messages and passes them to the kernel. TLS streams have none.
 *
 *   RedChannelClient -> red_stream_writev_flags -> [SASL] -> [WebSocket] -> egress
 *
 * RedStreamPolicy decides how (red-stream-policy.h). In normal and cork there is no
 * output buffer: red-stream.cpp writes, as upstream does. In more every call of
 * writev() ends in a system call. In batch:
 *
 * - Small messages are copied one behind the other. Large payloads are not copied: the
 *   kernel reads what the buffer has no room for from the caller's memory.
 * - Bytes are sent when a buffer is full, when a call says that no message follows, or
 *   at flush(). No timer sends them.
 * - While another message is announced (RED_STREAM_MORE), the last bytes of the latest
 *   message stay here: a flush needs bytes to send, as a send without MSG_MORE makes the
 *   kernel send all that it holds (else it takes a setsockopt).
 *
 * Back-pressure: accepted bytes may still be here when writev() returns; see pending().
 * While the kernel takes none, no further byte is accepted, so that messages wait in the
 * channel's pipe, where they can be merged and dropped. At most RED_STREAM_EGRESS_MAX
 * bytes are buffered.
 *
 * Not thread safe; used from the thread of the channel.
 */
#ifndef RED_STREAM_EGRESS_H_
#define RED_STREAM_EGRESS_H_

#include "red-common.h"
#include "red-stream-policy.h"
#include "red-stream-buffer.h"
#include "red-stream-counters.h"
#include "red-stream-socket.h"
#include "utils.hpp"

#include "push-visibility.h"

/* Flags of a write. */
enum {
    /* another message or a flush follows at once */
    RED_STREAM_MORE = 1 << 0,
    /* the first byte is the first of a message */
    RED_STREAM_MESSAGE_START = 1 << 1,
};

/* Maximum number of bytes buffered: then they are sent, even if another message is announced. Half as many would
 * double the system calls for bursts of images. */
#define RED_STREAM_EGRESS_MAX (32 * 1024)

class RedStreamEgress
{
public:
    SPICE_CXX_GLIB_ALLOCATOR

    /* @socket stays the caller's and outlives the egress. @ops: null for those of the kernel. */
    RedStreamEgress(int socket, const RedStreamPolicy *policy,
                    const RedStreamSocket *ops = nullptr);

    /* Accept the bytes of @iov or a part of them; the caller passes the rest again, from
     * the same or other memory. @flags: RED_STREAM_MORE, RED_STREAM_MESSAGE_START.
     * Returns the number of bytes accepted, 0 only if @iov is empty, or -1 with errno:
     * EAGAIN (the kernel takes nothing now) or the error that ended the connection, which
     * every later call returns again. */
    ssize_t writev(const struct iovec *iov, int iovcnt, unsigned flags);

    /* Send all buffered bytes, and have the kernel send incomplete segments as well.
     * Returns the number of bytes that the kernel did not take yet (call again when the
     * socket is writable), or -1 with the errno that ended the connection. */
    ssize_t flush();

    /* Bytes accepted that the kernel has not taken yet. */
    size_t pending() const { return wire.size(); }

    /* A copy of the counters since the egress was made. */
    RedStreamCounters get_counters() const { return counters; }

private:
    ssize_t write_plain(const struct iovec *iov, int iovcnt, size_t size, unsigned flags);
    ssize_t batch_plain(const struct iovec *iov, int iovcnt, size_t size, unsigned flags);
    bool unblock(bool more);
    ssize_t send(const struct iovec *iov, int iovcnt, bool more);
    void push_held();
    ssize_t fail(int error_number);
    void note_flush();
    void note_buffered();

    const int socket;
    const RedStreamPolicy *const policy;
    const RedStreamSocket *ops;

    /* bytes for the kernel */
    RedStreamBuffer wire;

    /* the kernel took only a part of the last send */
    bool blocked = false;
    /* the kernel may hold an incomplete segment (MSG_MORE) */
    bool held = false;
    /* errno that ended the connection, 0: none */
    int error = 0;

    /* bytes accepted since the last flush */
    uint64_t unflushed = 0;
    RedStreamCounters counters = { };
};

#include "pop-visibility.h"

#endif /* RED_STREAM_EGRESS_H_ */
