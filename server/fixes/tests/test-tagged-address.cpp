/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A group of memory slots that spans the whole address space takes pointers as they are. Where the
 * processor ignores the upper bits of a pointer (ARM64 TBI, x86 LAM), allocators put tags there.
 */
#include <config.h>

#include "test-memslot.h"

#include "push-visibility.h"

static const QXLPHYSICAL TAGS[] = { 0x0100000000000000, 0x8000000000000000, 0xb400000000000000 };
enum { MEMORY_SIZE = 64 };

static void whole_space()
{
    static uint8_t memory[MEMORY_SIZE];
    TestSlots slots;

    for (QXLPHYSICAL tag : TAGS) {
        const QXLPHYSICAL address = to_physical(memory) | tag;
        const int slot = memslot_get_id(&slots, address);

        /* nothing is read through it here: this processor may not ignore the bits */
        g_assert_true(memslot_get_virt(&slots, address, MEMORY_SIZE, 0) ==
                      reinterpret_cast<void *>(address));
        g_assert_true(memslot_validate_virt(&slots, address, slot, MEMORY_SIZE, 0));
        g_assert_cmpuint(memslot_max_size_virt(&slots, address, slot, 0), >=, MEMORY_SIZE);
    }
}

/* Where a slot is a part of the memory, an address of another generation is refused as before. */
static void part()
{
    static uint8_t memory[MEMORY_SIZE];
    TestSlots slots(to_physical(memory), to_physical(memory) + MEMORY_SIZE);

    g_assert_true(memslot_get_virt(&slots, to_physical(memory), MEMORY_SIZE, 0) == memory);
    g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*out of range*");
    g_assert_null(memslot_get_virt(&slots, to_physical(memory), MEMORY_SIZE + 1, 0));
    g_test_assert_expected_messages();
    if (g_test_subprocess()) {
        memslot_get_virt(&slots, to_physical(memory) | (QXLPHYSICAL{1} << 62), MEMORY_SIZE, 0);
        return;
    }
    g_test_trap_subprocess(nullptr, 0, static_cast<GTestSubprocessFlags>(0));
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*generation is not valid*");
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    if (sizeof(void *) == sizeof(QXLPHYSICAL)) {
        g_test_add_func("/server/tagged-address/whole-space", whole_space);
    }
    g_test_add_func("/server/tagged-address/part", part);
    return g_test_run();
}
