/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * spice-link: a link with a rate, a delay, a queue and losses between two network namespaces, for
 * kernels without tc netem. README.md says how to use it and how exact it is.
 */
#include <err.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "../common/clock.h"
#include "loop.h"
#include "options.h"
#include "tun.h"

/* Asks to run before everything else, and to keep the memory it has touched. What is not permitted
 * is done without; the report of lateness shows what that costs. */
static void become_realtime(void)
{
    const struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_FIFO) };

    mlockall(MCL_CURRENT | MCL_ONFAULT);
    sched_setscheduler(0, SCHED_FIFO, &lowest);
}

static void direction_init(LinkDirection *direction, const Tun *from, const Tun *to,
                           const ShaperConfig *config, uint64_t seed)
{
    direction->from = from;
    direction->to = to;
    shaper_init(&direction->shaper, config, seed);
    if (!line_init(&direction->line)) {
        err(EXIT_FAILURE, "packet memory");
    }
}

static void end_line(void)
{
    putchar('\n');
    if (fflush(stdout) != 0) {
        err(EXIT_FAILURE, "stdout");
    }
}

static void report_ready(const LinkDirection directions[2])
{
    printf("{\"event\":\"ready\",\"dev_a\":\"%s\",\"dev_b\":\"%s\",\"queue_bytes\":%" PRIu64 "}",
           directions[0].from->device, directions[1].from->device, directions[0].shaper.config.queue);
    end_line();
}

static void print_count(const char *name, uint64_t value)
{
    printf("\"%s\":%" PRIu64 ",", name, value);
}

static void print_direction(const char *name, const LinkDirection *direction)
{
    const LinkCounters *counters = &direction->counters;

    printf(",\"%s\":{", name);
    print_count("packets_in", counters->packets_in);
    print_count("bytes_in", counters->bytes_in);
    print_count("packets_out", counters->packets_out);
    print_count("bytes_out", counters->bytes_out);
    print_count("dropped_queue", counters->queue_full);
    print_count("dropped_loss", counters->lost);
    print_count("refused", counters->refused);
    print_count("missed", tun_missed(direction->from));
    print_count("under_way", direction->line.count);
    print_count("max_queue_bytes", direction->shaper.max_backlog);
    printf("\"late_us\":{\"max\":%.1f}}", (double) counters->max_late_ns / 1e3);
}

static void report_done(const LinkDirection directions[2], uint64_t ns)
{
    const struct timeval none = { 0 };
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    printf("{\"event\":\"done\",\"seconds\":%.3f,\"cpu_user\":%.3f,\"cpu_system\":%.3f",
           (double) ns / 1e9, clock_seconds(none, usage.ru_utime), clock_seconds(none, usage.ru_stime));
    if (directions[0].shaper.begun != SHAPER_NEVER) {
        printf(",\"begun_ns\":%" PRIu64, directions[0].shaper.begun);
    }
    print_direction("a_to_b", &directions[0]);
    print_direction("b_to_a", &directions[1]);
    putchar('}');
    end_line();
}

int main(int argc, char **argv)
{
    static LinkDirection directions[2];
    LinkOptions options;
    Tun ends[2];

    options_parse(&options, argc, argv);
    signal(SIGPIPE, SIG_IGN);
    loop_block_signals();
    tun_create(&ends[0], &options.end[0]);
    tun_create(&ends[1], &options.end[1]);
    /* the two directions of one link must not lose alike */
    direction_init(&directions[0], &ends[0], &ends[1], &options.shaper[0], 2 * options.seed);
    direction_init(&directions[1], &ends[1], &ends[0], &options.shaper[1], 2 * options.seed + 1);
    become_realtime();

    uint64_t start = loop_now();
    report_ready(directions);
    loop_run(directions);
    report_done(directions, loop_now() - start);

    for (int i = 0; i < 2; i++) {
        line_destroy(&directions[i].line);
        tun_destroy(&ends[i]);
    }
    return EXIT_SUCCESS;
}
