/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>
#include <cerrno>

#ifdef __linux__
#include <sys/socket.h>
#endif

#include <glib.h>

#include <common/log.h>

#include "red-stream-offload.h"
#include "red-stream-zerocopy.h"

RedStreamZerocopy::RedStreamZerocopy(RedStreamErrqueue *init_errqueue, RedStreamEgress *init_egress,
                                     const RedStreamOffloadSocket *init_ops, uint32_t init_limit,
                                     bool init_tls):
    errqueue(init_errqueue), egress(init_egress), fd(init_egress->get_socket()), ops(init_ops),
    limit(init_limit), tls(init_tls),
    state(init_tls ? "not with TLS" : "not with SASL or WebSocket")
{
}

void RedStreamZerocopy::start()
{
    if (tls) {
        return;
    }
    on = ops->set_zerocopy(fd);
    state = on ? "on" : "not over this socket";
}

RedStreamZerocopy::~RedStreamZerocopy()
{
    take_back();
}

bool RedStreamZerocopy::may_send(size_t size)
{
    const auto has_room = [this]() {
        return messages.size() < RED_STREAM_ZEROCOPY_MESSAGES &&
               sends.size() < RED_STREAM_ZEROCOPY_SENDS;
    };

    if (on && size > limit && !has_room()) {
        errqueue->read();
    }
    return on && size > limit && has_room();
}

ssize_t RedStreamZerocopy::send(const struct iovec *iov, int iovcnt, size_t own, bool more)
{
    size_t size = 0;
    ssize_t before = 0;

    for (int i = own ? 1 : 0; i < iovcnt; ++i) {
        size += iov[i].iov_len;
    }
    if (!may_send(size)) {
        return egress->send_now(iov, iovcnt, more);
    }
    if (own) {
        before = egress->send_now(iov, 1, true);
        if (before < static_cast<ssize_t>(own)) {
            return before;
        }
        ++iov;
        --iovcnt;
    }

    ssize_t n;
    do {
        n = ops->send_kept(fd, iov, iovcnt, more);
    } while (n == -1 && errno == EINTR);
    if (n == -1 && errno == ENOBUFS) {
        ++counters.refused;
        n = egress->send_now(iov, iovcnt, more);
        return n < 0 ? n : before + n;
    }
    n = egress->note_send(size, more, n);
    if (n > 0) {
        sends.push_back(n);
        bytes += n;
        ++counters.sends;
        counters.max_bytes = std::max<uint64_t>(counters.max_bytes, bytes);
    }
    return n < 0 ? n : before + n;
}

SpiceMarshaller *RedStreamZerocopy::keep(SpiceMarshaller *marshaller)
{
    const uint32_t end = begin + sends.size();

    if (end == kept_end || sends.empty()) {
        spice_marshaller_reset(marshaller);
        return marshaller;
    }
    kept_end = end;
    messages.push_back({ marshaller, end });
    return spice_marshaller_new();
}

void RedStreamZerocopy::notice(const RedStreamNotice &notice)
{
    if (notice.what != RedStreamNotice::COMPLETED) {
        return;
    }
    for (size_t i = 0; i < sends.size(); ++i) {
        const uint32_t number = begin + i;

        /* the numbers have 32 bits */
        if (number - notice.first <= notice.last - notice.first && sends[i]) {
            bytes -= sends[i];
            sends[i] = 0;
            ++counters.completions;
            counters.copies += notice.copied;
            copies = notice.copied ? copies + 1 : 0;
        }
    }
    if (on && copies >= RED_STREAM_ZEROCOPY_COPIES) {
        on = false;
        state = "the kernel copies";
    }
}

/* Free what is complete. */
void RedStreamZerocopy::release()
{
    while (!sends.empty() && !sends.front()) {
        sends.pop_front();
        ++begin;
    }
    while (!messages.empty() && static_cast<int32_t>(messages.front().end - begin) <= 0) {
        SpiceMarshaller *const marshaller = messages.front().marshaller;

        messages.pop_front();
        /* freeing may call this function again */
        spice_marshaller_destroy(marshaller);
    }
}

/* Returns whether all sends are complete. */
bool RedStreamZerocopy::wait()
{
    for (int i = 0; i < RED_STREAM_ZEROCOPY_WAIT; ++i) {
        errqueue->read();
        if (!bytes) {
            return true;
        }
        g_usleep(1000);
    }
    return false;
}

void RedStreamZerocopy::take_back()
{
    if (!bytes || wait()) {
        return;
    }
    ops->abort(fd);
    if (!wait()) {
        /* drop it: otherwise the kernel sends the memory's later contents */
        spice_warning("the kernel does not say that it has sent %zu bytes, which are lost", bytes);
        messages.clear();
        sends.clear();
        bytes = 0;
    }
}

#if defined(__linux__) && defined(MSG_ZEROCOPY) && defined(SO_ZEROCOPY)
bool red_stream_zerocopy_set(int fd)
{
    const int enabled = 1;

    return setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &enabled, sizeof(enabled)) == 0;
}

ssize_t red_stream_zerocopy_send(int fd, const struct iovec *iov, int iovcnt, bool more)
{
    struct msghdr msg = { };

    msg.msg_iov = const_cast<struct iovec *>(iov);
    msg.msg_iovlen = iovcnt;
    return sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_ZEROCOPY | (more ? MSG_MORE : 0));
}

void red_stream_zerocopy_abort(int fd)
{
    struct sockaddr address = { };

    address.sa_family = AF_UNSPEC;
    connect(fd, &address, sizeof(address));
}
#else
bool red_stream_zerocopy_set(int fd)
{
    return false;
}

ssize_t red_stream_zerocopy_send(int fd, const struct iovec *iov, int iovcnt, bool more)
{
    errno = EOPNOTSUPP;
    return -1;
}

void red_stream_zerocopy_abort(int fd)
{
}
#endif
