/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recording-scan.h"

/*
 * Which surfaces a recording has at a point, and the number each has in the server.
 *
 * A destroy command ends a surface at once. A destroy message (of the primary,
 * or of all surfaces) does not: the recorder notes the message when its worker
 * takes it up, and the worker then first runs, and notes, the commands still in
 * the guest's ring. So such a surface may be drawn on until the next message.
 *
 * Numbers: a recording that is played faster than it was recorded would wait for
 * the server to be rid of a surface whenever the guest uses its number again. So
 * a new surface gets the number that has been free for longest.
 */

/* The primary's included, which is 0 in both. */
#define RECORDING_SURFACES_MAX 1024

#define RECORDING_SIDE_MAX 32767        /* of a surface or picture: pixman's limit */

typedef enum {
    SURFACE_NONE,
    SURFACE_LIVE,
    SURFACE_DYING,      /* a message has destroyed it, commands in flight may still name it */
} RecordingSurfaceState;

typedef struct RecordingSurfaces {
    struct {
        RecordingSurfaceState state;
        uint32_t number;
    } surface[RECORDING_SURFACES_MAX];
    uint16_t free[RECORDING_SURFACES_MAX];      /* numbers, a ring */
    unsigned int first_free, last_free;         /* modulo its size */
} RecordingSurfaces;

void surfaces_init(RecordingSurfaces *surfaces);

/* Bits per pixel, 0 if there is no such format. */
unsigned int surface_bits(uint32_t format);

/* The bytes it takes; 0, with the fault noted, if no surface can be like that. */
uint64_t surface_size(RecordingScan *scan, uint32_t width, uint32_t height, int32_t stride, uint32_t format);

/* The number of one that may be named here; 0, with the fault noted, if there is no such surface. */
uint32_t surfaces_use(const RecordingSurfaces *surfaces, RecordingScan *scan, int32_t id);

/* Likewise of a new one. One that is dying is replaced. */
uint32_t surfaces_create(RecordingSurfaces *surfaces, RecordingScan *scan, int32_t id);

/* Likewise; the number is free from now on. */
uint32_t surfaces_destroy(RecordingSurfaces *surfaces, RecordingScan *scan, int32_t id);

/* A message destroys the primary, or everything; what it destroyed is gone when the next one comes. */
void surfaces_condemn(RecordingSurfaces *surfaces, bool all);
void surfaces_bury(RecordingSurfaces *surfaces);
