/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The packets in flight in one direction, in order of arrival. All memory is allocated at the start. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LINK_MTU 1500

/* Packets that a direction can hold. Only a flood of empty packets reaches it: a transfer over
 * 100 Mbit/s and 100 ms with a full default queue is 1700 full packets. */
#define LINE_CAPACITY 65536

#define LINE_NEVER UINT64_MAX

typedef struct LinePacket {
    struct LinePacket *next; /* on its list: of those under way, or of those that are free */
    uint64_t due;
    uint16_t length;
    uint8_t data[LINK_MTU];
} LinePacket;

typedef struct Line {
    LinePacket *packets;
    LinePacket *free;
    uint32_t untouched; /* packets[untouched..] were never used */
    LinePacket *first; /* under way; valid while count is not 0, as last */
    LinePacket *last;
    uint32_t count;
} Line;

/* false: no memory */
bool line_init(Line *line);
void line_destroy(Line *line);

/* Whether it is full: then the packet from line_take must be returned, not pushed. */
bool line_full(const Line *line);

/* A packet to fill in, to be given back with line_push or line_return. At most one at a time. */
LinePacket *line_take(Line *line);
void line_return(Line *line, LinePacket *packet);

/* due: not before that of the packet pushed last. */
void line_push(Line *line, LinePacket *packet, uint64_t due);

/* Due time of the next packet; LINE_NEVER if there is none. */
uint64_t line_next_due(const Line *line);

/* Removes the packet that is due next; there must be one. The caller returns it with
 * line_return. */
LinePacket *line_pop(Line *line);
