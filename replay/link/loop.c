/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One thread, one epoll: both devices, the timer and the signals. Arrivals are read before
 * deliveries are made, for their time is taken when they are read.
 *
 * The timer is absolute, so that being interrupted before the sleep costs nothing, and is only
 * set when the next delivery is another one than it was set for.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

/* Packets handled for one direction before the other has its turn. */
#define BATCH 32

/* Source of an event; the first two are indices of directions. */
enum {
    EVENT_FROM_A,
    EVENT_FROM_B,
    EVENT_TIMER,
    EVENT_SIGNAL,
    EVENT_COUNT,
};

typedef struct Loop {
    int epoll;
    int timer;
    int signals;
    uint64_t timer_set_for; /* LINE_NEVER: off */
} Loop;

uint64_t loop_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * NS_PER_S + (uint64_t) now.tv_nsec;
}

static void receive_packet(LinkDirection *direction, LinePacket *packet)
{
    uint32_t size = packet->length + TUN_ETHERNET_HEADER;
    LinkCounters *counters = &direction->counters;
    ShaperVerdict verdict = SHAPER_QUEUE_FULL;
    uint64_t due = 0;

    counters->packets_in++;
    counters->bytes_in += size;
    if (!line_full(&direction->line)) {
        verdict = shaper_packet(&direction->shaper, loop_now(), size, &due);
    }
    switch (verdict) {
    case SHAPER_PASS:
        line_push(&direction->line, packet, due);
        return;
    case SHAPER_QUEUE_FULL:
        counters->queue_full++;
        break;
    case SHAPER_LOST:
        counters->lost++;
        break;
    }
    line_return(&direction->line, packet);
}

static void receive_batch(LinkDirection *direction)
{
    for (int i = 0; i < BATCH; i++) {
        LinePacket *packet = line_take(&direction->line);
        ssize_t length = read(direction->from->fd, packet->data, sizeof(packet->data));
        if (length <= 0) {
            line_return(&direction->line, packet);
            if (length < 0 && errno != EAGAIN && errno != EINTR) {
                err(EXIT_FAILURE, "reading from %s", direction->from->device);
            }
            return;
        }
        packet->length = (uint16_t) length;
        receive_packet(direction, packet);
    }
}

static void deliver_batch(LinkDirection *direction)
{
    LinkCounters *counters = &direction->counters;

    for (int i = 0; i < BATCH; i++) {
        uint64_t due = line_next_due(&direction->line);
        if (due > loop_now()) {
            return;
        }
        LinePacket *packet = line_pop(&direction->line);
        if (write(direction->to->fd, packet->data, packet->length) == packet->length) {
            /* the time after write(), as this process may have waited for a CPU in it */
            uint64_t late_ns = loop_now() - due;

            if (late_ns > counters->max_late_ns) {
                counters->max_late_ns = late_ns;
            }
            counters->packets_out++;
            counters->bytes_out += packet->length + TUN_ETHERNET_HEADER;
        } else {
            counters->refused++;
        }
        line_return(&direction->line, packet);
    }
}

static void set_timer(Loop *loop, uint64_t when)
{
    struct itimerspec value = { .it_value = { .tv_sec = 0 } };

    if (when == loop->timer_set_for) {
        return;
    }
    if (when != LINE_NEVER) {
        value.it_value.tv_sec = (time_t) (when / NS_PER_S);
        value.it_value.tv_nsec = (long) (when % NS_PER_S);
    }
    if (timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &value, NULL) < 0) {
        err(EXIT_FAILURE, "timerfd_settime");
    }
    loop->timer_set_for = when;
}

/* Sleeps until something can be read or a packet is due. Returns the number of events, or 0. */
static int wait_for_work(Loop *loop, uint64_t next_due, struct epoll_event events[EVENT_COUNT])
{
    int timeout = 0;

    if (next_due > loop_now()) {
        set_timer(loop, next_due);
        timeout = -1;
    }
    int count = epoll_wait(loop->epoll, events, EVENT_COUNT, timeout);
    if (count < 0) {
        if (errno != EINTR) {
            err(EXIT_FAILURE, "epoll_wait");
        }
        return 0;
    }
    return count;
}

static sigset_t our_signals(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGUSR1);
    return signals;
}

void loop_block_signals(void)
{
    sigset_t signals = our_signals();

    if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0) {
        err(EXIT_FAILURE, "sigprocmask");
    }
}

static void watch(const Loop *loop, int fd, uint32_t what)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = what };

    if (fd < 0 || epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        err(EXIT_FAILURE, "cannot make the event loop");
    }
}

static void loop_init(Loop *loop, const LinkDirection directions[2])
{
    sigset_t signals = our_signals();

    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    loop->signals = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    loop->timer_set_for = LINE_NEVER;
    watch(loop, directions[0].from->fd, EVENT_FROM_A);
    watch(loop, directions[1].from->fd, EVENT_FROM_B);
    watch(loop, loop->timer, EVENT_TIMER);
    watch(loop, loop->signals, EVENT_SIGNAL);
}

static void loop_destroy(Loop *loop)
{
    close(loop->epoll);
    close(loop->timer);
    close(loop->signals);
}

/* Returns whether the signal ends the loop. */
static bool take_signal(const Loop *loop, LinkDirection directions[2])
{
    struct signalfd_siginfo info;

    if (read(loop->signals, &info, sizeof(info)) != sizeof(info)) {
        return false;
    }
    if (info.ssi_signo != SIGUSR1) {
        return true;
    }
    if (directions[0].shaper.begun == SHAPER_NEVER) {
        uint64_t now = loop_now();
        shaper_begin(&directions[0].shaper, now);
        shaper_begin(&directions[1].shaper, now);
    }
    return false;
}

void loop_run(LinkDirection directions[2])
{
    Loop loop;
    bool ended = false;

    loop_init(&loop, directions);
    while (!ended) {
        struct epoll_event events[EVENT_COUNT];
        uint64_t due_ab = line_next_due(&directions[0].line);
        uint64_t due_ba = line_next_due(&directions[1].line);
        int count = wait_for_work(&loop, due_ab < due_ba ? due_ab : due_ba, events);
        for (int i = 0; i < count; i++) {
            switch (events[i].data.u32) {
            case EVENT_FROM_A:
            case EVENT_FROM_B:
                receive_batch(&directions[events[i].data.u32]);
                break;
            case EVENT_SIGNAL:
                ended = take_signal(&loop, directions);
                break;
            }
        }
        deliver_batch(&directions[0]);
        deliver_batch(&directions[1]);
    }
    loop_destroy(&loop);
}
