/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include <common/log.h>

#include "red-stream-egress.h"

/* A record is longer than its plaintext by this at most: 22 bytes in TLS 1.3, 29 in TLS 1.2 with
 * AES-GCM, more with CBC and padding. */
#define RECORD_EXPANSION (SSL3_RT_HEADER_LENGTH + SSL3_RT_MAX_ENCRYPTED_OVERHEAD)

#define CLEAR_SIZE RED_STREAM_RECORD_MAX
#define WIRE_SIZE (RED_STREAM_EGRESS_MAX - CLEAR_SIZE)

/* From this number of buffered bytes on they are sent, even if another message is announced; one more record fits
 * behind. Half as many would double the system calls for bursts of images. */
#define WIRE_LIMIT (WIRE_SIZE - RED_STREAM_RECORD_MAX - RECORD_EXPANSION)

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
    wire(WIRE_SIZE), clear(CLEAR_SIZE), tcp_info(init_socket, init_policy)
{
}

bool RedStreamEgress::set_ssl(SSL *init_ssl)
{
    ssl = init_ssl;
    if (!ops->set_ssl(ssl, this)) {
        clear_ssl();
    }
    return ssl != nullptr;
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
        counters.floor_records += (unflushed + RED_STREAM_RECORD_MAX - 1) / RED_STREAM_RECORD_MAX;
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

    /* in gather MSG_MORE is never set */
    more = more && policy->more;

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
    if (!blocked && repeat_size) {
        encrypt_clear(repeat_size, more);
        if (error) {
            errno = error;
            return false;
        }
    }
    if (blocked) {
        errno = EAGAIN;
        return false;
    }
    return true;
}

inline ssize_t RedStreamEgress::accept(const struct iovec *iov, int iovcnt, unsigned flags)
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
    if (pending() == 0) {
        tcp_info.update(ops, ssl != nullptr);
    }

    const ssize_t n = ssl ? write_records(iov, iovcnt, size, flags) : write_plain(iov, iovcnt, size, flags);
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
        } else if (send_all() < 0) {
            return -1;
        }
    }
    return n;
}

ssize_t RedStreamEgress::writev(const struct iovec *iov, int iovcnt, unsigned flags)
{
    if (in_use) {
        errno = EAGAIN;
        return -1;
    }
    in_use = true;
    const ssize_t n = accept(iov, iovcnt, flags);
    in_use = false;
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

    if (wire.size() + size <= WIRE_LIMIT) {
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

ssize_t RedStreamEgress::write_records(const struct iovec *iov, int iovcnt, size_t size, unsigned flags)
{
    const bool more = flags & RED_STREAM_MORE;

    if (policy->batch) {
        return batch_records(iov, iovcnt, size, flags);
    }
    if (policy->gather && size <= policy->gather_threshold) {
        clear.append(iov, iovcnt);
        if (!encrypt_clear(size, more) && !blocked) {
            return -1;
        }
        return size;
    }

    size_t accepted = 0;
    for (int i = 0; i < iovcnt; ++i) {
        const uint8_t *data = static_cast<uint8_t *>(iov[i].iov_base);
        size_t left = iov[i].iov_len;

        while (left && !blocked) {
            const size_t n = std::min<size_t>(left, RED_STREAM_RECORD_MAX);

            accepted += n;
            if (!encrypt(data, n, more || accepted < size) && !blocked) {
                return -1;
            }
            data += n;
            left -= n;
        }
    }
    return accepted;
}

ssize_t RedStreamEgress::batch_records(const struct iovec *iov, int iovcnt, size_t size, unsigned flags)
{
    const size_t record_size = tcp_info.get_record_size();
    size_t accepted = 0;

    if (flags & RED_STREAM_MESSAGE_START) {
        last_message = clear.size();
    }
    for (int i = 0; i < iovcnt; ++i) {
        const uint8_t *data = static_cast<uint8_t *>(iov[i].iov_base);
        size_t left = iov[i].iov_len;

        while (left && !blocked) {
            size_t n = 0;

            if (clear.size() >= record_size || (clear.size() && left >= RED_STREAM_RECORD_MAX)) {
                /* the record is full, or a payload follows that fills records without being copied */
                if (!encrypt_clear(clear.size(), true) && !blocked) {
                    return -1;
                }
            } else if (clear.size() == 0 && left >= record_size && size - accepted > record_size) {
                n = record_size;
                if (!encrypt(data, n, true) && !blocked) {
                    return -1;
                }
            } else {
                n = std::min(left, record_size - clear.size());
                clear.append(data, n);
            }
            data += n;
            left -= n;
            accepted += n;
        }
    }
    return accepted;
}

/* Make a record of @data. @more: another record follows.
 * Returns false if that can't be now, which sets blocked (@data is accepted all the
 * same), or if the connection has ended. */
bool RedStreamEgress::encrypt(const void *data, size_t size, bool more)
{
    encrypting = true;
    encrypting_more = more;
    const int n = ops->encrypt(ssl, this, data, size);
    encrypting = false;
    encrypting_more = false;

    if (n > 0) {
        ++counters.records;
        counters.record_bytes += n;
        repeat_size = 0;
        return true;
    }

    if (n == 0) {
        /* the same bytes again, and no others */
        if (data != clear.start()) {
            clear.append(data, size);
        }
        repeat_size = size;
        blocked = true;
        return false;
    }
    fail(error ? error : EPIPE);
    return false;
}

/* Make a record of the first @size bytes of clear. */
bool RedStreamEgress::encrypt_clear(size_t size, bool more)
{
    if (!encrypt(clear.start(), size, more)) {
        return false;
    }
    clear.consume(size);
    last_message -= std::min(last_message, size);
    return true;
}

ssize_t RedStreamEgress::take_record(const void *data, size_t size)
{
    if (error) {
        errno = error;
        return -1;
    }
    if (encrypting && policy->batch && wire.size() + size <= WIRE_LIMIT) {
        wire.append(data, size);
        return size;
    }
    return send_record(data, size);
}

ssize_t RedStreamEgress::send_record(const void *data, size_t size)
{
    struct iovec iov;
    ssize_t n = 0;

    iov.iov_base = const_cast<void *>(data);
    iov.iov_len = size;
    if (!blocked || !encrypting) {
        n = send(&iov, 1, encrypting_more);
        if (n < 0) {
            return -1;
        }
    }
    if (encrypting && static_cast<size_t>(n) < size) {
        /* one record fits, but a client may have asked for smaller ones (RFC 8449) */
        const size_t rest = std::min(size - n, wire.room());

        wire.append(static_cast<const uint8_t *>(data) + n, rest);
        note_buffered();
        n += rest;
    }
    if (n == 0) {
        errno = EAGAIN;
        return -1;
    }
    return n;
}

ssize_t RedStreamEgress::flush()
{
    if (in_use) {
        return pending();
    }
    in_use = true;
    const ssize_t left = send_all();
    in_use = false;
    return left;
}

ssize_t RedStreamEgress::send_all()
{
    if (error) {
        errno = error;
        return -1;
    }
    note_flush();
    if (!unblock(clear.size() != 0)) {
        return error ? -1 : pending();
    }
    while (clear.size() && !blocked) {
        const size_t n = red_stream_policy_next_record(clear.size(), last_message,
                                                        tcp_info.get_record_size());

        if (!encrypt_clear(n, n < clear.size()) && !blocked) {
            return -1;
        }
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
