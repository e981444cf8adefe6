/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include <common/log.h>

#include "red-stream-egress.h"

#ifndef IOV_MAX
#define IOV_MAX 1024    /* fact: limit of sendmsg() */
#endif
/* Entries of the arrays of this file, which are on the stack: no user notices half or twice as many, as messages
 * have a dozen. */
#define IOV_COUNT 64

RedStreamEgress::RedStreamEgress(int init_socket, const RedStreamPolicy *init_policy,
                                 const RedStreamSocket *init_ops):
    socket(init_socket), policy(init_policy),
    ops(init_ops ? init_ops : &red_stream_kernel_socket),
    wire(RED_STREAM_EGRESS_MAX)
{
}

ssize_t RedStreamEgress::fail(int error_number)
{
    error = error_number;
    errno = error_number;
    return -1;
}

void RedStreamEgress::note_buffered()
{
    counters.max_buffered = std::max<uint64_t>(counters.max_buffered, pending());
}

void RedStreamEgress::note_flush()
{
    if (unflushed) {
        ++counters.flushes;
        unflushed = 0;
    }
}

/* Give the kernel wire and then the bytes of @iov, of which it can take at most
 * IOV_COUNT - 1 entries if wire is not empty.
 * Returns the bytes of @iov taken, 0 also if the kernel took nothing now (which sets
 * blocked), or -1 with the errno that ended the connection. */
ssize_t RedStreamEgress::send(const struct iovec *iov, int iovcnt, bool more)
{
    struct iovec both[IOV_COUNT];
    const size_t size = red_iov_size(iov, iovcnt);
    const size_t wire_size = wire.size();

    if (wire_size) {
        spice_assert(iovcnt < IOV_COUNT);
        both[0].iov_base = const_cast<uint8_t *>(wire.start());
        both[0].iov_len = wire_size;
        std::copy(iov, iov + iovcnt, both + 1);
        iov = both;
        ++iovcnt;
    }

    ssize_t n;
    do {
        n = ops->send(socket, iov, iovcnt, more);
        ++counters.writes;
    } while (n == -1 && errno == EINTR);

    if (n == -1) {
        if (errno != EAGAIN && errno != EWOULDBLOCK) {
            return fail(errno);
        }
        ++counters.eagains;
        n = 0;
    } else {
        counters.written_bytes += n;
        held = more;
    }
    blocked = static_cast<size_t>(n) < wire_size + size;
    if (static_cast<size_t>(n) < wire_size) {
        wire.consume(n);
        return 0;
    }
    wire.consume(wire_size);
    return n - wire_size;
}

/* If the kernel took less than it was given, try again. Returns false, with errno, if it
 * still does or the connection has ended. */
bool RedStreamEgress::unblock(bool more)
{
    if (!blocked) {
        return true;
    }
    blocked = false;
    if (wire.size() && send(nullptr, 0, more) < 0) {
        return false;
    }
    if (blocked) {
        errno = EAGAIN;
        return false;
    }
    return true;
}

ssize_t RedStreamEgress::writev(const struct iovec *iov, int iovcnt, unsigned flags)
{
    const size_t size = red_iov_size(iov, iovcnt);

    if (error) {
        errno = error;
        return -1;
    }
    if (size == 0) {
        return 0;
    }
    if (!unblock(true)) {
        return -1;
    }

    const ssize_t n = write_plain(iov, iovcnt, size, flags);
    if (n < 0) {
        errno = error;
        return -1;
    }
    note_buffered();
    if (n == 0) {
        errno = EAGAIN;
        return -1;
    }

    if (flags & RED_STREAM_MESSAGE_START) {
        ++counters.messages;
    }
    counters.message_bytes += n;
    unflushed += n;
    if (static_cast<size_t>(n) == size && !(flags & RED_STREAM_MORE)) {
        if (blocked) {
            note_flush();
        } else if (flush() < 0) {
            return -1;
        }
    }
    return n;
}

/* The functions below return the bytes accepted, 0 if none can be now, or -1 with the
 * errno that ended the connection. They are called when not blocked. */

ssize_t RedStreamEgress::write_plain(const struct iovec *iov, int iovcnt, size_t size, unsigned flags)
{
    if (policy->batch) {
        return batch_plain(iov, iovcnt, size, flags);
    }
    const int count = std::min(iovcnt, IOV_MAX);
    const ssize_t n = send(iov, count, (flags & RED_STREAM_MORE) || count < iovcnt);

    /* the caller repeats the rest */
    blocked = false;
    return n;
}

ssize_t RedStreamEgress::batch_plain(const struct iovec *iov, int iovcnt, size_t size, unsigned flags)
{
    const bool more = flags & RED_STREAM_MORE;

    if (wire.size() + size <= RED_STREAM_EGRESS_MAX) {
        wire.append(iov, iovcnt);
        return size;
    }

    struct iovec head[IOV_COUNT - 1];
    /* one byte is kept back, so that the flush has something to send */
    const size_t keep = more ? 1 : 0;
    size_t head_size = size - keep;
    const int headcnt = red_iov_head(head, IOV_COUNT - 1, iov, iovcnt, &head_size);
    const bool whole = head_size == size - keep;

    const ssize_t n = send(head, headcnt, more || !whole);
    if (n < 0 || blocked || !whole) {
        return n;
    }
    wire.append(iov, iovcnt, head_size);
    return size;
}

ssize_t RedStreamEgress::flush()
{
    if (error) {
        errno = error;
        return -1;
    }
    note_flush();
    if (!unblock(false)) {
        return error ? -1 : pending();
    }
    if (wire.size() && !blocked && send(nullptr, 0, false) < 0) {
        return -1;
    }
    if (pending() == 0) {
        push_held();
    } else {
        note_buffered();
    }
    return pending();
}

/* Make the kernel send what it may still hold back. */
void RedStreamEgress::push_held()
{
    if (held) {
        /* a message was announced, but none was written */
        ++counters.setsockopts;
        ops->set_cork(socket, false);
    }
    held = false;
}
