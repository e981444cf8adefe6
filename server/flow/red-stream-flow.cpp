/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include <common/log.h>

#include "red-stream-flow.h"

/* Bytes that may be in flight as long as nothing is known: twice what TCP itself sends
 * at first (RFC 6928). */
#define INITIAL_LIMIT (32 * 1024)
#define MIN_LIMIT 4096

/* How much more is in flight each round trip. That the path is full shows only a round trip later, and
 * then a router that keeps one flight must not have lost any of it: with 2, what TCP takes, it has. */
#define GROWING_GAIN_PERCENT 175
#define STEADY_GAIN_PERCENT 125

/* What is in flight tells the rate of the path if it is at least this part of what may be: by the gain
 * that still fills the path. */
#define STARVED_PERCENT 80

/* The rate has stopped growing after so many rounds with less growth than this. */
#define FULL_ROUNDS 3
#define FULL_GROWTH_PERCENT 125

/* Microseconds. On a short path this, not the delay, is what lets the messages of a drain
 * go together. */
#define SLACK 5000

/* An answer costs the client a packet and both ends a wake-up, so a mark should come so many
 * microseconds after the last; but a full flight has no fewer and no more marks than these. */
#define MARK_TIME 4000
/* bytes: TCP answers the packet with one that takes its time from the pictures of a slow line */
#define MARK_BYTES 4096
#define LEAST_MARKS 8
#define MOST_MARKS 16
/* bytes: the least that is worth one */
#define MARK_BYTES_MIN 1024

/* The path has enough to carry with so many marks in flight. */
#define BUSY_MARKS 4

/* A queue has built up: what lies between two marks took so many times as long as on an empty
 * line, and so many microseconds more. */
#define QUEUE_TIMES 2
#define QUEUE_DELAY 25000

/* While the delay is measured anew no more than this part of what the path holds is in flight: the
 * queue is gone then, and the line not idle. */
#define PROBING_PERCENT 75

#define PATIENCE_DELAYS 2
#define PATIENCE_MOST_DELAYS 3

/* Of a flight so much may be in flight again when nothing was heard for long. */
#define RESTART_PART 4

/* After a silence it takes 2 to the power of the doubt answers until the client is trusted again,
 * after another one more, unless so many came in between. */
#define DOUBT_STEP 4u
#define DOUBT_MAX 20u
#define FORGIVING_ANSWERS 1024

#define SECOND 1000000

void RedStreamFlow::sent(uint64_t now, uint32_t bytes)
{
    if (in_flight() == 0 && rate && now - acked_time > RED_STREAM_FLOW_RATE_AGE) {
        start_again(now);
    }
    const uint64_t full = flight();

    if (sent_bytes == marked_bytes) {
        span_time = now;
    }
    sent_bytes += bytes;
    counted_bytes += bytes > full ? full / 2 : bytes;
    if (bytes > full) {
        large_until = sent_bytes;
    }
    ++messages;
}

bool RedStreamFlow::wants_mark() const
{
    const uint64_t full = flight();
    const uint64_t least = std::max<uint64_t>(rate * MARK_TIME / SECOND, MARK_BYTES);
    const uint64_t span = std::max(full / MOST_MARKS, std::min(least, full / LEAST_MARKS));

    return counted_bytes - marked_counted >= std::max<uint64_t>(span, MARK_BYTES_MIN) &&
           in_flight() < RED_STREAM_FLOW_MARKS && !off;
}

void RedStreamFlow::mark_sent(uint64_t now, uint32_t bytes)
{
    Mark *mark = &marks[mark_end % RED_STREAM_FLOW_MARKS];

    spice_assert(in_flight() < RED_STREAM_FLOW_MARKS);
    sent(now, bytes);
    if (acked_time == 0 || in_flight() == 0) {
        /* The path was idle. Of what took long to come together most has arrived by now. */
        acked_time = span_time;
        acked_sent_time = span_time;
    }
    mark->bytes = sent_bytes - marked_bytes;
    mark->uncounted = (marked_bytes - acked_bytes) - (marked_counted - counted_acked);
    marked_bytes = sent_bytes;
    marked_counted = counted_bytes;
    mark->sent_bytes = sent_bytes;
    mark->counted_bytes = counted_bytes;
    mark->messages = messages;
    mark->sent_time = now;
    mark->acked_bytes = acked_bytes;
    mark->acked_time = acked_time;
    mark->acked_sent_time = acked_sent_time;
    /* with all answered, too: until the first answer nobody knows how much the path takes */
    mark->starved = starved_until && starved_until >= acked_bytes;
    ++mark_end;
}

