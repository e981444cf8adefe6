/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counters of a stream, for tests and measurements. Totals since the stream was created. */
#ifndef RED_STREAM_COUNTERS_H_
#define RED_STREAM_COUNTERS_H_

#include <stdint.h>

/* Maintained by the output buffer, in the thread of the channel. */
typedef struct RedStreamCounters {
    uint64_t messages;
    /* bytes passed to writev(), with the framing of SASL and WebSocket */
    uint64_t message_bytes;
    /* TLS records and the plaintext in them */
    uint64_t records;
    uint64_t record_bytes;
    /* system calls that send, with those that failed, and bytes that the kernel took */
    uint64_t writes;
    uint64_t written_bytes;
    uint64_t setsockopts;
    /* flushes with bytes to send */
    uint64_t flushes;
    uint64_t eagains;
    uint64_t max_buffered;
} RedStreamCounters;

#endif /* RED_STREAM_COUNTERS_H_ */
