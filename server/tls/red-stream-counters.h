/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is counted of a stream, for tests and measurements. */
#ifndef RED_STREAM_COUNTERS_H_
#define RED_STREAM_COUNTERS_H_

#include <stdint.h>

/* What an egress did since it was made. */
typedef struct RedStreamCounters {
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
} RedStreamCounters;

#endif /* RED_STREAM_COUNTERS_H_ */
