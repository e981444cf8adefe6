/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One direction of a link, as decisions: when a packet that arrives at a given time is due at the
 * other end. No socket and no clock, so that everything can be tested exactly.
 *
 * A packet waits in a drop-tail queue until the link is free, takes size / rate to be sent, then the
 * delay. A lost packet has used the link.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_S UINT64_C(1000000000)

/* Largest queue, which keeps the arithmetic within 64 bits. */
#define SHAPER_QUEUE_MAX (UINT64_C(1) << 30)
/* Largest rate in bits per second, for the same reason. */
#define SHAPER_RATE_MAX (UINT64_C(10) * 1000 * 1000 * 1000)
#define SHAPER_CHANGES_MAX 32

typedef struct ShaperChange {
    uint64_t at; /* ns after shaper_begin */
    uint64_t rate; /* from then on; 0: cable pulled, packets are lost */
} ShaperChange;

typedef struct ShaperConfig {
    uint64_t rate; /* bits a second; 0 is no limit, and then there is no queue either */
    uint64_t queue; /* bytes that may wait, the packet being sent included */
    uint64_t delay; /* ns, one way */
    uint64_t jitter; /* ns, at most delay: a packet takes delay - jitter to delay + jitter */
    double loss; /* share of the packets that is lost, 0 to 1 */
    double loss_burst; /* mean length of a run of lost packets; 0: each is lost independently */
    ShaperChange changes[SHAPER_CHANGES_MAX]; /* of the rate, at rising times */
    unsigned n_changes;
} ShaperConfig;

#define SHAPER_NEVER UINT64_MAX

typedef enum {
    SHAPER_PASS,
    SHAPER_QUEUE_FULL,
    SHAPER_LOST,
} ShaperVerdict;

typedef struct Shaper {
    ShaperConfig config;
    uint64_t begun; /* SHAPER_NEVER: nothing changes yet */
    uint64_t free_at; /* when the link has sent everything: whole ns ... */
    uint64_t free_at_rest; /* ... and the rest in 1/rate ns, so that no rounding adds up */
    uint64_t last_due;
    uint64_t max_backlog; /* maximum of shaper_backlog() so far */
    double loss_enter; /* chance that the next packet is lost after one that was not ... */
    double loss_stay; /* ... and after one that was */
    bool losing;
    uint64_t loss_random;
    uint64_t jitter_random;
} Shaper;

/* The same seed loses the same packets (counted from the first) and gives the same jitters. */
void shaper_init(Shaper *shaper, const ShaperConfig *config, uint64_t seed);

/* Starts the clock of the changes. Waiting packets are sent at the new rate. */
void shaper_begin(Shaper *shaper, uint64_t now);

/* A packet of size bytes arrived at now, which never decreases. With SHAPER_PASS *due becomes the
 * time of its delivery, rounded up to a ns. */
ShaperVerdict shaper_packet(Shaper *shaper, uint64_t now, uint32_t size, uint64_t *due);

/* Bytes waiting or being sent at now, those of a packet half sent counted half. */
uint64_t shaper_backlog(const Shaper *shaper, uint64_t now);
