/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A guest that asks for an update of an area without pixels, or of one that does not start
 * on the surface, gets a warning and its command back.
 */
#include <config.h>

#include "test-qxl-device.h"

#include "push-visibility.h"

static void check(const QXLRect &area, bool good)
{
    TestDevice device;
    QXLUpdateCmd update = {};

    update.release_info.id = 7;
    update.area = area;
    update.update_id = 5;
    if (!good) {
        g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*bad area*");
    }
    device.push(QXL_CMD_UPDATE, &update);
    device.run();
    g_test_assert_expected_messages();
    g_assert_cmpuint(device.updates.size(), ==, good ? 1 : 0);
    g_assert_cmpuint(device.released.size(), ==, 1);
    g_assert_cmpuint(device.released[0], ==, 7);
}

static void update_area()
{
    /* top, left, bottom, right */
    check({ 0, 0, 10, 10 }, true);
    check({ 0, 0, 0, 10 }, false);
    check({ 0, 0, 10, 0 }, false);
    check({ 5, 0, 4, 10 }, false);
    check({ 0, 5, 10, 4 }, false);
    check({ -1, 0, 10, 10 }, false);
    check({ 0, -1, 10, 10 }, false);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/update-area", update_area);
    return g_test_run();
}
