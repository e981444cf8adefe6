/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An event loop wakes nobody when one of its own callbacks is called or changes what a watch
 * waits for: the next poll finds nothing ready. Another thread that does so does wake it.
 */
#include <config.h>

#include <glib.h>
#include <unistd.h>

#include "red-common.h"
#include "sys-socket.h"

/* descriptors that the last poll found ready */
static int ready;

static gint counting_poll(GPollFD *fds, guint count, gint timeout)
{
    ready = g_poll(fds, count, timeout);
    return ready;
}

struct Watched {
    int fd[2];
    SpiceWatch *watch;
    int events;
    int reads;
    int writes;
};

static void event(int fd, int event, Watched *watched)
{
    char byte;

    if (event & SPICE_WATCH_EVENT_READ) {
        g_assert_cmpint(read(fd, &byte, sizeof(byte)), ==, 1);
        ++watched->reads;
    }
    watched->writes += !!(event & SPICE_WATCH_EVENT_WRITE);
    red_watch_update_mask(watched->watch, watched->events);
}

static SpiceCoreInterfaceInternal core_new()
{
    SpiceCoreInterfaceInternal core = event_loop_core;

    core.main_context = g_main_context_new();
    g_main_context_set_poll_func(core.main_context, counting_poll);
    return core;
}

static void watch(const SpiceCoreInterfaceInternal *core, Watched *watched)
{
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, watched->fd), ==, 0);
    watched->events = SPICE_WATCH_EVENT_READ;
    watched->watch = core->watch_new(watched->fd[0], watched->events, event, watched);
    /* what it took to get here */
    g_main_context_iteration(core->main_context, FALSE);
}

static void unwatch(const SpiceCoreInterfaceInternal *core, Watched *watched)
{
    red_watch_remove(watched->watch);
    close(watched->fd[0]);
    close(watched->fd[1]);
    g_main_context_unref(core->main_context);
}

static void test_dispatch()
{
    const SpiceCoreInterfaceInternal core = core_new();
    Watched watched = { };

    watch(&core, &watched);
    g_assert_cmpint(write(watched.fd[1], "x", 1), ==, 1);
    g_main_context_iteration(core.main_context, FALSE);
    g_assert_cmpint(ready, ==, 1);
    g_assert_cmpint(watched.reads, ==, 1);
    g_main_context_iteration(core.main_context, FALSE);
    g_assert_cmpint(ready, ==, 0);
    unwatch(&core, &watched);
}

/* a callback asks for another event, gets that, and asks for it no longer */
static void test_update()
{
    const SpiceCoreInterfaceInternal core = core_new();
    Watched watched = { };

    watch(&core, &watched);
    watched.events = SPICE_WATCH_EVENT_READ | SPICE_WATCH_EVENT_WRITE;
    g_assert_cmpint(write(watched.fd[1], "x", 1), ==, 1);
    g_main_context_iteration(core.main_context, FALSE);
    g_assert_cmpint(watched.writes, ==, 0);
    watched.events = SPICE_WATCH_EVENT_READ;
    g_main_context_iteration(core.main_context, FALSE);
    g_assert_cmpint(ready, ==, 1);
    g_assert_cmpint(watched.writes, ==, 1);
    g_main_context_iteration(core.main_context, FALSE);
    g_assert_cmpint(ready, ==, 0);
    g_assert_cmpint(watched.writes, ==, 1);
    unwatch(&core, &watched);
}

static void *update(void *opaque)
{
    auto watched = static_cast<Watched *>(opaque);

    g_usleep(50 * 1000);
    red_watch_update_mask(watched->watch, SPICE_WATCH_EVENT_WRITE);
    return nullptr;
}

static void test_other_thread()
{
    const SpiceCoreInterfaceInternal core = core_new();
    Watched watched = { };

    watch(&core, &watched);
    g_assert_true(g_main_context_acquire(core.main_context));
    GThread *thread = g_thread_new("update", update, &watched);
    while (watched.writes == 0) {
        g_main_context_iteration(core.main_context, TRUE);
    }
    g_thread_join(thread);
    g_main_context_release(core.main_context);
    unwatch(&core, &watched);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/loop-wakes/dispatch", test_dispatch);
    g_test_add_func("/server/loop-wakes/update", test_update);
    g_test_add_func("/server/loop-wakes/other-thread", test_other_thread);
    return g_test_run();
}
