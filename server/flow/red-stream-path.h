/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What follows from what TCP and the client's answers say of a path: pure decisions.
 *
 * TCP knows the first hop only. Behind a relay on the server's host (a proxy, an ssh tunnel)
 * that is not the path.
 */
#ifndef RED_STREAM_PATH_H_
#define RED_STREAM_PATH_H_

#include "red-stream-policy.h"

#include "push-visibility.h"

/* Whether TCP's round trip is only a part of the path's, so that what it says of the link is
 * not true of the path: the client's answers take more than twice as long, and
 * RED_STREAM_HOP_SLACK more. False while path_delay is not known. */
bool red_stream_path_is_first_hop(const RedStreamLink *link);

/* microseconds: a client that is busy answers late */
#define RED_STREAM_HOP_SLACK 5000

/* Bytes a second that this link was seen to take: what TCP saw delivered and, while it is in
 * slow start and has found no end to what the path carries, its window in a round trip. The
 * link may be faster, hardly slower. 0 if TCP does not say, or speaks of the first hop only. */
uint64_t red_stream_path_seen_rate(const RedStreamLink *link);

/* How many bytes that are not sent the kernel should hold for this link: enough to keep
 * it busy until the channel's thread has made the next picture, no more, as what is there
 * can't be dropped any more. Returns what the link delivers within RED_STREAM_UNSENT_BUDGET,
 * from RED_STREAM_UNSENT_MIN to RED_STREAM_UNSENT_MAX bytes. */
uint32_t red_stream_path_unsent_limit(const RedStreamLink *link);

/* microseconds: compressing a picture of 1 MB takes about as long */
#define RED_STREAM_UNSENT_BUDGET 50000
/* bytes */
#define RED_STREAM_UNSENT_MIN (8 * 1024)
#define RED_STREAM_UNSENT_MAX (1024 * 1024)

/* Bytes a second at which the kernel should send a message longer than a flight over a path that
 * takes @rate for certain (0: not known), 0: as it likes. Left alone TCP fills whatever queue a
 * router has: sound and keys wait behind it, and what the router does not keep is sent again. So
 * a tenth more than the path is known to take, and less as long as more is in flight than a tenth
 * above what fills it. Not on a path of less than RED_STREAM_PACED_DELAY, whose queues
 * nobody notices, nor behind a relay, of whose queue TCP does not know. */
uint64_t red_stream_path_pace(const RedStreamLink *link, uint64_t rate);

/* microseconds */
#define RED_STREAM_PACED_DELAY 20000

#include "pop-visibility.h"

#endif /* RED_STREAM_PATH_H_ */
