/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include <algorithm>

#include <common/log.h>

#include "red-stream-flow.h"
#include "red-stream-path.h"

/* Each comment says which users would notice a different value of the constant. */

/* Gain on the BDP afterwards. At 112 it takes twice as long to find that a path became faster;
 * at 150 the response to a key waits behind a queue of half a round trip. */
#define STEADY_GAIN_PERCENT 125

/* A pong is late if it takes LATE_TIMES as long as on an empty path. If it then comes, it shows
 * a queue (if it took RED_STREAM_UNNOTICED more); without it, it is time for the probe timeout.
 * With 1 the gain alone counts as a queue on long paths, and each pong that it delays is a
 * timeout; with 3, sound and keys wait longer behind a queue. */
#define LATE_TIMES 2

/* Microseconds. Others on a line of a user may keep a queue of so much, as a download does; with
 * upstream's limit that user would get less of it. Without, channels that share a line of
 * 20 Mbit/s have a queue that is shorter by a third. */
#define LONG_QUEUE (250 * 1000)

/* A round trip showed less than the rate if the difference is at least one part of so many. With 8,
 * the rate of a path that became longer falls by an eighth. */
#define SLOWER 16

/* Pongs of a bunch show more than this many times the rate. With 1, what comes over a path that
 * became a little faster is a bunch. */
#define BUNCH_GAIN 8

/* Bunches count if they come in BUNCH_PERIODS of RED_STREAM_FLOW_ROUNDS periods of this many
 * microseconds, and are one part of BUNCHED_PART of the bytes. In any period: after each stall of
 * the path there is a queue. Any part: a client that pauses now and then has one at all times. */
#define BUNCH_PERIOD 200000
#define BUNCH_PERIODS 3
#define BUNCHED_PART 4

/* Microseconds of the rate that may be in flight beyond a bunch, and beyond a BDP of the shortest
 * delay. With 25 ms in the first, a path with jitter carries less; with 160 ms in the second, five
 * channels that share a path which delivers in bunches wait for two more. */
#define BUNCH_MORE 35000
#define BUNCH_MOST 60000

/* The table at the top of red-stream-flow.h, in the order of Phase. */
struct RedStreamFlow::PhaseRules {
    const char *name;
    /* which limits allow a message */
    bool by_flow, by_upstream;
    /* pongs end round trips, so that the rate may become less */
    bool lowers_rate;
    /* pongs of probes without a queue in front make the delay longer */
    bool raises_delay;
};

const RedStreamFlow::PhaseRules &RedStreamFlow::rules() const
{
    static const PhaseRules all[] = {
        { "starting", true, true, false, false },
        { "steady", true, false, true, false },
        { "remeasuring", true, false, false, true },
        { "restarted", true, false, false, false },
        { "timeout", false, true, true, true },
        { "off", false, true, false, false },
    };

    return all[phase];
}

const char *RedStreamFlow::get_phase() const
{
    return phase == OPEN && is_growing() ? "growing" : rules().name;
}

void RedStreamFlow::sent(uint64_t now, uint32_t bytes)
{
    if (in_flight() == 0 && rate && phase != OFF && now - acked_time > RED_STREAM_FLOW_AGE) {
        start_again(now);
    }
    const uint64_t full = bdp();

    if (sent_bytes == probed_bytes) {
        span_time = now;
    }
    sent_bytes += bytes;
    counted_bytes += bytes > full ? full / 2 : bytes;
    if (bytes > full) {
        large_until = sent_bytes;
    }
    ++messages;
}

bool RedStreamFlow::wants_probe() const
{
    /* upstream's limit may be less than a part of the BDP */
    const uint64_t part = rules().by_flow ? bdp() / RED_STREAM_FLOW_PROBES : 0;
    const uint64_t least =
        std::max<uint64_t>(rate * RED_STREAM_SLACK / G_USEC_PER_SEC, RED_STREAM_FLOW_MIN);
    /* the limit is never less than RED_STREAM_FLOW_MIN, so that there are four probes in flight */
    const uint64_t span =
        std::max<uint64_t>({ part, std::min(least, 2 * part), RED_STREAM_FLOW_MIN / 4 });

    return counted_bytes - probed_counted >= span && in_flight() < G_N_ELEMENTS(probes) &&
           phase != OFF && !migrating;
}

