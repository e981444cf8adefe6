/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A byte queue for the output buffer, and helpers for arrays of iovec. Not thread safe. */
#ifndef RED_STREAM_BUFFER_H_
#define RED_STREAM_BUFFER_H_

#include "red-common.h"
#include "sys-socket.h"

#include "push-visibility.h"

/* A byte queue of fixed capacity, allocated at the first append(). */
class RedStreamBuffer
{
public:
    explicit RedStreamBuffer(size_t init_capacity): capacity(init_capacity) {}
    ~RedStreamBuffer() { g_free(data); }
    RedStreamBuffer(const RedStreamBuffer &) = delete;
    RedStreamBuffer &operator=(const RedStreamBuffer &) = delete;

    /* The bytes in the queue, size() of them. Valid until the next append() or consume(). */
    const uint8_t *start() const { return data + pos; }
    size_t size() const { return len; }
    /* How many bytes may be appended. */
    size_t room() const { return capacity - len; }

    /* Copies @count bytes, at most room(). */
    void append(const void *bytes, size_t count);

    /* Copies the bytes of @iov from @offset on, at most room(). */
    void append(const struct iovec *iov, int iovcnt, size_t offset=0);

    /* Removes @count bytes from the start, at most size(). */
    void consume(size_t count);

private:
    const size_t capacity;
    uint8_t *data = nullptr;
    size_t pos = 0;
    size_t len = 0;
};

/* The sum of all lengths, in bytes. */
size_t red_iov_size(const struct iovec *iov, int iovcnt);

/* Fills @out, of @room entries, with the first @size bytes of @iov; no bytes are copied.
 * Returns the number of entries used, and sets @size to the number of bytes in them. */
int red_iov_head(struct iovec *out, int room, const struct iovec *iov, int iovcnt, size_t *size);

#include "pop-visibility.h"

#endif /* RED_STREAM_BUFFER_H_ */
