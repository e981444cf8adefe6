/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * QEMU replaces the scanout while an update of the old one is under way. The update is completed,
 * once.
 */
#include <config.h>

#include <fcntl.h>

#include "test-qxl-device.h"

#include "push-visibility.h"

enum { SIDE = 16 };
static const uint64_t HELD = 1, DRAWN = 2;

static GMutex hold;
static GMutex lock;
static GCond changed;
static std::vector<uint64_t> completed;

/* In the worker's thread, which stands still here until the test lets it go on. */
static void on_async(uint64_t cookie)
{
    g_mutex_lock(&lock);
    completed.push_back(cookie);
    g_cond_signal(&changed);
    g_mutex_unlock(&lock);
    if (cookie == HELD) {
        g_mutex_lock(&hold);
        g_mutex_unlock(&hold);
    }
}

static void wait_for(size_t num)
{
    g_mutex_lock(&lock);
    while (completed.size() < num) {
        g_cond_wait(&changed, &lock);
    }
    g_mutex_unlock(&lock);
}

static void set_scanout(QXLInstance *qxl)
{
    const int fd = open("/dev/null", O_RDWR);

    g_assert_cmpint(fd, >=, 0);
    spice_qxl_gl_scanout(qxl, fd, SIDE, SIDE, SIDE * 4, 0, 0);
}

static void replaced()
{
    TestDevice device;

    device.on_async = on_async;
    g_mutex_lock(&hold);
    spice_qxl_flush_surfaces_async(&device.qxl, HELD);
    wait_for(1);

    set_scanout(&device.qxl);
    spice_qxl_gl_draw_async(&device.qxl, 0, 0, SIDE, SIDE, DRAWN);
    set_scanout(&device.qxl);

    g_mutex_unlock(&hold);
    wait_for(2);
    device.run();
    g_assert_cmpuint(completed.size(), ==, 2);
    g_assert_cmpuint(completed[1], ==, DRAWN);
    spice_qxl_gl_scanout(&device.qxl, -1, 0, 0, 0, 0, 0);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/gl-scanout/replaced", replaced);
    return g_test_run();
}