bool RedStreamFlow::answered(uint64_t now, uint32_t id)
{
    const uint32_t behind = (mark_end - id) & ~RED_STREAM_FLOW_MARK;

    if (!(id & RED_STREAM_FLOW_MARK) || behind == 0 || behind > in_flight()) {
        return false;
    }
    /* answers come in order, so those of the marks before it will not come any more */
    mark_begin = mark_end - behind;
    const Mark *mark = &marks[mark_begin++ % RED_STREAM_FLOW_MARKS];

    ++answers;
    silent = silent && answers < trusted_from;
    off = off || is_overtaken(now);
    overtaken_time = 0;
    acked_bytes = mark->sent_bytes;
    counted_acked = mark->counted_bytes;
    acked_time = now;
    acked_sent_time = mark->sent_time;
    const bool queued = update_delay(now, mark);
    update_rate(now, mark);
    update_restart(now, queued);
    return true;
}

void RedStreamFlow::acked(uint64_t now, uint32_t count)
{
    acked_messages = std::min(acked_messages + count, messages);
    if (in_flight() && acked_messages > marks[mark_begin % RED_STREAM_FLOW_MARKS].messages) {
        overtaken_time = overtaken_time ? overtaken_time : now;
    }
    off = off || is_overtaken(now);
}

void RedStreamFlow::silence(uint64_t now)
{
    /* as long as no mark was answered nothing depends on the answers, nor is known of the path */
    if (answers == 0) {
        off = off || is_overtaken(now);
        return;
    }
    if (!silent) {
        doubt = answers - trusted_from < FORGIVING_ANSWERS ?
            std::min(doubt + DOUBT_STEP, DOUBT_MAX) : DOUBT_STEP;
        trusted_from = answers + (1u << doubt);
    }
    silent = true;
    ++silences;
    off = off || is_overtaken(now);
}

/* The client has acked what came after a mark that it has not answered for some time. */
bool RedStreamFlow::is_overtaken(uint64_t now) const
{
    return overtaken_time && now - overtaken_time > RED_STREAM_FLOW_PATIENCE_MIN;
}

/* Returns whether the answer shows a queue. */
bool RedStreamFlow::update_delay(uint64_t now, const Mark *mark)
{
    const uint32_t sample = std::max<uint64_t>(now - mark->sent_time, 1);
    /* the time that the line takes for what lies before the mark */
    const uint64_t own = rate ? mark->bytes * SECOND / rate : 0;
    /* and for large messages before that: of these more is in flight than fills the path */
    const uint64_t large = rate ? mark->uncounted * SECOND / rate : 0;
    const uint64_t before = mark->sent_bytes - mark->bytes - mark->acked_bytes;

    if (delay == 0 || sample <= delay) {
        delay = sample;
        delay_time = now;
        probing = false;
    } else if (probing && !restart && before <= probing_flight()) {
        /* There was no queue before it. What is left of the sample is a longer path only if it
         * differs for certain: with too low a rate it is too short. */
        if (sample > own + delay + delay / 4) {
            delay = sample - own;
        }
        delay_time = now;
        probing = false;
    } else if (now - delay_time > RED_STREAM_FLOW_DELAY_AGE) {
        probing = true;
    }

    const bool queued = sample > QUEUE_TIMES * (delay + own) + large + QUEUE_DELAY;
    growing = growing && !queued;
    round_queued = round_queued && queued;
    return queued;
}

/* What was sent when the last round ended has arrived. */
void RedStreamFlow::next_round()
{
    round_end = acked_bytes;
    if (round_queued) {
        /* either the path has become slower, which rates of earlier rounds hide, or longer,
         * which only an empty path shows */
        const uint64_t last = rates[round % RED_STREAM_FLOW_ROUNDS];

        std::fill_n(rates, RED_STREAM_FLOW_ROUNDS, last);
        rate = last;
        probing = true;
    }
    round_queued = true;
    ++round;
    rates[round % RED_STREAM_FLOW_ROUNDS] = 0;
    check_full_rate();
}

void RedStreamFlow::update_rate(uint64_t now, const Mark *mark)
{
    const uint64_t elapsed = std::max(now - mark->acked_time,
                                      mark->sent_time - mark->acked_sent_time);

    if (mark->acked_bytes >= round_end && !mark->starved && !probing) {
        next_round();
    }
    /* answers that came together say nothing about the path */
    if (elapsed == 0 || elapsed < delay) {
        return;
    }

    const uint64_t sample = (acked_bytes - mark->acked_bytes) * SECOND / elapsed;
    if (sample > rate || !(mark->starved || probing)) {
        uint64_t *const round_rate = &rates[round % RED_STREAM_FLOW_ROUNDS];

        *round_rate = std::max(*round_rate, sample);
    }
    rate = *std::max_element(rates, rates + RED_STREAM_FLOW_ROUNDS);
}

