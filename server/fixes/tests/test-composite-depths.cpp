/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A composite of surfaces of any depth is drawn or refused. The server goes on.
 */
#include <config.h>

#include <pixman.h>

#include "test-drawing.h"

#include "push-visibility.h"

enum { SOURCE = SURFACE + 1 };

struct Format
{
    uint32_t format;
    int bits;
};

static const Format formats[] = {
    { SPICE_SURFACE_FMT_32_xRGB, 32 }, { SPICE_SURFACE_FMT_32_ARGB, 32 },
    { SPICE_SURFACE_FMT_16_555, 16 }, { SPICE_SURFACE_FMT_16_565, 16 },
    { SPICE_SURFACE_FMT_8_A, 8 }, { SPICE_SURFACE_FMT_1_A, 1 },
};

/* Whether a composite of a white surface is drawn on a black one. */
static bool draws(const Format &to, const Format &from, uint32_t flags, bool has_mask)
{
    std::vector<uint8_t> white(SIDE * SIDE * 4, 0xff);
    SurfaceImage image;
    DrawingGuest guest(to.format, to.bits);
    QXLSurfaceCmd source = guest.surface;
    auto &composite = guest.drawable.u.composite;

    source.surface_id = image.surface_image.surface_id = SOURCE;
    source.u.surface_create.format = from.format;
    source.u.surface_create.stride = SIDE * from.bits / 8;
    source.u.surface_create.data = reinterpret_cast<uintptr_t>(white.data());
    guest.device.push(QXL_CMD_SURFACE, &source);

    guest.drawable.type = QXL_DRAW_COMPOSITE;
    guest.drawable.surfaces_dest[0] = SOURCE;
    guest.drawable.surfaces_rects[0] = guest.drawable.bbox;
    composite.src = image.address();
    composite.flags = PIXMAN_OP_OVER | flags;
    if (has_mask) {
        composite.mask = image.address();
    }
    guest.draw();
    return guest.is_drawn();
}

static bool is_valid(const Format &to, const Format &from, uint32_t flags)
{
    return to.bits > 1 && (to.bits > 8 || !(flags & SPICE_COMPOSITE_DEST_OPAQUE)) &&
           (from.bits > 8 || !(flags & SPICE_COMPOSITE_SOURCE_OPAQUE));
}

static void depths()
{
    for (const Format &to : formats) {
        for (const Format &from : formats) {
            /* alpha alone is black, and 16 bits have none */
            const bool is_visible = from.bits > 8 || to.bits != 16;

            for (uint32_t flags : { 0u, uint32_t{SPICE_COMPOSITE_SOURCE_OPAQUE},
                                    uint32_t{SPICE_COMPOSITE_DEST_OPAQUE} }) {
                for (bool has_mask : { false, true }) {
                    g_assert_cmpint(draws(to, from, flags, has_mask), ==,
                                    is_visible && is_valid(to, from, flags));
                }
            }
        }
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of each that it refuses */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/composite-depths/depths", depths);
    return g_test_run();
}
