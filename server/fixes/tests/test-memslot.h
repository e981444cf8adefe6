/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of a guest for tests that parse its commands. */
#ifndef TEST_MEMSLOT_H_
#define TEST_MEMSLOT_H_

#include "memslot.h"
#include "red-parse-qxl.h"

#include "push-visibility.h"

static inline QXLPHYSICAL to_physical(const void *ptr)
{
    return reinterpret_cast<uintptr_t>(ptr);
}

/* One slot, by default the whole address space. Up to 0.15 there is one parameter more. */
static inline void init_slots(void (*init)(RedMemSlotInfo *, uint32_t, uint32_t, uint8_t, uint8_t),
                              RedMemSlotInfo *slots)
{
    init(slots, 1, 1, 1, 1);
}

static inline void init_slots(void (*init)(RedMemSlotInfo *, uint32_t, uint32_t, uint8_t, uint8_t,
                                           uint8_t),
                              RedMemSlotInfo *slots)
{
    init(slots, 1, 1, 1, 1, 0);
}

struct TestSlots: public RedMemSlotInfo
{
    explicit TestSlots(uintptr_t begin = 0, uintptr_t end = UINTPTR_MAX)
    {
        init_slots(memslot_info_init, this);
        memslot_info_add_slot(this, 0, 0, 0, begin, end, 0);
    }

    ~TestSlots()
    {
        memslot_info_destroy(this);
    }

    red::shared_ptr<RedDrawable> parse(const QXLDrawable &drawable)
    {
        return red_drawable_new(nullptr, this, 0, to_physical(&drawable), 0);
    }
};

#include "pop-visibility.h"

#endif /* TEST_MEMSLOT_H_ */
