/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "brake.h"

#include "../common/clock.h"

/* Shorter sleeps cost more than they last: they are added up until they are this long. */
#define SHORTEST_SLEEP_NS NSEC_PER_MSEC

typedef struct Brake {
    GSource source;
    double factor;
    int64_t cpu_ns;  /* CPU time of the thread that has been accounted for */
    int64_t owed_ns; /* remaining sleep; negative after a sleep that lasted too long */
} Brake;

static gboolean brake_prepare(GSource *source, gint *timeout)
{
    Brake *brake = (Brake *)source;
    /* the library decodes in the thread of the main loop */
    int64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

    *timeout = -1;
    brake->owed_ns += (cpu_ns - brake->cpu_ns) * (brake->factor - 1);
    brake->cpu_ns = cpu_ns;
    if (brake->owed_ns >= SHORTEST_SLEEP_NS) {
        int64_t start_ns = clock_ns();

        g_usleep(brake->owed_ns / 1000);
        brake->owed_ns -= clock_ns() - start_ns;
    }
    return FALSE;
}

/* Never ready: the work is done before every poll of the main loop, which the library enters for
 * each update it reports. */
static GSourceFuncs brake_funcs = {
    .prepare = brake_prepare,
    .check = NULL,
    .dispatch = NULL,
    .finalize = NULL,
};

GSource *brake_new(double factor)
{
    if (factor <= 1) {
        return NULL;
    }

    GSource *source = g_source_new(&brake_funcs, sizeof(Brake));
    Brake *brake = (Brake *)source;

    brake->factor = factor;
    brake->cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    g_source_set_priority(source, G_PRIORITY_HIGH);
    g_source_attach(source, NULL);
    return source;
}

void brake_free(GSource *brake)
{
    if (brake == NULL) {
        return;
    }
    g_source_destroy(brake);
    g_source_unref(brake);
}
