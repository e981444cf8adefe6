/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include <common/log.h>

#include "red-stream-flow.h"

/* Bytes that may be in flight as long as nothing is known: twice what TCP itself sends
 * at first (RFC 6928). */
#define INITIAL_LIMIT (32 * 1024)
#define MIN_LIMIT 4096

/* Congestion windows that may be in flight in TCP's slow start: what is on its way, and
 * what goes out as that is acked. */
#define WINDOWS 2

/* 2 / ln 2, the smallest gain that doubles the rate every round trip */
#define GROWING_GAIN_PERCENT 289
#define STEADY_GAIN_PERCENT 125

/* The rate has stopped growing after so many rounds with less growth than this. */
#define FULL_ROUNDS 3
#define FULL_GROWTH_PERCENT 125

/* Microseconds. On a short path this, not the delay, is what lets the messages of a drain
 * go together. */
#define SLACK 5000

/* An ack costs the client a packet and both ends a wake-up, so a group should take so many
 * microseconds; but a full flight has no fewer and no more groups than these. */
#define ACK_TIME 4000
/* bytes: TCP answers the packet with one that takes its time from the pictures of a slow line */
#define ACK_BYTES 4096
#define LEAST_GROUPS 8
#define MOST_GROUPS 16

/* A group of this part of a full flight is ended with a SET_ACK. */
#define LARGEST_GROUP_PART 2

/* What was sent last may wait for this part of the delay if so many groups are before it. */
#define HOLD_DELAY_PART 8
#define HOLD_GROUPS 4

/* A queue has built up: a group took twice as long as on an empty line, and so many
 * microseconds more. */
#define QUEUE_DELAY 25000

/* While the delay is measured anew no more than this part of what the path holds is in flight: the
 * queue is gone then, and the line not idle. */
#define PROBING_PERCENT 75

/* microseconds, and this number of delays */
#define SET_ACK_PAUSE 10000
#define SET_ACK_PAUSE_DELAYS 2

/* What is known of the time that a message takes falls by this part with each that takes less. */
#define MAKING_TIME_PART 8

#define SECOND 1000000

void RedStreamFlow::close_group(uint64_t now)
{
    Group *group = &groups[group_end % RED_STREAM_FLOW_GROUPS];

    if (acked_time == 0 || in_flight() == 0) {
        /* The path was idle. Of a group that took long to fill most has arrived by now. */
        acked_time = group_begin_time;
        acked_sent_time = group_begin_time;
    }
    group->bytes = sent_bytes - group_begin_bytes;
    group->uncounted = (group_begin_bytes - acked_bytes) - (group_begin_counted - counted_acked);
    group_begin_bytes = sent_bytes;
    group_begin_counted = counted_bytes;
    group->sent_bytes = sent_bytes;
    group->counted_bytes = counted_bytes;
    group->sent_time = now;
    group->acked_bytes = acked_bytes;
    group->acked_time = acked_time;
    group->acked_sent_time = acked_sent_time;
    group->starved = starved_until > acked_bytes;
    ++group_end;
}

void RedStreamFlow::sent(uint64_t now, uint32_t bytes)
{
    const uint64_t full = flight();

    if (group_messages == 0) {
        group_begin_time = now;
    }
    sent_bytes += bytes;
    counted_bytes += bytes > full ? full / 2 : bytes;
    /* A large message is one step between acks, whatever the interval, so how large does
     * not matter for it. */
    message_size -= message_size / RED_STREAM_FLOW_AVERAGE;
    message_size += std::min<uint64_t>(bytes, full / LEAST_GROUPS);
    ++group_messages;
    if (interval && group_messages >= interval && in_flight() < RED_STREAM_FLOW_GROUPS) {
        close_group(now);
        group_messages -= interval;
    }
}

void RedStreamFlow::set_ack_sent(uint64_t now, uint32_t new_interval, uint32_t bytes)
{
    sent_bytes += bytes;
    counted_bytes += bytes;
    if (group_messages == 0) {
        group_begin_time = now;
    }
    if (in_flight() >= RED_STREAM_FLOW_GROUPS) {
        /* the sync tells of the newest group, too */
        --group_end;
        group_begin_bytes -= groups[group_end % RED_STREAM_FLOW_GROUPS].bytes;
        group_begin_counted = groups[(group_end - 1) % RED_STREAM_FLOW_GROUPS].counted_bytes;
    }
    group_messages = 0;
    interval = new_interval;
    set_ack_time = now;
    syncing = true;
    sync_group = group_end;
    close_group(now);
}

void RedStreamFlow::synced(uint64_t now)
{
    if (syncing) {
        syncing = false;
        /* acks of earlier groups have come, unless the client counts in another way */
        group_begin = sync_group;
        group_done(now);
    }
}

void RedStreamFlow::acked(uint64_t now)
{
    /* until the sync comes acks are of groups before it */
    if (in_flight() && !(syncing && group_begin == sync_group)) {
        group_done(now);
    } else if (!syncing && group_messages) {
        begin_group_anew();
    }
}

/* The client has completed a group that is not complete here: it counts more, as spice-html5
 * does, which counts SET_ACK itself. Begin the next group where the client does; the other
 * way round sending might stop for an ack that has already come. When that message was sent
 * is not known, so the ack says nothing of the path. */
void RedStreamFlow::begin_group_anew()
{
    group_messages = 0;
    group_begin_bytes = sent_bytes;
    group_begin_counted = counted_bytes;
    acked_bytes = sent_bytes;
    counted_acked = counted_bytes;
}

