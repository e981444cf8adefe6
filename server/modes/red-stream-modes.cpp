/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include "red-stream-buffer.h"
#include "red-stream-modes.h"

/* twenty ack intervals of upstream: 30 KB on a text console, 400 KB on a desktop */
#define WINDOW 400

static const RedStreamMode mode_normal("normal", false, false);
static const RedStreamMode mode_gather("gather", false, false);
static const RedStreamMode mode_more("more", false, false);
static const RedStreamMode mode_window("window", true, false);

/* larger values gained nothing when measured in 2017 */
static const RedStreamSetting threshold("threshold", 1, RED_STREAM_RECORD_MAX, 1024);
/* UINT32_MAX messages are in flight before SET_ACK, when nothing may be sent */
static const RedStreamSetting window("window", 1, UINT32_MAX - 1, 0);

uint32_t red_stream_modes_window(const RedStreamPolicy *policy)
{
    const uint32_t set = window.get(policy);

    return !set && policy->mode == &mode_window ? WINDOW : set;
}

bool red_stream_modes_says_more(const RedStreamPolicy *policy)
{
    return policy->mode == &mode_more;
}

ssize_t red_stream_modes_writev(RedStream *stream, const RedStreamPolicy *policy,
                                const struct iovec *iov, int iovcnt)
{
    uint8_t message[RED_STREAM_RECORD_MAX];
    size_t size = 0;

    if (policy->mode != &mode_gather || red_iov_size(iov, iovcnt) > threshold.get(policy)) {
        return red_stream_writev(stream, iov, iovcnt);
    }
    for (int i = 0; i < iovcnt; ++i) {
        memcpy(message + size, iov[i].iov_base, iov[i].iov_len);
        size += iov[i].iov_len;
    }
    return red_stream_write(stream, message, size);
}