void RedStreamFlow::probe_sent(uint64_t now, uint32_t bytes)
{
    Probe *probe = &probes[probe_end % G_N_ELEMENTS(probes)];

    spice_assert(in_flight() < G_N_ELEMENTS(probes));
    sent(now, bytes);
    if (in_flight() == 0) {
        /* The path was idle, so the time counts from the first of these bytes: if sending them took
         * long, most have arrived by now. */
        acked_time = span_time;
        acked_sent_time = span_time;
    }
    probe->bytes = sent_bytes - probed_bytes;
    probe->unqueued = phase == REMEASURING && probed_bytes - acked_bytes <= remeasuring_bdp();
    probe->uncounted = (probed_bytes - acked_bytes) - (probed_counted - counted_acked);
    probed_bytes = sent_bytes;
    probed_counted = counted_bytes;
    probe->sent_bytes = sent_bytes;
    probe->counted_bytes = counted_bytes;
    probe->messages = messages;
    probe->sent_time = now;
    probe->acked_bytes = acked_bytes;
    probe->acked_time = acked_time;
    probe->acked_sent_time = acked_sent_time;
    /* also without probes in flight: until the first pong the rate of the path is unknown */
    probe->starved = starved_until && starved_until >= acked_bytes;
    ++probe_end;
}

bool RedStreamFlow::pong_received(uint64_t now, uint32_t id)
{
    const uint32_t behind = (probe_end - id) & ~RED_STREAM_FLOW_PROBE;

    if (!(id & RED_STREAM_FLOW_PROBE) || behind == 0 || behind > in_flight()) {
        return false;
    }
    if (phase == TIMED_OUT) {
        /* one that leaves out some would time out again and again */
        untrusted_pongs = behind == in_flight() ? untrusted_pongs - 1 : RED_STREAM_FLOW_PROBES;
    }
    /* pongs come in order, so the probes before it will not be answered */
    probe_begin = probe_end - behind;
    const Probe *probe = &probes[probe_begin++ % G_N_ELEMENTS(probes)];

    stopped_time = stopped_time ? now : 0;
    check_overtaken(now);
    overtaken_time = 0;
    if (phase == STARTING || (phase == TIMED_OUT && untrusted_pongs == 0)) {
        phase = OPEN;
    }
    update_bunches(now, probe);
    acked_bytes = probe->sent_bytes;
    counted_acked = probe->counted_bytes;
    acked_time = now;
    acked_sent_time = probe->sent_time;
    const bool queued = update_delay(now, probe);
    update_rate(now, probe, queued);
    update_restart(now, queued);
    return true;
}

void RedStreamFlow::acked(uint64_t now, uint32_t count)
{
    acked_messages = std::min(acked_messages + count, messages);
    if (in_flight() && acked_messages > probes[probe_begin % G_N_ELEMENTS(probes)].messages) {
        overtaken_time = overtaken_time ? overtaken_time : now;
    }
    check_overtaken(now);
}

/* The client has acked a message sent after a probe, and has not answered the probe for some
 * time. */
void RedStreamFlow::check_overtaken(uint64_t now)
{
    if (overtaken_time && now - overtaken_time > RED_STREAM_FLOW_TIMEOUT) {
        phase = OFF;
    }
}

/* Returns whether the pong shows a queue. */
bool RedStreamFlow::update_delay(uint64_t now, const Probe *probe)
{
    const uint32_t sample = std::max<uint64_t>(now - probe->sent_time, 1);
    /* how long the path takes to carry the bytes between the previous probe and this one */
    const uint64_t own = rate ? probe->bytes * G_USEC_PER_SEC / rate : 0;
    /* and the uncounted bytes of large messages before those, see "Messages larger than the BDP" */
    const uint64_t large = rate ? probe->uncounted * G_USEC_PER_SEC / rate : 0;

    add_shortest(now, sample);
    if (delay == 0 || sample <= delay) {
        delay = sample;
        remeasured(now);
    } else if (rules().raises_delay && probe->unqueued) {
        /* Only a large difference means that the path became longer, as the estimated rate may
         * be too low. */
        if (sample > own + delay + delay / 4) {
            delay = std::min<uint64_t>(sample - own, longest_delay());
        }
        remeasured(now);
    } else if (phase == OPEN && now - delay_time > RED_STREAM_FLOW_AGE) {
        phase = REMEASURING;
    }

    const bool queued = sample > LATE_TIMES * (delay + own) + large + RED_STREAM_UNNOTICED;
    full_rounds = queued ? RED_STREAM_FLOW_TRIES : full_rounds;
    round_queued = round_queued && queued;
    round_late = round_late &&
                 sample > own + large + uint64_t{delay} * STEADY_GAIN_PERCENT / 100;
    return queued;
}

