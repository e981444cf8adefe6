/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A guest that writes pixels into the memory of its screen before it sends the command that
 * draws them, as Linux does with kernels before 4.15. Neither a client nor a copy within the
 * screen gets them before that command, and the server writes there only what the guest has
 * drawn and asks for. */
#include <config.h>

#include "test-dcc-guest.h"

#include "push-visibility.h"

static const Box above = { 0, 0, TEST_QXL_WIDTH, TEST_QXL_HEIGHT / 2 };
static const Box below = { 0, TEST_QXL_HEIGHT / 2, TEST_QXL_WIDTH, TEST_QXL_HEIGHT / 2 };

static void update(Guest *guest, const Box &box)
{
    QXLRect area = { box.top, box.left, box.top + box.height, box.left + box.width }, dirty;

    spice_qxl_update_area(&guest->device.qxl, 0, &area, &dirty, 1, 0);
}

static void write_ahead()
{
    std::vector<uint32_t> memory(TEST_QXL_WIDTH * TEST_QXL_HEIGHT);
    Guest guest;
    Client client(guest.device.server);
    /* with the rectangles that the commands below draw */
    Picture expected;

    client.read_while([&] {
        spice_qxl_destroy_primary_surface(&guest.device.qxl, 0);
        guest.device.create_screen(TEST_QXL_WIDTH, TEST_QXL_HEIGHT, memory.data());
    });
    guest.fill(0, above, 1, false);
    guest.copy_bits(0, below, 0, 0);
    guest.fill(0, above, 2, false);
    expected = Picture(TEST_QXL_WIDTH, TEST_QXL_HEIGHT);
    expected.fill({ 0, 0, TEST_QXL_WIDTH, TEST_QXL_HEIGHT }, 3, false);
    memory = expected.pixels;
    guest.device.run();
    expected.at(0, 0) = 2;
    g_assert_true(client.comes_to_show(guest.pictures));

    Client late(guest.device.server);
    late.came_later = true;
    g_assert_true(late.comes_to_show(guest.pictures));
    g_assert_cmpmem(memory.data(), memory.size() * 4, expected.pixels.data(), memory.size() * 4);

    /* parts of words of the bits that say what was drawn */
    for (const Box &box :
         std::initializer_list<Box>{ { 3, 5, 7, 30 }, { 0, 20, TEST_QXL_WIDTH, 1 } }) {
        update(&guest, box);
        expected.copy(box, guest.pictures[0], box.left, box.top);
        g_assert_cmpmem(memory.data(), memory.size() * 4, expected.pixels.data(),
                        memory.size() * 4);
    }
    /* once */
    memory = expected.pixels;
    memory[20 * TEST_QXL_WIDTH] = expected.at(0, 20) = 4;
    update(&guest, { -5, -5, 1000, 1000 });
    expected.copy(below, guest.pictures[0], below.left, below.top);
    expected.copy(above, guest.pictures[0], above.left, above.top);
    expected.at(0, 20) = 4;
    g_assert_cmpmem(memory.data(), memory.size() * 4, expected.pixels.data(), memory.size() * 4);
    /* what is clipped away draws no pixel, in no line */
    memory[6 * TEST_QXL_WIDTH + 33] = expected.at(33, 6) = 6;
    guest.photo({ 3, 5, 7, 7 }, 0, 1, { { 30, 5, 4, 7 }, { 0x7ffffff1, 5, 4, 7 } });
    update(&guest, { 0, 0, TEST_QXL_WIDTH, TEST_QXL_HEIGHT });
    g_assert_cmpmem(memory.data(), memory.size() * 4, expected.pixels.data(), memory.size() * 4);
    /* and when the machine stops */
    guest.fill(0, { 2, 3, 1, 1 }, 5, false);
    expected.at(2, 3) = 5;
    guest.device.run();
    client.read_while([&] { spice_server_vm_stop(guest.device.server); });
    g_assert_cmpmem(memory.data(), memory.size() * 4, expected.pixels.data(), memory.size() * 4);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_setenv("SPICE_STREAM", "flow,display=off", TRUE);
    g_setenv("SPICE_DEBUG_ALLOW_MC", "1", TRUE);
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/guest-ahead", write_ahead);
    return g_test_run();
}
