/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORDING_SURFACES_H_
#define RECORDING_SURFACES_H_

#include <stdbool.h>
#include <stdint.h>

#include "recording-scan.h"

/*
 * Which surfaces a recording has at a point, and how large they are.
 *
 * A destroy command ends a surface at once. A destroy message (of the primary,
 * or of all surfaces) does not: the recorder notes the message when its worker
 * takes it up, and the worker then first runs, and notes, the commands still in
 * the guest's ring. So such a surface may be drawn on until the next message.
 */

/* The library has numbers for this many at once, the primary's included. */
#define RECORDING_SURFACES_MAX 1024

#define RECORDING_SIDE_MAX 32767        /* of a surface or picture: pixman's limit */

typedef enum {
    SURFACE_NONE,
    SURFACE_LIVE,
    SURFACE_DYING,      /* a message has destroyed it, commands in flight may still name it */
} RecordingSurfaceState;

typedef struct RecordingSurface {
    RecordingSurfaceState state;
    uint32_t width;
    uint32_t height;
    int32_t stride;
    uint32_t format;
} RecordingSurface;

typedef struct RecordingSurfaces {
    RecordingSurface surface[RECORDING_SURFACES_MAX];
    bool some_dying;            /* there is something for surfaces_bury */
} RecordingSurfaces;

/* Bits a pixel, 0 if there is no such format. */
unsigned int surface_bits(uint32_t format);

/* The bytes it takes, 0 if no surface can be like that. */
uint64_t surface_size(uint32_t width, uint32_t height, int32_t stride, uint32_t format);

/* One that may be named here, or NULL with the fault noted. */
const RecordingSurface *surfaces_use(const RecordingSurfaces *surfaces, RecordingScan *scan,
                                     uint64_t offset, int64_t id);

bool surfaces_create(RecordingSurfaces *surfaces, RecordingScan *scan, uint64_t offset,
                     uint32_t id, const RecordingSurface *surface);
bool surfaces_destroy(RecordingSurfaces *surfaces, RecordingScan *scan, uint64_t offset,
                      uint32_t id);

/* A message destroys the primary, or everything. */
void surfaces_condemn_primary(RecordingSurfaces *surfaces);
void surfaces_condemn_all(RecordingSurfaces *surfaces);

/* A message came: what was dying is gone. */
void surfaces_bury(RecordingSurfaces *surfaces);

#endif /* RECORDING_SURFACES_H_ */
