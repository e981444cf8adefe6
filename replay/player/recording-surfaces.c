/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording-surfaces.h"

#include <spice/enums.h>
#include <stdlib.h>

unsigned int surface_bits(uint32_t format)
{
    switch (format) {
    case SPICE_SURFACE_FMT_1_A:
        return 1;
    case SPICE_SURFACE_FMT_8_A:
        return 8;
    case SPICE_SURFACE_FMT_16_555:
    case SPICE_SURFACE_FMT_16_565:
        return 16;
    case SPICE_SURFACE_FMT_32_xRGB:
    case SPICE_SURFACE_FMT_32_ARGB:
        return 32;
    default:
        return 0;
    }
}

uint64_t surface_size(uint32_t width, uint32_t height, int32_t stride, uint32_t format)
{
    unsigned int bits = surface_bits(format);
    uint64_t line = ((uint64_t) width * bits + 7) / 8;
    uint64_t step = llabs(stride);

    /* pixman wants whole 32-bit words in a line */
    if (bits == 0 || width == 0 || height == 0 || step < line || step % sizeof(uint32_t) != 0) {
        return 0;
    }
    return step * height;
}

const RecordingSurface *surfaces_use(const RecordingSurfaces *surfaces, RecordingScan *scan,
                                     uint64_t offset, int64_t id)
{
    if (scan_failed(scan)) {
        return NULL;
    }
    if (id < 0 || id >= RECORDING_SURFACES_MAX) {
        scan_fail_at(scan, offset, "surface %" G_GINT64_FORMAT " is not under %d", id,
                     RECORDING_SURFACES_MAX);
        return NULL;
    }
    if (surfaces->surface[id].state == SURFACE_NONE) {
        scan_fail_at(scan, offset, id == 0 ? "there is no primary surface to use here"
                     : "surface %" G_GINT64_FORMAT " does not exist here", id);
        return NULL;
    }
    return &surfaces->surface[id];
}

bool surfaces_create(RecordingSurfaces *surfaces, RecordingScan *scan, uint64_t offset,
                     uint32_t id, const RecordingSurface *surface)
{
    if (scan_failed(scan)) {
        return false;
    }
    if (surfaces->surface[id].state == SURFACE_LIVE && id != 0) {
        return scan_fail_at(scan, offset, "surface %u exists already", id);
    }
    surfaces->surface[id] = *surface;
    surfaces->surface[id].state = SURFACE_LIVE;
    return true;
}

bool surfaces_destroy(RecordingSurfaces *surfaces, RecordingScan *scan, uint64_t offset,
                      uint32_t id)
{
    if (!surfaces_use(surfaces, scan, offset, id)) {
        return false;
    }
    surfaces->surface[id].state = SURFACE_NONE;
    return true;
}

static void condemn(RecordingSurfaces *surfaces, uint32_t id)
{
    if (surfaces->surface[id].state != SURFACE_LIVE) {
        return;
    }
    surfaces->surface[id].state = SURFACE_DYING;
    surfaces->some_dying = true;
}

void surfaces_condemn_primary(RecordingSurfaces *surfaces)
{
    condemn(surfaces, 0);
}

void surfaces_condemn_all(RecordingSurfaces *surfaces)
{
    for (uint32_t id = 0; id < RECORDING_SURFACES_MAX; id++) {
        condemn(surfaces, id);
    }
}

void surfaces_bury(RecordingSurfaces *surfaces)
{
    if (!surfaces->some_dying) {
        return;
    }
    surfaces->some_dying = false;
    for (uint32_t id = 0; id < RECORDING_SURFACES_MAX; id++) {
        if (surfaces->surface[id].state == SURFACE_DYING) {
            surfaces->surface[id].state = SURFACE_NONE;
        }
    }
}
