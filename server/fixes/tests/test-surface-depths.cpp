/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A drawing reads surfaces that there are, of a depth that fits the surface it is drawn on, and
 * that stay until it is drawn.
 */
#include <config.h>

#include "test-drawing.h"

#include "push-visibility.h"

enum { SOURCE = SURFACE + 1, MISSING = 77 };

struct Format
{
    uint32_t format;
    int bits;
};

static const Format rgb32 = { SPICE_SURFACE_FMT_32_xRGB, 32 };
static const Format rgb555 = { SPICE_SURFACE_FMT_16_555, 16 };
static const Format rgb565 = { SPICE_SURFACE_FMT_16_565, 16 };
static const Format a8 = { SPICE_SURFACE_FMT_8_A, 8 };
static const Format a1 = { SPICE_SURFACE_FMT_1_A, 1 };

/* Has a surface to draw on, which is black, and a white one to draw. */
struct SourceGuest: DrawingGuest
{
    std::vector<uint8_t> white = std::vector<uint8_t>(SIDE * SIDE * 4, 0xff);
    QXLSurfaceCmd source;
    QXLSurfaceCmd end_of_source = {};
    SurfaceImage image;
    BitmapImage bitmap{ SPICE_BITMAP_FMT_32BIT, white.data(), SIDE * 4 };
    /* a line from corner to corner */
    struct Path
    {
        QXLPath path;
        uint32_t numbers[6];
    } line = {};
    WhiteGlyph glyph;

    SourceGuest(const Format &to, const Format &from):
        DrawingGuest(to.format, to.bits),
        source(surface)
    {
        source.surface_id = SOURCE;
        source.u.surface_create.format = from.format;
        source.u.surface_create.stride = SIDE * from.bits / 8;
        source.u.surface_create.data = reinterpret_cast<uintptr_t>(white.data());
        device.push(QXL_CMD_SURFACE, &source);
        end_of_source.surface_id = SOURCE;
        end_of_source.type = QXL_SURFACE_CMD_DESTROY;
        image.surface_image.surface_id = SOURCE;

        const uint32_t numbers[] =
            { SPICE_PATH_BEGIN | SPICE_PATH_END, 2, 0, 0, SIDE << 4, SIDE << 4 };
        static_assert(sizeof(numbers) == sizeof(line.numbers), "");
        line.path.data_size = line.path.chunk.data_size = sizeof(numbers);
        memcpy(line.path.chunk.data, numbers, sizeof(numbers));
    }

    /* The guest says that it reads the surface. */
    void name_source(uint32_t id = SOURCE)
    {
        drawable.surfaces_dest[0] = id;
        drawable.surfaces_rects[0] = drawable.bbox;
    }

    bool is_drawn() const
    {
        return std::any_of(memory.begin() + size, memory.begin() + 2 * size,
                           [](uint8_t byte) { return byte != 0; });
    }
};

typedef void Draw(SourceGuest *guest, QXLPHYSICAL picture);

static const QXLRect quarter = { 0, 0, SIDE / 2, SIDE / 2 };

static void set_brush(QXLBrush *brush, QXLPHYSICAL picture)
{
    brush->type = SPICE_BRUSH_TYPE_PATTERN;
    brush->u.pattern.pat = picture;
}

static void copy_area(SourceGuest *guest, QXLPHYSICAL picture, const QXLRect &area,
                      uint16_t operation)
{
    auto &copy = guest->drawable.u.copy;

    guest->drawable.type = QXL_DRAW_COPY;
    copy.src_bitmap = picture;
    copy.src_area = area;
    copy.rop_descriptor = operation;
}

static void copy(SourceGuest *guest, QXLPHYSICAL picture)
{
    copy_area(guest, picture, guest->drawable.bbox, SPICE_ROPD_OP_PUT);
}

static void copy_or(SourceGuest *guest, QXLPHYSICAL picture)
{
    copy_area(guest, picture, guest->drawable.bbox, SPICE_ROPD_OP_OR);
}

static void copy_scaled(SourceGuest *guest, QXLPHYSICAL picture)
{
    copy_area(guest, picture, quarter, SPICE_ROPD_OP_PUT);
}

static void copy_scaled_or(SourceGuest *guest, QXLPHYSICAL picture)
{
    copy_area(guest, picture, quarter, SPICE_ROPD_OP_OR);
}

