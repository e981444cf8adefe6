/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>
#include <cstring>

#include <common/log.h>

#include "red-stream-buffer.h"

void RedStreamBuffer::append(const void *bytes, size_t count)
{
    if (!data) {
        data = static_cast<uint8_t *>(g_malloc(capacity));
    }
    if (pos + len + count > capacity) {
        memmove(data, start(), len);
        pos = 0;
    }
    spice_assert(len + count <= capacity);
    memcpy(data + pos + len, bytes, count);
    len += count;
}

void RedStreamBuffer::append(const struct iovec *iov, int iovcnt, size_t offset)
{
    for (int i = 0; i < iovcnt; ++i) {
        if (offset >= iov[i].iov_len) {
            offset -= iov[i].iov_len;
            continue;
        }
        append(static_cast<uint8_t *>(iov[i].iov_base) + offset, iov[i].iov_len - offset);
        offset = 0;
    }
}

void RedStreamBuffer::consume(size_t count)
{
    len -= count;
    pos = len ? pos + count : 0;
}

size_t red_iov_size(const struct iovec *iov, int iovcnt)
{
    size_t size = 0;

    for (int i = 0; i < iovcnt; ++i) {
        size += iov[i].iov_len;
    }
    return size;
}

int red_iov_head(struct iovec *out, int room, const struct iovec *iov, int iovcnt, size_t *size)
{
    size_t left = *size;
    int n = 0;

    for (int i = 0; i < iovcnt && n < room && left; ++i) {
        if (iov[i].iov_len) {
            out[n] = iov[i];
            out[n].iov_len = std::min<size_t>(iov[i].iov_len, left);
            left -= out[n++].iov_len;
        }
    }
    *size -= left;
    return n;
}
