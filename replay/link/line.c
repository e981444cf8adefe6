/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A binary heap, because packets may overtake one another when asked to (--reorder), and a list of
 * free packets used last in, first out, so that an idle link keeps to a few pages of memory.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "line.h"

bool line_init(Line *line)
{
    memset(line, 0, sizeof(*line));
    /* one more than fits: there is always one to read into */
    line->packets = calloc(LINE_CAPACITY + 1, sizeof(*line->packets));
    line->heap = calloc(LINE_CAPACITY, sizeof(*line->heap));
    if (!line->packets || !line->heap) {
        line_destroy(line);
        return false;
    }
    return true;
}

void line_destroy(Line *line)
{
    free(line->packets);
    free(line->heap);
    memset(line, 0, sizeof(*line));
}

bool line_full(const Line *line)
{
    return line->count == LINE_CAPACITY;
}

LinePacket *line_take(Line *line)
{
    LinePacket *packet = line->free;

    if (packet) {
        line->free = packet->next_free;
        return packet;
    }
    assert(line->untouched <= LINE_CAPACITY);
    return &line->packets[line->untouched++];
}

void line_return(Line *line, LinePacket *packet)
{
    packet->next_free = line->free;
    line->free = packet;
}

static bool is_before(const LineEntry *a, const LineEntry *b)
{
    return a->due < b->due || (a->due == b->due && a->number < b->number);
}

void line_push(Line *line, LinePacket *packet, uint64_t due)
{
    assert(!line_full(line));

    LineEntry entry = { .due = due, .number = line->number++, .packet = packet };
    uint32_t place = line->count++;
    while (place > 0) {
        uint32_t parent = (place - 1) / 2;
        if (!is_before(&entry, &line->heap[parent])) {
            break;
        }
        line->heap[place] = line->heap[parent];
        place = parent;
    }
    line->heap[place] = entry;
}

uint64_t line_next_due(const Line *line)
{
    return line->count > 0 ? line->heap[0].due : LINE_NEVER;
}

LinePacket *line_pop(Line *line)
{
    assert(line->count > 0);

    LinePacket *packet = line->heap[0].packet;
    LineEntry last = line->heap[--line->count];
    uint32_t place = 0;
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= line->count) {
            break;
        }
        if (child + 1 < line->count && is_before(&line->heap[child + 1], &line->heap[child])) {
            child++;
        }
        if (!is_before(&line->heap[child], &last)) {
            break;
        }
        line->heap[place] = line->heap[child];
        place = child;
    }
    line->heap[place] = last;
    return packet;
}