static void blend(SourceGuest *guest, QXLPHYSICAL picture)
{
    copy_or(guest, picture);
    guest->drawable.type = QXL_DRAW_BLEND;
}

static void opaque(SourceGuest *guest, QXLPHYSICAL picture)
{
    auto &opaque = guest->drawable.u.opaque;

    guest->drawable.type = QXL_DRAW_OPAQUE;
    opaque.src_bitmap = picture;
    opaque.src_area = guest->drawable.bbox;
    opaque.brush.type = SPICE_BRUSH_TYPE_SOLID;
    opaque.rop_descriptor = SPICE_ROPD_OP_OR;
}

static void opaque_brush(SourceGuest *guest, QXLPHYSICAL picture)
{
    opaque(guest, picture);
    guest->drawable.u.opaque.src_area = quarter;
    set_brush(&guest->drawable.u.opaque.brush, picture);
}

static void transparent(SourceGuest *guest, QXLPHYSICAL picture)
{
    guest->drawable.type = QXL_DRAW_TRANSPARENT;
    guest->drawable.u.transparent.src_bitmap = picture;
    guest->drawable.u.transparent.src_area = guest->drawable.bbox;
}

static void transparent_scaled(SourceGuest *guest, QXLPHYSICAL picture)
{
    transparent(guest, picture);
    guest->drawable.u.transparent.src_area = quarter;
}

static void alpha_blend(SourceGuest *guest, QXLPHYSICAL picture)
{
    guest->drawable.type = QXL_DRAW_ALPHA_BLEND;
    guest->drawable.u.alpha_blend.src_bitmap = picture;
    guest->drawable.u.alpha_blend.src_area = guest->drawable.bbox;
    guest->drawable.u.alpha_blend.alpha = 0xff;
}

static void fill_operation(SourceGuest *guest, QXLPHYSICAL picture, uint16_t operation)
{
    guest->drawable.type = QXL_DRAW_FILL;
    set_brush(&guest->drawable.u.fill.brush, picture);
    guest->drawable.u.fill.rop_descriptor = operation;
}

static void fill(SourceGuest *guest, QXLPHYSICAL picture)
{
    fill_operation(guest, picture, SPICE_ROPD_OP_PUT);
}

static void fill_or(SourceGuest *guest, QXLPHYSICAL picture)
{
    fill_operation(guest, picture, SPICE_ROPD_OP_OR);
}

static void stroke_operation(SourceGuest *guest, QXLPHYSICAL picture, uint16_t operation)
{
    auto &stroke = guest->drawable.u.stroke;

    guest->drawable.type = QXL_DRAW_STROKE;
    stroke.path = reinterpret_cast<uintptr_t>(&guest->line);
    set_brush(&stroke.brush, picture);
    stroke.fore_mode = operation;
}

static void stroke(SourceGuest *guest, QXLPHYSICAL picture)
{
    stroke_operation(guest, picture, SPICE_ROPD_OP_PUT);
}

static void stroke_or(SourceGuest *guest, QXLPHYSICAL picture)
{
    stroke_operation(guest, picture, SPICE_ROPD_OP_OR);
}

static void rop3(SourceGuest *guest, QXLPHYSICAL picture)
{
    auto &rop3 = guest->drawable.u.rop3;

    guest->drawable.type = QXL_DRAW_ROP3;
    rop3.src_bitmap = picture;
    rop3.src_area = guest->drawable.bbox;
    set_brush(&rop3.brush, picture);
    rop3.rop3 = 0xfe;   /* or */
}

static void text(SourceGuest *guest, QXLPHYSICAL picture)
{
    auto &text = guest->drawable.u.text;

    guest->drawable.type = QXL_DRAW_TEXT;
    text.str = guest->glyph.address();
    text.fore_mode = SPICE_ROPD_OP_PUT;
    set_brush(&text.fore_brush, picture);
}

/* The text itself is not drawn. */
static void text_background(SourceGuest *guest, QXLPHYSICAL picture)
{
    text(guest, picture);
    guest->drawable.u.text.fore_brush.type = SPICE_BRUSH_TYPE_NONE;
    guest->drawable.u.text.back_area = guest->drawable.bbox;
    set_brush(&guest->drawable.u.text.back_brush, picture);
}