/* The oldest group has reached the client. */
void RedStreamFlow::group_done(uint64_t now)
{
    const Group *group = &groups[group_begin++ % RED_STREAM_FLOW_GROUPS];

    acked_bytes = group->sent_bytes;
    counted_acked = group->counted_bytes;
    acked_time = now;
    acked_sent_time = group->sent_time;
    update_delay(now, group);
    update_rate(now, group);
}

void RedStreamFlow::update_delay(uint64_t now, const Group *group)
{
    const uint32_t sample = std::max<uint64_t>(now - group->sent_time, 1);
    /* the time that the line takes for the group itself */
    const uint64_t own = rate ? group->bytes * SECOND / rate : 0;
    /* and for large messages before it: of these more is in flight than fills the path */
    const uint64_t large = rate ? group->uncounted * SECOND / rate : 0;
    const uint64_t before = group->sent_bytes - group->bytes - group->acked_bytes;

    if (delay == 0 || sample <= delay) {
        delay = sample;
        delay_time = now;
        probing = false;
    } else if (probing && before <= probing_flight()) {
        /* There was no queue before the group. What is left of the sample is a longer path only
         * if it differs for certain: with too low a rate it is too short. */
        if (sample > own + delay + delay / 4) {
            delay = sample - own;
        }
        delay_time = now;
        probing = false;
    } else if (now - delay_time > RED_STREAM_FLOW_DELAY_AGE) {
        probing = true;
    }
    /* what waits for TCP's window to grow is not in the line yet */
    const uint64_t local = growing && slow_start_window ? WINDOWS * delay : 0;

    if (sample > 2 * (delay + own) + large + local + QUEUE_DELAY) {
        growing = false;
    } else {
        round_queued = false;
    }
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

void RedStreamFlow::update_rate(uint64_t now, const Group *group)
{
    const uint64_t elapsed = std::max(now - group->acked_time,
                                      group->sent_time - group->acked_sent_time);

    if (group->acked_bytes >= round_end && !group->starved && !probing) {
        next_round();
    }
    /* acks that came together say nothing about the path */
    if (elapsed == 0 || elapsed < delay) {
        return;
    }

    const uint64_t sample = (acked_bytes - group->acked_bytes) * SECOND / elapsed;
    if (sample > rate || !(group->starved || probing)) {
        uint64_t *const round_rate = &rates[round % RED_STREAM_FLOW_ROUNDS];

        *round_rate = std::max(*round_rate, sample);
    }
    rate = *std::max_element(rates, rates + RED_STREAM_FLOW_ROUNDS);
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

void RedStreamFlow::made(uint32_t time)
{
    making_time = std::max(time, making_time - making_time / MAKING_TIME_PART);
}

void RedStreamFlow::starved()
{
    starved_until = sent_bytes;
}

/* Bytes that fill the path. */
uint64_t RedStreamFlow::flight() const
{
    const uint64_t gain = growing ? GROWING_GAIN_PERCENT : STEADY_GAIN_PERCENT;
    const uint64_t time = delay * gain / 100 + SLACK;
    const uint64_t least = growing ? INITIAL_LIMIT : MIN_LIMIT;
    const uint64_t tcp = growing ? WINDOWS * slow_start_window : 0;

    return std::max({ rate * time / SECOND, least, tcp });
}

/* Bytes without a queue. */
uint64_t RedStreamFlow::probing_flight() const
{
    return rate * delay / SECOND * PROBING_PERCENT / 100;
}

uint64_t RedStreamFlow::limit() const
{
    const uint64_t full = flight();

    if (in_flight() == 0) {
        return full;
    }
    /* of the group that is being received no byte is acked before the last */
    const uint64_t group = groups[group_begin % RED_STREAM_FLOW_GROUPS].counted_bytes - counted_acked;
    return full + std::min(group, full);
}

bool RedStreamFlow::may_send() const
{
    if (in_flight() == 0) {
        return true;
    }
    if (in_flight() >= RED_STREAM_FLOW_GROUPS) {
        return false;
    }
    return bytes_in_flight() < (probing ? probing_flight() : limit());
}

uint64_t RedStreamFlow::hold_time() const
{
    return growing || probing || in_flight() < HOLD_GROUPS ? 0 : delay / HOLD_DELAY_PART;
}

uint32_t RedStreamFlow::wanted_interval() const
{
    const uint64_t full = flight();
    const uint64_t size = std::max<uint64_t>(message_size / RED_STREAM_FLOW_AVERAGE, 1);
    const uint64_t least = std::max<uint64_t>(rate * ACK_TIME / SECOND, ACK_BYTES);
    const uint64_t group = std::max(full / MOST_GROUPS, std::min(least, full / LEAST_GROUPS));

    return std::max<uint64_t>(group / size, 1);
}

bool RedStreamFlow::wants_set_ack(uint64_t now)
{
    const uint32_t wanted = wanted_interval();
    /* messages have turned out smaller: the groups will be used up before the path is full */
    const bool runs_out = in_flight() > RED_STREAM_FLOW_GROUPS / 2;
    /* they have turned out larger: the sync will come before the group's ack would */
    const bool too_large = sent_bytes - group_begin_bytes > flight() / LARGEST_GROUP_PART;
    const bool paused = now - set_ack_time >= SET_ACK_PAUSE + SET_ACK_PAUSE_DELAYS * delay;
    const bool differs = wanted * 2 <= interval || wanted >= interval * 2;

    if (interval == 0 || syncing || !(too_large || (differs && (runs_out || paused)))) {
        return false;
    }
    set_ack_time = now;
    return true;
}
