/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recording-surfaces.h"

#include <spice/enums.h>
#include <stdlib.h>

void surfaces_init(RecordingSurfaces *surfaces)
{
    *surfaces = (RecordingSurfaces) { .last_free = RECORDING_SURFACES_MAX - 1 };
    for (unsigned int i = 0; i < surfaces->last_free; i++) {
        surfaces->free[i] = i + 1;
    }
}

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

uint64_t surface_size(RecordingScan *scan, uint32_t width, uint32_t height, int32_t stride, uint32_t format)
{
    unsigned int bits = surface_bits(format);
    uint64_t step = llabs((long long) stride);

    /* pixman wants whole 32-bit words in a line */
    if (bits == 0 || width == 0 || width > RECORDING_SIDE_MAX || height == 0 || height > RECORDING_SIDE_MAX ||
        step < ((uint64_t) width * bits + 7) / 8 || step % sizeof(uint32_t) != 0 || step * height > SCAN_BLOCK_MAX) {
        scan_fail(scan, "no surface is %ux%u with stride %d and format %u", width, height, stride, format);
        return 0;
    }
    return step * height;
}

uint32_t surfaces_use(const RecordingSurfaces *surfaces, RecordingScan *scan, int32_t id)
{
    if (scan_failed(scan)) {
        return 0;
    }
    if (id < 0 || id >= RECORDING_SURFACES_MAX) {
        scan_fail(scan, "surface_id %d is not under %d", id, RECORDING_SURFACES_MAX);
        return 0;
    }
    if (surfaces->surface[id].state == SURFACE_NONE) {
        scan_fail(scan, id == 0 ? "there is no primary surface to use here" : "surface %d does not exist here", id);
        return 0;
    }
    return surfaces->surface[id].number;
}

static void end(RecordingSurfaces *surfaces, uint32_t id)
{
    surfaces->surface[id].state = SURFACE_NONE;
    if (id != 0) {
        surfaces->free[surfaces->last_free++ % RECORDING_SURFACES_MAX] = surfaces->surface[id].number;
    }
}

uint32_t surfaces_create(RecordingSurfaces *surfaces, RecordingScan *scan, int32_t id)
{
    if (scan_failed(scan)) {
        return 0;
    }
    if (id < 0 || id >= RECORDING_SURFACES_MAX) {
        scan_fail(scan, "surface_id %d is not under %d", id, RECORDING_SURFACES_MAX);
        return 0;
    }
    if (surfaces->surface[id].state == SURFACE_LIVE && id != 0) {
        scan_fail(scan, "surface %d exists already", id);
        return 0;
    }
    if (surfaces->surface[id].state == SURFACE_DYING) {
        end(surfaces, id);
    }
    surfaces->surface[id].state = SURFACE_LIVE;
    /* there is one: no more than all live at a time */
    surfaces->surface[id].number = id == 0 ? 0 : surfaces->free[surfaces->first_free++ % RECORDING_SURFACES_MAX];
    return surfaces->surface[id].number;
}

uint32_t surfaces_destroy(RecordingSurfaces *surfaces, RecordingScan *scan, int32_t id)
{
    uint32_t number = surfaces_use(surfaces, scan, id);

    if (!scan_failed(scan)) {
        end(surfaces, id);
    }
    return number;
}

void surfaces_condemn(RecordingSurfaces *surfaces, bool all)
{
    for (uint32_t id = 0; id < (all ? RECORDING_SURFACES_MAX : 1); id++) {
        if (surfaces->surface[id].state == SURFACE_LIVE) {
            surfaces->surface[id].state = SURFACE_DYING;
        }
    }
}

void surfaces_bury(RecordingSurfaces *surfaces)
{
    for (uint32_t id = 0; id < RECORDING_SURFACES_MAX; id++) {
        if (surfaces->surface[id].state == SURFACE_DYING) {
            end(surfaces, id);
        }
    }
}
