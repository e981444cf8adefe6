/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How a composite or a text reads a surface has no effect on later drawings from this surface.
 */
#include <config.h>

#include <pixman.h>

#include "test-drawing.h"

#include "push-visibility.h"

enum { SOURCE = SURFACE + 1, FIRST_SURFACE };

/* bits of a composite's flags */
enum { MASK_REPEATS = PIXMAN_REPEAT_NORMAL << 16, COMPONENT_ALPHA = 1 << 18 };

/* Draws twice from a surface whose pixels all differ, each time on another surface. */
struct TransformGuest: DrawingGuest
{
    std::vector<uint32_t> source_pixels = std::vector<uint32_t>(SIDE * SIDE);
    std::vector<uint32_t> first_pixels = std::vector<uint32_t>(SIDE * SIDE);
    QXLSurfaceCmd source, first_surface;
    SurfaceImage image;
    QXLDrawable first;
    QXLTransform transform = {};
    WhiteGlyph glyph;

    TransformGuest():
        source(surface), first_surface(surface), first(drawable)
    {
        for (int i = 0; i < SIDE * SIDE; ++i) {
            source_pixels[i] = 0xff000000 | (i % SIDE * 7 + 1) << 16 | (i / SIDE * 7 + 1) << 8;
        }
        add_surface(&source, SOURCE, source_pixels.data());
        add_surface(&first_surface, FIRST_SURFACE, first_pixels.data());
        image.surface_image.surface_id = SOURCE;
        first.surface_id = FIRST_SURFACE;
        first.release_info.id = DRAWING + 1;
        for (QXLDrawable *reader : { &first, &drawable }) {
            reader->surfaces_dest[0] = SOURCE;
            reader->surfaces_rects[0] = drawable.bbox;
        }
        /* doubles the size */
        transform.t00 = transform.t11 = pixman_fixed_1 / 2;
    }

    void draw_first()
    {
        draw(&first);
        g_assert_true(std::any_of(first_pixels.begin(), first_pixels.end(),
                                  [](uint32_t pixel) { return (pixel & 0xffffff) != 0; }));
    }

    /* The second drawing takes each pixel as it is. */
    void check()
    {
        draw();
        for (int i = 0; i < SIDE * SIDE; ++i) {
            g_assert_cmphex(pixels()[i] & 0xffffff, ==, source_pixels[i] & 0xffffff);
        }
    }

private:
    void add_surface(QXLSurfaceCmd *command, uint32_t id, uint32_t *data)
    {
        command->surface_id = id;
        command->u.surface_create.data = reinterpret_cast<uintptr_t>(data);
        device.push(QXL_CMD_SURFACE, command);
    }
};

static QXLPHYSICAL address_of(const void *object)
{
    return reinterpret_cast<uintptr_t>(object);
}

typedef void Prepare(TransformGuest *guest, QXLDrawable *drawable);

static void composite(TransformGuest *guest, QXLDrawable *drawable)
{
    drawable->type = QXL_DRAW_COMPOSITE;
    drawable->u.composite.flags = PIXMAN_OP_SRC;
    drawable->u.composite.src = guest->image.address();
}

static void composite_transformed(TransformGuest *guest, QXLDrawable *drawable)
{
    composite(guest, drawable);
    drawable->u.composite.src_transform = address_of(&guest->transform);
}

static void composite_masked(TransformGuest *guest, QXLDrawable *drawable)
{
    static const std::vector<uint8_t> white(SIDE * SIDE * 4, 0xff);
    static const BitmapImage bitmap(SPICE_BITMAP_FMT_32BIT, white.data(), SIDE * 4);

    composite(guest, drawable);
    drawable->u.composite.src = bitmap.address();
    drawable->u.composite.mask = guest->image.address();
    drawable->u.composite.mask_transform = address_of(&guest->transform);
    drawable->u.composite.flags |= COMPONENT_ALPHA;
}

static void text(TransformGuest *guest, QXLDrawable *drawable)
{
    auto &text = drawable->u.text;

    drawable->type = QXL_DRAW_TEXT;
    text.str = guest->glyph.address();
    text.fore_brush.type = SPICE_BRUSH_TYPE_PATTERN;
    text.fore_brush.u.pattern.pat = guest->image.address();
    text.fore_brush.u.pattern.pos = { 5, 3 };
    text.fore_mode = SPICE_ROPD_OP_PUT;
}

static void copy(TransformGuest *guest, QXLDrawable *drawable)
{
    drawable->type = QXL_DRAW_COPY;
    drawable->u.copy.src_bitmap = guest->image.address();
    drawable->u.copy.src_area = drawable->bbox;
    drawable->u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
}

static void alpha_blend(TransformGuest *guest, QXLDrawable *drawable)
{
    drawable->type = QXL_DRAW_ALPHA_BLEND;
    drawable->u.alpha_blend.src_bitmap = guest->image.address();
    drawable->u.alpha_blend.src_area = drawable->bbox;
    drawable->u.alpha_blend.alpha = 0xff;
}

static void check_after(Prepare *prepare_first)
{
    for (Prepare *prepare : { copy, alpha_blend, composite }) {
        TransformGuest guest;

        prepare_first(&guest, &guest.first);
        guest.draw_first();
        prepare(&guest, &guest.drawable);
        guest.check();
    }
}

static void after_composite()
{
    check_after(composite_transformed);
}

static void after_mask()
{
    check_after(composite_masked);
}

static void after_text()
{
    check_after(text);
}

/* A surface is source and mask, and only the mask has a transform. */
static void own_mask()
{
    TransformGuest guest;

    composite(&guest, &guest.drawable);
    guest.drawable.u.composite.mask = guest.image.address();
    guest.drawable.u.composite.mask_transform = address_of(&guest.transform);
    guest.drawable.u.composite.flags |= MASK_REPEATS;
    guest.check();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/surface-transforms/after-composite", after_composite);
    g_test_add_func("/server/surface-transforms/after-mask", after_mask);
    g_test_add_func("/server/surface-transforms/after-text", after_text);
    g_test_add_func("/server/surface-transforms/own-mask", own_mask);
    return g_test_run();
}
