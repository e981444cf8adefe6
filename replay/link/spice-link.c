/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * spice-link: a link with a rate, a delay, a queue and losses between two network namespaces, for
 * kernels without tc netem. README.md says how to use it and how exact it is.
 */
#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "loop.h"
#include "options.h"
#include "report.h"
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
