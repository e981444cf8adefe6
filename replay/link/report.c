/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "report.h"

static void end_line(void)
{
    putchar('\n');
    if (fflush(stdout) != 0) {
        err(EXIT_FAILURE, "stdout");
    }
}

void report_ready(const LinkDirection directions[2])
{
    printf("{\"event\":\"ready\",\"dev_a\":\"%s\",\"dev_b\":\"%s\",\"queue_bytes\":%" PRIu64 "}",
           directions[0].from->device, directions[1].from->device, directions[0].shaper.config.queue);
    end_line();
}

static double seconds(struct timeval time)
{
    return (double) time.tv_sec + (double) time.tv_usec / 1e6;
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

void report_done(const LinkDirection directions[2], uint64_t ns)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    printf("{\"event\":\"done\",\"seconds\":%.3f,\"cpu_user\":%.3f,\"cpu_system\":%.3f",
           (double) ns / 1e9, seconds(usage.ru_utime), seconds(usage.ru_stime));
    if (directions[0].shaper.begun != SHAPER_NEVER) {
        printf(",\"begun_ns\":%" PRIu64, directions[0].shaper.begun);
    }
    print_direction("a_to_b", &directions[0]);
    print_direction("b_to_a", &directions[1]);
    putchar('}');
    end_line();
}
