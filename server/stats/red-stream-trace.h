/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What streams were asked and what they did, for measurements.
 *
 * With SPICE_STREAM_TRACE=FILE every process appends lines to FILE, buffered, written
 * out at the latest when a stream is freed:
 *
 *   T S open                     stream S was made at T (microseconds, CLOCK_MONOTONIC)
 *   T S channel TYPE ID          it is this channel's
 *   T S write FLAGS L,L,...      a call gave iovecs of these lengths; FLAGS is one of
 *                                - (nothing), m (another follows), s (a message starts),
 *                                sm
 *   T S send SIZE MORE TAKEN     a system call: SIZE bytes, MORE 1 with MSG_MORE, TAKEN
 *                                bytes or -errno
 *   T S flow BYTES LIMIT RATE DELAY SILENCES PHASE
 *                                the client answered a mark: bytes in flight and allowed, the
 *                                rate (bytes/s) and delay (us) of the path, times that nothing
 *                                was answered, phase growing, steady, probing, silent or off
 *   T S wait                     messages wait in the channel's pipe until the client answers,
 *                                in the mode flow; over with the next write
 *   T S refresh BYTES REFINED AGE
 *                                a picture of what is there: REFINED 1 if it was shown before,
 *                                with losses, else AGE microseconds since the oldest change
 *                                that was not sent before it
 *   T S close
 *
 * With SPICE_STREAM_STATS=FILE every stream appends one line of JSON with its counters
 * (RedStreamCounters) and the name of its RedStreamSocket when it is freed. If it names a folder:
 * see red-stream-live.h.
 *
 * A file that can't be written is warned of once and ignored. Any thread.
 */
#ifndef RED_STREAM_TRACE_H_
#define RED_STREAM_TRACE_H_

#include <sys/types.h>

#include "red-stream-counters.h"
#include "sys-socket.h"

#include "push-visibility.h"

class RedStreamFlow;

/* Whether a trace is written; the functions below do nothing if not, but what
 * red-stream-live.h says. */
bool red_stream_trace_enabled();

/* Returns a number for a new stream, 1 for the first one of the process. */
int red_stream_trace_new();

void red_stream_trace_channel(int stream, int type, int id);
void red_stream_trace_write(int stream, const struct iovec *iov, int iovcnt, unsigned flags);
/* Keeps errno, which it reads if @taken is -1. */
void red_stream_trace_send(int stream, size_t size, bool more, ssize_t taken);
void red_stream_trace_flow(int stream, const RedStreamFlow *flow);
void red_stream_trace_wait(int stream);
void red_stream_trace_refresh(int stream, size_t bytes, bool is_refined, uint64_t age);

/* The stream is freed. */
void red_stream_trace_close(int stream, int type, int id, const char *mode, bool tls,
                            const char *socket, const RedStreamCounters *counters);

#include "pop-visibility.h"

#endif /* RED_STREAM_TRACE_H_ */