void RedStreamFlow::add_shortest(uint64_t now, uint32_t sample)
{
    if (now - shortest_time > RED_STREAM_FLOW_AGE) {
        shortest_before = shortest;
        shortest = UINT32_MAX;
        shortest_time = now;
    }
    shortest = std::min(shortest, sample);
}

/* To be called before the totals become those of @probe. */
void RedStreamFlow::update_bunches(uint64_t now, const Probe *probe)
{
    if (now - period_time > BUNCH_PERIOD) {
        period_time = now;
        period = (period + 1) % RED_STREAM_FLOW_ROUNDS;
        periods[period] = Period();
    }
    Period *const current = &periods[period];
    const uint64_t bytes = probe->counted_bytes - counted_acked;
    const uint64_t bunch = probe->counted_bytes - bunch_begin;
    const uint64_t elapsed = std::min<uint64_t>(now - bunch_time, G_USEC_PER_SEC);
    const uint64_t usual = BUNCH_GAIN * rate * elapsed / G_USEC_PER_SEC;

    current->bytes += bytes;
    if (bunch <= usual) {
        bunch_time = now;
        bunch_begin = probe->counted_bytes;
    } else {
        current->bunched += bytes;
        current->largest = std::max(current->largest, bunch - usual);
    }
}

/* Three times a bunch, so that the rate grows although the bytes in flight come in several. No more
 * than causes a queue of BUNCH_MORE if it is all that the path holds back. */
uint64_t RedStreamFlow::bunches_limit() const
{
    const uint64_t base = std::min(shortest, shortest_before);
    const uint64_t most = base * STEADY_GAIN_PERCENT / 100 + RED_STREAM_SLACK + BUNCH_MOST;
    uint64_t sizes[RED_STREAM_FLOW_ROUNDS];

    if (phase != OPEN || is_growing()) {
        return 0;
    }
    std::transform(periods, periods + RED_STREAM_FLOW_ROUNDS, sizes, [](const Period &last) {
        return last.bunched * BUNCHED_PART < last.bytes ? 0 : last.largest;
    });
    std::sort(sizes, sizes + RED_STREAM_FLOW_ROUNDS);
    const uint64_t bunch = sizes[RED_STREAM_FLOW_ROUNDS - BUNCH_PERIODS];
    return std::min({ 3 * bunch, bunch + rate * BUNCH_MORE / G_USEC_PER_SEC,
                      rate * most / G_USEC_PER_SEC });
}

/* Others on the same line may have sent what makes pongs late without a queue of this channel. If
 * each took that for a longer path, the queue would grow for ever. A path that is longer than this
 * shows a queue. */
uint64_t RedStreamFlow::longest_delay() const
{
    const uint64_t base = std::min(shortest, shortest_before);

    return is_late ? std::max<uint64_t>(delay, LATE_TIMES * base + RED_STREAM_UNNOTICED) :
                     UINT32_MAX;
}

void RedStreamFlow::remeasured(uint64_t now)
{
    delay_time = now;
    is_late = false;
    phase = phase == REMEASURING ? OPEN : phase;
}

/* A round trip ends: the bytes sent when the last one ended have arrived. */
void RedStreamFlow::next_round()
{
    const uint64_t last = rates[round % RED_STREAM_FLOW_ROUNDS];

    round_end = acked_bytes;
    late_rounds = round_late && last * SLOWER < rate * (SLOWER - 1) ? late_rounds + 1 : 0;
    /* before the last round trip that showed the rate is forgotten */
    const bool late = late_rounds >= RED_STREAM_FLOW_ROUNDS - 1;
    if (round_queued || late) {
        /* The path became slower or longer. The maximum of earlier rates hides the first: forget
         * them. A queue hides the second: let it drain and measure the delay. If the path became
         * a little longer there is none, but what may be in flight does not fill it. */
        std::fill_n(rates, RED_STREAM_FLOW_ROUNDS, last);
        rate = last;
        is_late = !round_queued;
        late_rounds = 0;
        phase = phase == OPEN ? REMEASURING : phase;
    }
    round_queued = true;
    round_late = true;
    ++round;
    rates[round % RED_STREAM_FLOW_ROUNDS] = 0;
    check_full_rate();
}

