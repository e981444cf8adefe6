/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test-server.h"

struct SpiceTimer {
    SpiceTimerFunc func;
    void *opaque;
    guint source; /* id while running, otherwise 0 */
};

struct SpiceWatch {
    int fd;
    SpiceWatchFunc func;
    void *opaque;
    guint source;
    GIOChannel *io;
};

static TestChannelUpFunc channel_up = NULL;

static gboolean timer_expired(gpointer opaque)
{
    SpiceTimer *timer = opaque;

    timer->source = 0;
    timer->func(timer->opaque);
    return G_SOURCE_REMOVE;
}

static SpiceTimer *timer_add(SpiceTimerFunc func, void *opaque)
{
    SpiceTimer *timer = g_new0(SpiceTimer, 1);

    timer->func = func;
    timer->opaque = opaque;
    return timer;
}

static void timer_cancel(SpiceTimer *timer)
{
    if (timer->source != 0) {
        g_source_remove(timer->source);
        timer->source = 0;
    }
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

static gboolean watch_ready(GIOChannel *io G_GNUC_UNUSED, GIOCondition condition, gpointer opaque)
{
    SpiceWatch *watch = opaque;
    int event = 0;

    if (condition & (G_IO_IN | G_IO_HUP | G_IO_ERR)) {
        event |= SPICE_WATCH_EVENT_READ;
    }
    if (condition & G_IO_OUT) {
        event |= SPICE_WATCH_EVENT_WRITE;
    }
    watch->func(watch->fd, event, watch->opaque);
    return G_SOURCE_CONTINUE;
}

static void watch_update_mask(SpiceWatch *watch, int event_mask)
{
    GIOCondition condition = 0;

    if (watch->source != 0) {
        g_source_remove(watch->source);
        watch->source = 0;
    }
    if (event_mask & SPICE_WATCH_EVENT_READ) {
        condition |= G_IO_IN | G_IO_HUP | G_IO_ERR;
    }
    if (event_mask & SPICE_WATCH_EVENT_WRITE) {
        condition |= G_IO_OUT;
    }
    if (condition != 0) {
        watch->source = g_io_add_watch(watch->io, condition, watch_ready, watch);
    }
}

static SpiceWatch *watch_add(int fd, int event_mask, SpiceWatchFunc func, void *opaque)
{
    SpiceWatch *watch = g_new0(SpiceWatch, 1);

    watch->fd = fd;
    watch->func = func;
    watch->opaque = opaque;
    watch->io = g_io_channel_unix_new(fd);
    watch_update_mask(watch, event_mask);
    return watch;
}

static void watch_remove(SpiceWatch *watch)
{
    watch_update_mask(watch, 0);
    g_io_channel_unref(watch->io);
    g_free(watch);
}

static gboolean call_channel_up(gpointer opaque)
{
    SpiceChannelEventInfo *info = opaque;

    channel_up(info->type, info->id);
    g_free(info);
    return G_SOURCE_REMOVE;
}

/* Display and cursor channels report from the worker's thread. */
static void channel_event(int event, SpiceChannelEventInfo *info)
{
    if (event == SPICE_CHANNEL_EVENT_INITIALIZED) {
        g_idle_add(call_channel_up, g_memdup2(info, sizeof(*info)));
    }
}

SpiceCoreInterface *test_core(TestChannelUpFunc on_channel_up)
{
    static SpiceCoreInterface core = {
        .base = { .major_version = SPICE_INTERFACE_CORE_MAJOR,
                  .minor_version = SPICE_INTERFACE_CORE_MINOR },
        .timer_add = timer_add,
        .timer_start = timer_start,
        .timer_cancel = timer_cancel,
        .timer_remove = timer_remove,
        .watch_add = watch_add,
        .watch_update_mask = watch_update_mask,
        .watch_remove = watch_remove,
        .channel_event = channel_event,
    };

    channel_up = on_channel_up;
    return &core;
}