static void masked(SourceGuest *guest, QXLPHYSICAL picture)
{
    guest->drawable.type = QXL_DRAW_WHITENESS;
    guest->drawable.u.whiteness.mask.bitmap = picture;
}

static Draw *const raw[] = {
    copy, copy_or, copy_scaled_or, blend, opaque, opaque_brush, transparent, transparent_scaled,
    fill, fill_or, stroke, stroke_or, rop3, text_background,
};
static Draw *const converted[] = { copy_scaled, alpha_blend, text };

static void refuse(SourceGuest *guest, const char *warning)
{
    g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, warning);
    guest->draw();
    g_test_assert_expected_messages();
    g_assert_false(guest->is_drawn());
}

/* As nothing converts between them, none of these is drawn. */
static void other_depth()
{
    const Format others[][2] = { { rgb32, rgb555 }, { rgb565, rgb32 }, { rgb32, a8 }, { a8, a1 } };

    for (Draw *prepare : raw) {
        SourceGuest guest(rgb32, rgb555);

        guest.name_source();
        prepare(&guest, guest.image.address());
        refuse(&guest, "*guest error: surface of 16 bits drawn on one of 32*");
    }
    for (const auto &formats : others) {
        SourceGuest guest(formats[0], formats[1]);

        guest.name_source();
        copy(&guest, guest.image.address());
        refuse(&guest, "*guest error: surface of*");
    }
}

static void one_bit()
{
    for (Draw *prepare : raw) {
        SourceGuest guest(a1, a1);

        prepare(&guest, guest.bitmap.address());
        refuse(&guest, prepare == rop3 ? "*rop3 on a surface of 1 bits*" :
                                         "*guest error: pixels for a surface of 1 bits*");
    }
}

static void fits()
{
    const auto check = [](const Format &to, const Format &from, Draw *prepare) {
        SourceGuest guest(to, from);

        guest.name_source();
        prepare(&guest, guest.image.address());
        guest.draw();
        g_assert_true(guest.is_drawn());
    };

    for (Draw *prepare : raw) {
        check(rgb32, rgb32, prepare);
    }
    check(rgb565, rgb555, copy);
    check(a8, a8, copy);
    for (Draw *prepare : converted) {
        check(rgb32, rgb555, prepare);
        check(rgb565, rgb32, prepare);
    }
    check(rgb32, a1, masked);
}

static void missing()
{
    const auto check = [](Draw *prepare) {
        SourceGuest guest(rgb32, rgb32);

        guest.image.surface_image.surface_id = MISSING;
        prepare(&guest, guest.image.address());
        refuse(&guest, "*surface 77 is NULL*");
    };

    for (Draw *prepare : raw) {
        check(prepare);
    }
    for (Draw *prepare : converted) {
        check(prepare);
    }
    check(masked);
}

/* A surface that goes before it is drawn is drawn first, also where the guest did not name it. */
static void not_named()
{
    QXLRect area = { 0, 0, SIDE, SIDE };
    QXLRect dirty;
    SourceGuest guest(rgb32, rgb32);

    copy(&guest, guest.image.address());
    guest.device.push(QXL_CMD_SURFACE, &guest.surface);
    guest.device.push(QXL_CMD_DRAW, &guest.drawable);
    guest.device.push(QXL_CMD_SURFACE, &guest.end_of_source);
    guest.device.run();
    spice_qxl_update_area(&guest.device.qxl, SURFACE, &area, &dirty, 1, 0);
    g_assert_true(guest.is_drawn());
}

/* There is room for three. */
static void others_named()
{
    SourceGuest guest(rgb32, rgb32);

    memset(guest.drawable.surfaces_dest, 0, sizeof(guest.drawable.surfaces_dest));
    copy(&guest, guest.image.address());
    refuse(&guest, "*guest error: surface 2 is read and not named*");
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/surface-depths/other-depth", other_depth);
    g_test_add_func("/server/surface-depths/one-bit", one_bit);
    g_test_add_func("/server/surface-depths/fits", fits);
    g_test_add_func("/server/surface-depths/missing", missing);
    g_test_add_func("/server/surface-depths/not-named", not_named);
    g_test_add_func("/server/surface-depths/others-named", others_named);
    return g_test_run();
}
