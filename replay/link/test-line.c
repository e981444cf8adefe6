/* SPDX-License-Identifier: LGPL-2.1-or-later */
#undef NDEBUG
#include <assert.h>

#include "line.h"

static void push(Line *line, uint64_t due, uint16_t length)
{
    LinePacket *packet = line_take(line);

    packet->length = length;
    line_push(line, packet, due);
}

static uint16_t pop(Line *line)
{
    LinePacket *packet = line_pop(line);
    uint16_t length = packet->length;

    line_return(line, packet);
    return length;
}

static void test_empty(Line *line)
{
    assert(line_next_due(line) == LINE_NEVER);
    assert(!line_full(line));
    line_return(line, line_take(line));
    assert(line_next_due(line) == LINE_NEVER);
}

static void test_order(Line *line)
{
    push(line, 10, 1);
    push(line, 10, 2);
    push(line, 20, 3);
    assert(line_next_due(line) == 10);
    assert(pop(line) == 1);
    assert(pop(line) == 2);
    push(line, 30, 4);
    assert(line_next_due(line) == 20);
    assert(pop(line) == 3);
    assert(pop(line) == 4);
    assert(line_next_due(line) == LINE_NEVER);
}

static void test_many(Line *line)
{
    for (uint32_t i = 0; i < LINE_CAPACITY; i++) {
        assert(!line_full(line));
        push(line, i, 0);
    }
    assert(line_full(line));
    /* there is still one to read into */
    line_return(line, line_take(line));
    for (uint32_t i = 0; i < LINE_CAPACITY; i++) {
        assert(line_next_due(line) == i);
        pop(line);
        assert(!line_full(line));
    }
    assert(line_next_due(line) == LINE_NEVER);
}

int main(void)
{
    Line line;

    assert(line_init(&line));
    test_empty(&line);
    test_order(&line);
    test_many(&line);
    test_many(&line);
    line_destroy(&line);
    return 0;
}
