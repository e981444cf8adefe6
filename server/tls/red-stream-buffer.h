/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes that wait in the egress, and lists of iovec. */
#ifndef RED_STREAM_BUFFER_H_
#define RED_STREAM_BUFFER_H_

#include "red-common.h"
#include "sys-socket.h"

#include "push-visibility.h"

/* A queue of bytes of a fixed capacity, allocated once, when first used. */
class RedStreamBuffer
{
public:
    explicit RedStreamBuffer(size_t init_capacity): capacity(init_capacity) {}
    ~RedStreamBuffer() { g_free(data); }
    RedStreamBuffer(const RedStreamBuffer &) = delete;
    RedStreamBuffer &operator=(const RedStreamBuffer &) = delete;

    const uint8_t *start() const { return data + pos; }
    size_t size() const { return len; }
    size_t room() const { return capacity - len; }

    /* At most room(). */
    void append(const void *bytes, size_t count);

    /* The bytes of @iov from @offset on, at most room(). */
    void append(const struct iovec *iov, int iovcnt, size_t offset=0);

    /* At most size(), from the start on. */
    void consume(size_t count);

private:
    const size_t capacity;
    uint8_t *data = nullptr;
    size_t pos = 0;
    size_t len = 0;
};

size_t red_iov_size(const struct iovec *iov, int iovcnt);

/* Describe the first @size bytes of @iov in @out, which has room for @room entries.
 * Returns the number of entries; @size becomes what they hold. */
int red_iov_head(struct iovec *out, int room, const struct iovec *iov, int iovcnt, size_t *size);

#include "pop-visibility.h"

#endif /* RED_STREAM_BUFFER_H_ */