void RedStreamFlow::update_rate(uint64_t now, const Probe *probe, bool queued)
{
    const uint64_t elapsed = std::max(now - probe->acked_time,
                                      probe->sent_time - probe->acked_sent_time);
    const bool lowers = rules().lowers_rate && !probe->starved;

    if (lowers && probe->acked_bytes >= round_end) {
        next_round();
    }
    if (elapsed == 0) {
        return;
    }

    const uint64_t sample = (acked_bytes - probe->acked_bytes) * G_USEC_PER_SEC / elapsed;
    /* With an empty pipe no round trip ends. But a queue behind so many bytes is the path's. */
    if (queued && probe->starved && rules().lowers_rate &&
        probe->sent_bytes - probe->acked_bytes >= RED_STREAM_FLOW_INITIAL) {
        std::fill_n(rates, RED_STREAM_FLOW_ROUNDS, sample);
    }
    if (sample > rate || lowers) {
        uint64_t *const round_rate = &rates[round % RED_STREAM_FLOW_ROUNDS];

        *round_rate = std::max(*round_rate, sample);
    }
    rate = *std::max_element(rates, rates + RED_STREAM_FLOW_ROUNDS);
}

/* After a long pause the rate is confirmed step by step, see "Old estimates" in the header. If
 * the path became slower while idle, most of this is a queue: so no more than the gain allows on
 * any path. */
void RedStreamFlow::start_again(uint64_t now)
{
    phase = RESTARTED;
    restart =
        std::max<uint64_t>(full_bdp() * (STEADY_GAIN_PERCENT - 100) / 100, RED_STREAM_FLOW_MIN);
    restart_time = now;
    restart_begin = sent_bytes;
    std::fill_n(periods, RED_STREAM_FLOW_ROUNDS, Period());
}

uint64_t RedStreamFlow::covered_since_restart() const
{
    return std::max(acked_bytes, restart_begin) - restart_begin;
}

void RedStreamFlow::update_restart(uint64_t now, bool queued)
{
    const uint64_t carried = covered_since_restart();

    if (phase != RESTARTED) {
        return;
    }
    if (queued) {
        rate = std::min(rate, carried * G_USEC_PER_SEC / std::max<uint64_t>(now - restart_time, 1));
        std::fill_n(rates, RED_STREAM_FLOW_ROUNDS, rate);
        phase = OPEN;
    } else if (restart + carried >= full_bdp()) {
        phase = OPEN;
    }
}

void RedStreamFlow::check_full_rate()
{
    if (!is_growing()) {
        return;
    }
    if (rate * 100 >= full_rate * STEADY_GAIN_PERCENT) {
        full_rate = rate;
        full_rounds = 0;
    } else {
        ++full_rounds;
    }
}

void RedStreamFlow::starved()
{
    /* Close to the limit the pongs do show the path's rate, although the pipe is empty. */
    if (bytes_in_flight() < bdp() * 100 / STEADY_GAIN_PERCENT) {
        starved_until = sent_bytes;
    }
}

/* The BDP in bytes with its gain, from the estimates. */
uint64_t RedStreamFlow::full_bdp() const
{
    const uint64_t steady = uint64_t{delay} * STEADY_GAIN_PERCENT / 100 + RED_STREAM_SLACK;
    const uint64_t time = is_growing() ?
        std::max(uint64_t{delay} * RED_STREAM_GROWING_GAIN_PERCENT / 100, steady) : steady;
    /* at first as much as the path carries if it is as the main channel has measured it */
    const uint64_t first = expected_rate ?
        expected_rate * (expected_delay + RED_STREAM_UNNOTICED) / G_USEC_PER_SEC :
        RED_STREAM_FLOW_INITIAL;
    const uint64_t most = is_growing() ? RED_STREAM_FLOW_INITIAL : RED_STREAM_FLOW_MIN;
    const uint64_t least = std::max<uint64_t>(std::min(first, most), RED_STREAM_FLOW_MIN);

    return std::max(rate * time / G_USEC_PER_SEC, least);
}

/* The same, less while the estimates are old. */
uint64_t RedStreamFlow::bdp() const
{
    const uint64_t full = full_bdp();

    return phase == RESTARTED ? std::min(restart + covered_since_restart(), full) : full;
}

