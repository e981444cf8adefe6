/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core-glib.h"

#include <glib.h>

struct SpiceTimer {
    SpiceTimerFunc func;
    void *opaque;
    guint source;               /* 0 when it does not run */
};

/* A GSource of our own rather than an id: the mask changes for every message sent. */
struct SpiceWatch {
    GSource source;
    SpiceWatchFunc func;
    void *opaque;
    int fd;
    gpointer tag;
};

static SpiceTimer *timer_add(SpiceTimerFunc func, void *opaque)
{
    SpiceTimer *timer = g_new0(SpiceTimer, 1);

    timer->func = func;
    timer->opaque = opaque;
    return timer;
}

static void timer_cancel(SpiceTimer *timer)
{
    g_clear_handle_id(&timer->source, g_source_remove);
}

static gboolean timer_expired(gpointer data)
{
    SpiceTimer *timer = data;

    /* first, as the function may start or free the timer */
    timer->source = 0;
    timer->func(timer->opaque);
    return G_SOURCE_REMOVE;
}

static void timer_start(SpiceTimer *timer, uint32_t ms)
{
    timer_cancel(timer);
    timer->source = g_timeout_add(ms, timer_expired, timer);
}

static void timer_remove(SpiceTimer *timer)
{
    timer_cancel(timer);
    g_free(timer);
}

static GIOCondition condition_of(int event_mask)
{
    GIOCondition condition = 0;

    if (event_mask & SPICE_WATCH_EVENT_READ) {
        condition |= G_IO_IN | G_IO_HUP | G_IO_ERR;
    }
    if (event_mask & SPICE_WATCH_EVENT_WRITE) {
        condition |= G_IO_OUT | G_IO_HUP | G_IO_ERR;
    }
    return condition;
}

static gboolean watch_dispatch(GSource *source, GSourceFunc callback G_GNUC_UNUSED,
                               gpointer data G_GNUC_UNUSED)
{
    SpiceWatch *watch = (SpiceWatch *) source;
    GIOCondition ready = g_source_query_unix_fd(source, watch->tag);
    int event = 0;

    if (ready & (G_IO_IN | G_IO_HUP | G_IO_ERR)) {
        event |= SPICE_WATCH_EVENT_READ;
    }
    if (ready & G_IO_OUT) {
        event |= SPICE_WATCH_EVENT_WRITE;
    }
    watch->func(watch->fd, event, watch->opaque);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs watch_funcs = {
    .dispatch = watch_dispatch,
};

static SpiceWatch *watch_add(int fd, int event_mask, SpiceWatchFunc func, void *opaque)
{
    GSource *source = g_source_new(&watch_funcs, sizeof(SpiceWatch));
    SpiceWatch *watch = (SpiceWatch *) source;

    watch->func = func;
    watch->opaque = opaque;
    watch->fd = fd;
    watch->tag = g_source_add_unix_fd(source, fd, condition_of(event_mask));
    g_source_attach(source, NULL);
    return watch;
}

static void watch_update_mask(SpiceWatch *watch, int event_mask)
{
    g_source_modify_unix_fd(&watch->source, watch->tag, condition_of(event_mask));
}

static void watch_remove(SpiceWatch *watch)
{
    g_source_destroy(&watch->source);
    g_source_unref(&watch->source);
}

SpiceCoreInterface *core_glib_interface(CoreChannelEvent channel_event)
{
    static SpiceCoreInterface core = {
        .base = {
            .type = SPICE_INTERFACE_CORE,
            .description = "GLib main loop",
            .major_version = SPICE_INTERFACE_CORE_MAJOR,
            .minor_version = SPICE_INTERFACE_CORE_MINOR,
        },
        .timer_add = timer_add,
        .timer_start = timer_start,
        .timer_cancel = timer_cancel,
        .timer_remove = timer_remove,
        .watch_add = watch_add,
        .watch_update_mask = watch_update_mask,
        .watch_remove = watch_remove,
    };

    core.channel_event = channel_event;
    return &core;
}
