/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is counted of a stream, for the trace, the statistics and the tests. */
#ifndef RED_STREAM_COUNTERS_H_
#define RED_STREAM_COUNTERS_H_

#include <cstdint>

/* What an egress did since it was made. */
struct RedStreamCounters {
    uint64_t messages;
    /* bytes that calls gave, framing by SASL and WebSocket included */
    uint64_t message_bytes;
    /* TLS records and the plaintext in them */
    uint64_t records;
    uint64_t record_bytes;
    /* records that could not have been fewer for the flushes that happened */
    uint64_t floor_records;
    /* calls that sent, those that failed included, and bytes the kernel took */
    uint64_t writes;
    uint64_t written_bytes;
    uint64_t setsockopts;
    /* times at which all that was there had to leave */
    uint64_t flushes;
    uint64_t eagains;
    uint64_t max_buffered;
    /* times that the client did not answer the channel's flow control */
    uint64_t silences;
    /* with catch_up: pictures of what was there by then, bytes of those that went once more,
     * as what went before had losses, and microseconds: the oldest change that waited for one */
    uint64_t refreshes;
    uint64_t refined_bytes;
    uint64_t oldest;
    /* with timestamps=on: flushes of which the kernel told that they were acked, microseconds
     * from flush to ack of all of them, what the kernel told, and calls to ask what it tells */
    uint64_t delivered;
    uint64_t delivery_time;
    uint64_t timestamps;
    uint64_t notice_reads;
};

#endif /* RED_STREAM_COUNTERS_H_ */