uint64_t RedStreamFlow::get_pace() const
{
    const bool large = acked_bytes < large_until;

    return large && expected_rate && rules().by_flow ? std::max(rate, expected_rate) : 0;
}

/* Bytes in flight that cause no queue: as much below the BDP as the gain is above. */
uint64_t RedStreamFlow::remeasuring_bdp() const
{
    const uint64_t empty = is_longer() ? expected_delay : delay;

    return std::min(rate * empty / G_USEC_PER_SEC * 100 / STEADY_GAIN_PERCENT, bdp());
}

/* Whether the delay would show a queue on the path that the main channel has measured, see
 * "Channels that share a line". */
bool RedStreamFlow::is_longer() const
{
    return expected_delay &&
           delay > uint64_t{LATE_TIMES} * expected_delay + RED_STREAM_UNNOTICED;
}

/* Whether it is so much longer that upstream's limit holds as well. */
bool RedStreamFlow::is_far_longer() const
{
    const uint64_t twice = 2 * (uint64_t{LATE_TIMES} * expected_delay + RED_STREAM_UNNOTICED);

    return expected_delay && delay > std::max<uint64_t>(twice, LONG_QUEUE);
}

uint64_t RedStreamFlow::limit() const
{
    const uint64_t full = bdp();

    if (in_flight() == 0) {
        return full;
    }
    /* All bytes before the first probe may have arrived: its pong has yet to confirm them. */
    const uint64_t span = probes[probe_begin % G_N_ELEMENTS(probes)].counted_bytes - counted_acked;
    return std::max(full + std::min(span, full), bunches_limit());
}

bool RedStreamFlow::has_room() const
{
    return in_flight() == 0 ||
           bytes_in_flight() < (phase == REMEASURING ? remeasuring_bdp() : limit());
}

bool RedStreamFlow::may_send(bool slack) const
{
    const bool by_flow = rules().by_flow && has_room() && (slack || !is_far_longer());

    return by_flow || (rules().by_upstream && slack);
}

uint32_t RedStreamFlow::get_probe_timeout() const
{
    /* the path also needs time for the bytes in flight: no probe is inside a large image */
    const uint64_t carried = rate ? (sent_bytes - acked_bytes) * G_USEC_PER_SEC / rate : 0;
    const uint64_t least = uint64_t{delay} * LATE_TIMES;
    const uint64_t most =
        std::max<uint64_t>(least + RED_STREAM_FLOW_TIMEOUT, 3 * RED_STREAM_FLOW_TIMEOUT);

    return std::min({ std::max<uint64_t>(least + carried, RED_STREAM_FLOW_TIMEOUT), most,
                      uint64_t{UINT32_MAX} });
}

void RedStreamFlow::ping_answered(uint32_t ping_delay)
{
    if (!is_near && ping_delay <= RED_STREAM_FLOW_LOCAL_DELAY) {
        is_near = true;
        /* images are not compressed from now on, and take the client less time to decode */
        full_rate = 0;
        full_rounds = 0;
    }
}

/* A quarter of a BDP at least: with that the path stays busy during a coalescing delay. */
bool RedStreamFlow::is_path_busy() const
{
    return phase == OPEN && !is_growing() && in_flight() >= RED_STREAM_FLOW_PROBES / 4;
}

uint32_t RedStreamFlow::set_stopped(uint64_t now, bool stopped)
{
    /* what upstream's limit has stopped goes on with an ack, whenever that comes */
    if (!stopped || rules().by_upstream || (is_far_longer() && has_room())) {
        stopped_time = 0;
        return 0;
    }
    stopped_time = stopped_time ? stopped_time : now;
    if (timer_runs) {
        return 0;
    }
    timer_runs = true;
    return get_probe_timeout() / 1000;
}

uint32_t RedStreamFlow::timer(uint64_t now, bool *has_timed_out)
{
    const uint64_t timeout = get_probe_timeout();

    timer_runs = false;
    *has_timed_out = stopped_time && now - stopped_time >= timeout;
    if (*has_timed_out) {
        phase = TIMED_OUT;
        stopped_time = 0;
        untrusted_pongs = RED_STREAM_FLOW_PROBES;
        ++probe_timeouts;
    } else if (stopped_time) {
        timer_runs = true;
        return (timeout - (now - stopped_time)) / 1000 + 1;
    }
    return 0;
}
