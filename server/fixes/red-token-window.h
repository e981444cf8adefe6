/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How many messages to the guest's agent a client may have under way.
 *
 * The protocol has tokens for that: a message takes one, and the server gives it back when the
 * device has taken the message. Ten of them, as the server gives at first, carry 20 KB per round
 * trip whatever the line could. The window doubles every second round trip while the round trip
 * does not grow with it, and halves when it grows too much (which would delay keys and acks beside
 * it) or when the guest does not keep up. A round trip in which the client had nothing to send
 * shows nothing of the path. A client that gets no more than ten sees what it always saw.
 *
 * Decides only: time is an argument. One object for each client, used by the main thread.
 */
#ifndef RED_TOKEN_WINDOW_H_
#define RED_TOKEN_WINDOW_H_

#include <stdint.h>

#include "push-visibility.h"

class RedTokenWindow
{
public:
    enum {
        /* tokens that a client has at first, and at least */
        INITIAL = 10,
        /* and at most: 512 KB of messages of 2 KB, for 40 Mbit/s over 100 ms */
        MOST = 256,
    };

    /* A message of the client has come. @now: microseconds, monotonic */
    void add_message(uint64_t now);
    /* The device has taken @num messages. Returns how many tokens to give to the client, which may
     * be more or fewer. @limit: of the window, from INITIAL to MOST */
    uint32_t give(uint32_t num, uint32_t limit, uint64_t now);
    /* The client has @tokens, and no message of it waits. */
    void restart(uint32_t tokens);

private:
    uint32_t size = INITIAL;
    /* tokens that are with the client, and messages that the device has not taken */
    uint32_t under_way = INITIAL;
    /* messages that have come, and have not been taken */
    uint32_t waiting = 0;
    /* messages to come until the one that takes a token given at round_start, 0: none was */
    uint32_t to_come = 0;
    uint64_t round_start = 0;
    /* microseconds, 0: not known */
    uint64_t shortest_round = 0;
    /* the size before the last step up, INITIAL: there was none */
    uint32_t size_before = INITIAL;
    /* that step was made in this round trip: most of its messages were sent before */
    bool has_grown = false;
    /* the path carried no more at the last step; round trips without a queue since then */
    bool full = false;
    uint32_t rounds_since_full = 0;
    uint64_t last_message = 0;
    /* the longest time between two messages of this round trip */
    uint64_t longest_gap = 0;
    /* successive round trips with a pause, or longer than so few messages explain */
    uint32_t longer_rounds = 0;

    void end_round(uint64_t duration);
    void grow(uint32_t new_size);
    void set_full(uint32_t new_size);
};

#include "pop-visibility.h"

#endif /* RED_TOKEN_WINDOW_H_ */
