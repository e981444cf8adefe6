/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Packets do not overtake one another, so a list in the order they came is one in the order they
 * are due; and a list of free packets used last in, first out, so that an idle link keeps to a few
 * pages of memory.
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
    return line->packets != NULL;
}

void line_destroy(Line *line)
{
    free(line->packets);
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
        line->free = packet->next;
        return packet;
    }
    assert(line->untouched <= LINE_CAPACITY);
    return &line->packets[line->untouched++];
}

void line_return(Line *line, LinePacket *packet)
{
    packet->next = line->free;
    line->free = packet;
}

void line_push(Line *line, LinePacket *packet, uint64_t due)
{
    assert(!line_full(line));
    assert(line->count == 0 || due >= line->last->due);

    packet->due = due;
    packet->next = NULL;
    if (line->count == 0) {
        line->first = packet;
    } else {
        line->last->next = packet;
    }
    line->last = packet;
    line->count++;
}

uint64_t line_next_due(const Line *line)
{
    return line->count > 0 ? line->first->due : LINE_NEVER;
}

LinePacket *line_pop(Line *line)
{
    assert(line->count > 0);

    LinePacket *packet = line->first;
    line->first = packet->next;
    line->count--;
    return packet;
}
