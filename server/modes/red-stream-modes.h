/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modes for comparison, without an output buffer: what was measured in 2017 of how a stream might
 * send.
 *
 *   normal  one system call per message, one TLS record per iovec
 *   gather  as normal, but a message of at most threshold=N bytes is one TLS record
 *   more    as normal, but without TLS MSG_MORE on every message of a send turn but the last
 *   window  cork, and more messages in flight (window=N)
 */
#ifndef RED_STREAM_MODES_H_
#define RED_STREAM_MODES_H_

#include "red-stream.h"
#include "red-stream-policy.h"

#include "push-visibility.h"

/* How many messages may wait for the client's ack, 0: twice the ack interval, which is upstream's
 * rule. */
uint32_t red_stream_modes_window(const RedStreamPolicy *policy);

/* Whether the kernel is told with MSG_MORE that a message follows. */
bool red_stream_modes_says_more(const RedStreamPolicy *policy);

/* As red_stream_writev(). In gather, a message up to the threshold is passed on as one buffer. */
ssize_t red_stream_modes_writev(RedStream *stream, const RedStreamPolicy *policy,
                                const struct iovec *iov, int iovcnt);

#include "pop-visibility.h"

#endif /* RED_STREAM_MODES_H_ */
