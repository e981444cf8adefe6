/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Traces and statistics of streams, for measurements.
 *
 * With SPICE_STREAM_TRACE=FILE every process appends lines to FILE; they are buffered, and
 * written at the latest when a stream is freed. T: microseconds, CLOCK_MONOTONIC; S: the stream:
 *
 *   T S open                     the stream was created
 *   T S channel TYPE ID          the channel that it belongs to
 *   T S write FLAGS L,L,...      a write of iovecs of these lengths; FLAGS is one of
 *                                - (nothing), m (another follows), s (a message starts),
 *                                sm
 *   T S send SIZE MORE TAKEN     a system call: SIZE bytes, MORE 1 with MSG_MORE, TAKEN
 *                                bytes or -errno
 *   T S flow BYTES LIMIT RATE DELAY TIMEOUTS PHASE
 *                                a pong of a probe: bytes in flight, their limit, rate
 *                                (bytes/s) and delay (us) of the path, number of probe
 *                                timeouts, phase as by RedStreamFlow::get_phase()
 *   T S wait                     messages wait in the channel's pipe for a pong or ack, in
 *                                mode flow, until the next write
 *   T S refresh BYTES REFINED    an image of a refresh: REFINED 1 if it replaces a lossy one
 *   T S delivered BYTES DELAY    with timestamps=on: the peer's TCP has acked so many bytes in
 *                                all, DELAY us after the flush
 *   T S close
 *
 * In the modes without an output buffer nothing is known of writes: there are only open, channel
 * and close.
 *
 * With SPICE_STREAM_STATS=FILE every stream appends one line of JSON when it is freed: its channel,
 * mode and, in modes with an output buffer, counters. If it names a folder, see red-stream-live.h.
 *
 * These are the observers of streams. Further events are not in the trace: probe_timeout (counted),
 * motion (the counters of the display stage, for red-stream-live.h), socket and statistics (from
 * red-stream.cpp, for the line of JSON).
 *
 * If a file cannot be written, this warns once and does without. Any thread.
 */
#ifndef RED_STREAM_TRACE_H_
#define RED_STREAM_TRACE_H_

#include "red-stream-observer.h"

#include "push-visibility.h"

/* For a new stream, null if no variable asks for anything. @mode: the name of its mode, a constant;
 * @counts: it has an output buffer. */
RedStreamObserver *red_stream_trace_new(const char *mode, bool counts);

#include "pop-visibility.h"

#endif /* RED_STREAM_TRACE_H_ */