/* After a long pause: the path is what it was, as far as it has answered, or it is not. */
void RedStreamFlow::start_again(uint64_t now)
{
    restart = std::max<uint64_t>(full_flight() / RESTART_PART, MIN_LIMIT);
    restart_time = now;
    restart_begin = sent_bytes;
}

uint64_t RedStreamFlow::answered_since_restart() const
{
    return acked_bytes > restart_begin ? acked_bytes - restart_begin : 0;
}

void RedStreamFlow::update_restart(uint64_t now, bool queued)
{
    const uint64_t carried = answered_since_restart();

    if (!restart || carried == 0) {
        return;
    }
    if (queued) {
        rate = std::min(rate, carried * SECOND / std::max<uint64_t>(now - restart_time, 1));
        std::fill_n(rates, RED_STREAM_FLOW_ROUNDS, rate);
        restart = 0;
    } else if (restart + carried >= full_flight()) {
        restart = 0;
    }
}

void RedStreamFlow::check_full_rate()
{
    if (!growing) {
        return;
    }
    if (rate * 100 >= full_rate * FULL_GROWTH_PERCENT) {
        full_rate = rate;
        full_rounds = 0;
    } else if (++full_rounds >= FULL_ROUNDS) {
        growing = false;
    }
}

void RedStreamFlow::starved()
{
    /* Who has little room only is soon stopped by the limit, and answers tell the path's rate. */
    if (bytes_in_flight() < flight() * STARVED_PERCENT / 100) {
        starved_until = sent_bytes;
    }
}

/* Bytes that fill the path, as far as is known. */
uint64_t RedStreamFlow::full_flight() const
{
    const uint64_t steady = uint64_t{delay} * STEADY_GAIN_PERCENT / 100 + SLACK;
    const uint64_t time = growing ?
        std::max(uint64_t{delay} * GROWING_GAIN_PERCENT / 100, steady) : steady;
    const uint64_t least = growing ? INITIAL_LIMIT : MIN_LIMIT;

    return std::max(rate * time / SECOND, least);
}

/* And as far as that can be believed. */
uint64_t RedStreamFlow::flight() const
{
    const uint64_t full = full_flight();

    return restart ? std::min(restart + answered_since_restart(), full) : full;
}

uint64_t RedStreamFlow::get_pace() const
{
    const bool large = acked_bytes < large_until;

    return large && expected_rate && !silent && !off ? std::max(rate, expected_rate) : 0;
}

/* Bytes without a queue. */
uint64_t RedStreamFlow::probing_flight() const
{
    return std::min(rate * delay / SECOND * PROBING_PERCENT / 100, flight());
}

uint64_t RedStreamFlow::limit() const
{
    const uint64_t full = flight();

    if (in_flight() == 0) {
        return full;
    }
    /* of what lies before a mark no byte is known to have arrived before the last */
    const uint64_t span = marks[mark_begin % RED_STREAM_FLOW_MARKS].counted_bytes - counted_acked;
    return full + std::min(span, full);
}

bool RedStreamFlow::has_room() const
{
    return in_flight() == 0 || bytes_in_flight() < (probing ? probing_flight() : limit());
}

bool RedStreamFlow::may_send(bool slack) const
{
    if (off) {
        return slack;
    }
    if (answers == 0 || silent) {
        return slack || has_room();
    }
    return has_room();
}

uint32_t RedStreamFlow::get_patience() const
{
    /* the path takes its time for what is in flight, and within a large picture is no mark */
    const uint64_t carried = rate ? (sent_bytes - acked_bytes) * SECOND / rate : 0;

    const uint64_t most = std::min<uint64_t>(
        std::max<uint64_t>(uint64_t{delay} * PATIENCE_MOST_DELAYS, RED_STREAM_FLOW_PATIENCE_MAX),
        RED_STREAM_FLOW_PATIENCE_LONG);

    return std::min(std::max<uint64_t>(uint64_t{delay} * PATIENCE_DELAYS + carried,
                                       RED_STREAM_FLOW_PATIENCE_MIN), most);
}

bool RedStreamFlow::is_path_busy() const
{
    return !(growing || probing || silent || off) && in_flight() >= BUSY_MARKS;
}

bool RedStreamFlow::wants_fewer_acks()
{
    const bool wants = !fewer_acks && !off && answers >= RED_STREAM_FLOW_KNOWN;

    fewer_acks = fewer_acks || wants;
    return wants;
}
