/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A guest destroys a surface through QEMU's I/O port and names any surface: the screen, one of its
 * own, or none.
 */
#include <config.h>

#include "test-qxl-device.h"

#include "push-visibility.h"

enum { SIDE = 16, SURFACE = 5 };

static void any_surface()
{
    TestDevice device;
    std::vector<uint32_t> pixels(SIDE * SIDE);
    QXLSurfaceCmd create = {};

    create.surface_id = SURFACE;
    create.type = QXL_SURFACE_CMD_CREATE;
    create.u.surface_create.format = SPICE_SURFACE_FMT_32_xRGB;
    create.u.surface_create.width = create.u.surface_create.height = SIDE;
    create.u.surface_create.stride = SIDE * 4;
    create.u.surface_create.data = reinterpret_cast<uintptr_t>(pixels.data());
    device.push(QXL_CMD_SURFACE, &create);
    device.run();

    for (uint32_t surface : { 0, int{SURFACE}, SURFACE + 1, 1023, 1024, -1 }) {
        spice_qxl_destroy_surface_wait(&device.qxl, surface);
    }
    /* the worker still answers */
    device.run();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of surfaces that do not exist */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/destroy-surface/any-surface", any_surface);
    return g_test_run();
}
