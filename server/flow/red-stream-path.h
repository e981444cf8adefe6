/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decisions from TCP_INFO and the delay of pongs: unsent limit, pacing rate. Pure functions.
 *
 * TCP_INFO describes the path only up to the first relay. With a relay on the server's host (a
 * proxy, an ssh tunnel) it says nothing about the network.
 */
#ifndef RED_STREAM_PATH_H_
#define RED_STREAM_PATH_H_

#include "red-stream-policy.h"

#include "push-visibility.h"

/* batch, about one bandwidth-delay product in flight; later settings are on in this mode. It has no
 * send window. */
extern const RedStreamMode red_stream_mode_flow;

/* The limit for unsent bytes in the kernel (TCP_NOTSENT_LOWAT): enough to keep the link busy
 * until the channel's thread has compressed the next image, and no more, as bytes in the kernel
 * cannot be dropped. Returns what the link delivers in the time of two send turns, one that is
 * sent and one that is compressed meanwhile (2 * RED_STREAM_UNNOTICED), at least
 * RED_STREAM_FLOW_MIN bytes; UINT32_MAX: no limit, as the rate is unknown. */
uint32_t red_stream_path_unsent_limit(const RedStreamLink *link);

/* Bytes: less is never limited, here and by RedStreamFlow. With twice as many, the response to a
 * key waits 0.3 s longer at 100 kbit/s. */
#define RED_STREAM_FLOW_MIN 4096

/* Gain on the BDP while RedStreamFlow finds that the rate grows. Pongs show a full path one
 * round trip late. Until then a router with a queue of one BDP must not drop packets, which it
 * does at 200, TCP's own gain. At 140 a long path takes 1.7 times as many round trips to fill. */
#define RED_STREAM_GROWING_GAIN_PERCENT 175

/* The pacing rate in bytes per second for a message larger than the BDP, on a path of @rate (0:
 * unknown). Without it TCP fills the router's queue: sound and keys wait behind it, and packets
 * that the router drops are sent again. Returns 1.1 times @rate (or TCP's delivery rate, if
 * higher), 0.57 times while there is a queue: more than 1.1 BDP is in flight, and TCP's round
 * trip is longer than the path's by a tenth. Returns 0 for no limit: on a path with a round trip
 * below RED_STREAM_UNNOTICED, whose queue is not noticed, and behind a relay, whose queue TCP does
 * not know. */
uint64_t red_stream_path_pace(const RedStreamLink *link, uint64_t rate);

#include "pop-visibility.h"

#endif /* RED_STREAM_PATH_H_ */
