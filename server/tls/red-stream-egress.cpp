/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>
#include <cerrno>

#include <common/log.h>

#include "red-stream-egress.h"

/* A record is longer than its plaintext by this at most: 22 bytes in TLS 1.3, 29 in TLS 1.2 with
 * AES-GCM, more with CBC and padding. */
#define RECORD_EXPANSION (SSL3_RT_HEADER_LENGTH + SSL3_RT_MAX_ENCRYPTED_OVERHEAD)

#define CLEAR_SIZE RED_STREAM_RECORD_MAX
#define WIRE_SIZE (RED_STREAM_EGRESS_MAX - CLEAR_SIZE)

/* From this number of buffered bytes on they are sent, even if another message is announced; one
 * more record fits behind. Half as many would double the system calls for bursts of images. */
#define WIRE_LIMIT (WIRE_SIZE - RED_STREAM_RECORD_MAX - RECORD_EXPANSION)

ssize_t RedStreamSender::pass(const struct iovec *iov, int iovcnt, size_t own, bool more)
{
    return next ? next->send(iov, iovcnt, own, more) : egress->send_now(iov, iovcnt, more);
}

void RedStreamSender::flushed()
{
    if (next) {
        next->flushed();
    }
}

RedStreamEgress::RedStreamEgress(int init_socket, const RedStreamPolicy *policy,
                                 const RedStreamSocket *init_ops):
    socket(init_socket), ops(init_ops), wire(WIRE_SIZE), clear(CLEAR_SIZE),
    tcp_info(init_socket, policy)
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
    counters.flushes += unflushed;
    unflushed = false;
}

ssize_t RedStreamEgress::note_send(size_t size, bool more, ssize_t taken)
{
    ++counters.writes;
    if (observer) {
        observer->sent(size, more, taken);
    }
    if (taken >= 0) {
        counters.written_bytes += taken;
        held = more;
        return taken;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        ++counters.eagains;
        return 0;
    }
    return errno == EINTR ? 0 : fail(errno);
}

ssize_t RedStreamEgress::send_now(const struct iovec *iov, int iovcnt, bool more)
{
    const size_t size = red_iov_size(iov, iovcnt);
    ssize_t taken, noted;

    do {
        taken = ops->send(socket, iov, iovcnt, more);
        noted = note_send(size, more, taken);
    } while (taken == -1 && errno == EINTR);
    return noted;
}

/* Give the kernel wire and then the bytes of @iov, of which it can take at most
 * RED_STREAM_EGRESS_IOV - 1 entries if wire is not empty.
 * Returns the bytes of @iov taken, 0 also if the kernel took nothing now (which sets
 * blocked), or -1 with the errno that ended the connection. */
ssize_t RedStreamEgress::send(const struct iovec *iov, int iovcnt, bool more)
{
    struct iovec both[RED_STREAM_EGRESS_IOV];
    const size_t size = red_iov_size(iov, iovcnt);
    const size_t wire_size = wire.size();

    if (wire_size) {
        spice_assert(iovcnt < RED_STREAM_EGRESS_IOV);
        both[0].iov_base = const_cast<uint8_t *>(wire.start());
        both[0].iov_len = wire_size;
        std::copy(iov, iov + iovcnt, both + 1);
        iov = both;
        ++iovcnt;
    }

    const ssize_t n = sender ? sender->send(iov, iovcnt, wire_size, more) :
                               send_now(iov, iovcnt, more);
    if (n < 0) {
        return -1;
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

ssize_t RedStreamEgress::writev(const struct iovec *iov, int iovcnt, unsigned flags)
{
    const size_t size = red_iov_size(iov, iovcnt);

    if (error) {
        errno = error;
        return -1;
    }
    if (observer) {
        observer->wrote(iov, iovcnt, flags);
    }
    if (size == 0) {
        return 0;
    }
    if (!unblock(true)) {
        return -1;
    }
    if (pending() == 0) {
        RedStreamLink link = { };

        if (tcp_info.update(ops, ssl != nullptr, sender != nullptr, &link) && sender) {
            sender->update(&link);
        }
    }

    const ssize_t n = ssl ? write_records(iov, iovcnt, size, flags & RED_STREAM_MESSAGE_START) :
                            write_plain(iov, iovcnt, size, flags & RED_STREAM_MORE);
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
    unflushed = true;
    if (static_cast<size_t>(n) == size && !(flags & RED_STREAM_MORE)) {
        if (blocked) {
            note_flush();
        } else if (flush() < 0) {
            return -1;
        }
    }
    return n;
}

/* The two functions below return the bytes accepted, 0 if none can be now, or -1 with the
 * errno that ended the connection. They are called when not blocked. */

ssize_t RedStreamEgress::write_plain(const struct iovec *iov, int iovcnt, size_t size, bool more)
{
    if (size <= copy_limit && wire.size() + size <= WIRE_LIMIT) {
        wire.append(iov, iovcnt);
        return size;
    }

    struct iovec head[RED_STREAM_EGRESS_IOV - 1];
    /* one byte is kept back, so that the flush has something to send */
    const size_t keep = more ? 1 : 0;
    size_t head_size = size - keep;
    const int headcnt = red_iov_head(head, RED_STREAM_EGRESS_IOV - 1, iov, iovcnt, &head_size);
    const bool whole = head_size == size - keep;

    const ssize_t n = send(head, headcnt, more || !whole);
    if (n < 0 || blocked || !whole) {
        return n;
    }
    wire.append(iov, iovcnt, head_size);
    return size;
}

/* @starts: a message begins. */
ssize_t RedStreamEgress::write_records(const struct iovec *iov, int iovcnt, size_t size,
                                       bool starts)
{
    const size_t record_size = tcp_info.get_record_size();
    size_t accepted = 0;

    if (starts) {
        last_message = clear.size();
    }
    for (int i = 0; i < iovcnt; ++i) {
        const uint8_t *data = static_cast<uint8_t *>(iov[i].iov_base);
        size_t left = iov[i].iov_len;

        while (left && !blocked) {
            size_t n = 0;

            if (clear.size() >= record_size || (clear.size() && left >= RED_STREAM_RECORD_MAX)) {
                /* the record is full, or a payload follows that fills records without being
                 * copied */
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
    if (encrypting && wire.size() + size <= WIRE_LIMIT) {
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
        /* one record fits, but a client may have asked for smaller ones (RFC 6066) */
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
        if (sender) {
            sender->flushed();
        }
    } else {
        note_buffered();
    }
    if (observer) {
        observer->flushed(&counters, pending());
    }
    return pending();
}

void RedStreamEgress::push_held()
{
    if (held) {
        /* a message was announced, but none was written */
        ++counters.setsockopts;
        ops->set_cork(socket, false);
    }
    held = false;
}
