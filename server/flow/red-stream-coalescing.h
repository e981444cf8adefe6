/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The coalescing delay ("hold"): how long a drawing waits for the next one.
 *
 * A guest draws in bursts, and each drawing that is sent alone is a record, a packet, and soon
 * an ack. So a drawing that closely follows a message waits for further ones; the first drawing
 * after a pause is sent at once.
 *
 * No clock, socket or lock; times are microseconds of a monotonic clock. Not thread safe.
 */
#ifndef RED_STREAM_COALESCING_H_
#define RED_STREAM_COALESCING_H_

#include "red-stream-path.h"

#include "push-visibility.h"

/* How many microseconds a drawing may wait for others, on a path with a round trip of
 * @delay microseconds (0: unknown): RED_STREAM_COALESCING_DELAY, twice that if @delay is more than
 * RED_STREAM_UNNOTICED. 0 in modes without batch. The setting hold=N in @policy overrides it. */
uint32_t red_stream_coalescing_delay(const RedStreamPolicy *policy, uint32_t delay);

/* Microseconds. With half, there are about a tenth more packets; with twice the value, users see
 * drawings later. */
#define RED_STREAM_COALESCING_DELAY 2000

/* The caller of begin() must send all that waits at deadline() at the latest. */
class RedStreamCoalescing
{
public:
    /* At @now there is a drawing to send that may wait for @budget microseconds. Returns whether
     * it should wait; then deadline() is set. */
    bool begin(uint64_t now, uint32_t budget);
    /* All drawings that waited were sent at @now. */
    void left(uint64_t now);

    /* Something urgent is queued, which must not be delayed: an item that is not a drawing, or a
     * drawing after an input (@inputs: keys and clicks so far), which may be the response. It stays
     * urgent until clear_urgent(), to be called when the stream is flushed. */
    void set_urgent() { urgent = true; }
    void see_inputs(uint32_t inputs)
    {
        urgent = urgent || inputs != seen_inputs;
        seen_inputs = inputs;
    }
    void clear_urgent() { urgent = false; }
    /* Whether something urgent is queued. */
    bool is_urgent() const { return urgent; }

    /* To be called after begin() at @now. Returns the milliseconds after which to call timer(),
     * or 0 if an earlier call has returned them already. */
    uint32_t start_timer(uint64_t now);
    /* Returns as start_timer(). @over becomes true if all that waits is to be sent. */
    uint32_t timer(uint64_t now, bool *over);

    /* When all must be sent, 0: nothing waits. */
    uint64_t deadline() const { return until; }
    /* Whether drawings wait. */
    bool active() const { return until != 0; }

private:
    uint64_t last = 0;
    uint64_t until = 0;
    bool timer_runs = false;
    bool urgent = false;
    uint32_t seen_inputs = 0;
};

/* A pause is this many times the budget without anything being sent. With half, the drawings of one
 * burst count as two; with twice the value, the first drawing after a short pause waits. */
#define RED_STREAM_COALESCING_PAUSE 4

#include "pop-visibility.h"

#endif /* RED_STREAM_COALESCING_H_ */
