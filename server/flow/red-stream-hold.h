/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The coalescing delay ("hold"): when drawings wait for each other.
 *
 * A guest draws in bursts, and each drawing that leaves by itself is a record, a packet, and
 * soon an ack. So what follows something that has just left waits for what follows it in turn;
 * what comes after a pause leaves at once.
 *
 * No clock, socket or lock; times are microseconds of a monotonic clock. Not thread safe.
 */
#ifndef RED_STREAM_HOLD_H_
#define RED_STREAM_HOLD_H_

#include "red-stream-policy.h"

#include "push-visibility.h"

/* How many microseconds a drawing may wait for others, on a path with a round trip of
 * @delay microseconds (0: not known): a twelfth of it, which nobody sees, from
 * RED_STREAM_HOLD_MIN to RED_STREAM_HOLD_MAX. */
uint32_t red_stream_hold_budget(const RedStreamPolicy *policy, uint32_t delay);

/* microseconds */
#define RED_STREAM_HOLD_MIN 2000
#define RED_STREAM_HOLD_MAX 4000

/* Whoever calls begin() sees to it that all leaves at deadline(), whatever happens elsewhere. */
class RedStreamHold
{
public:
    /* There is something to send at @now that may wait for @budget. Returns whether it
     * should: then deadline() is set, if it is not already. */
    bool begin(uint64_t now, uint32_t budget);
    /* All there was has left at @now. */
    void left(uint64_t now);
    /* When all must leave, 0: nothing waits. */
    uint64_t deadline() const { return until; }
    bool active() const { return until != 0; }

private:
    uint64_t last = 0;
    uint64_t until = 0;
};

/* After so many budgets without anything that left it was a pause. */
#define RED_STREAM_HOLD_PAUSE 4

#include "pop-visibility.h"

#endif /* RED_STREAM_HOLD_H_ */
