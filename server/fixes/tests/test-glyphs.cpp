/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Glyphs of 8 bits a pixel are drawn line for line, from the last line of the data, which
 * is the top one, to the first; nothing beyond the data is read.
 */
#include <config.h>

#include <initializer_list>

#include <common/sw_canvas.h>

#include "test-glib-compat.h"

#include "push-visibility.h"

enum { WIDTH = 3, HEIGHT = 4 };

/* Each of @bits gives a line of full or no intensity. */
static void draw_glyph(SpiceCanvas *canvas, const char *bits)
{
    const size_t size = sizeof(SpiceRasterGlyph) + WIDTH * HEIGHT;
    /* not longer than it has to be, so that reading on is seen */
    auto glyph = static_cast<SpiceRasterGlyph *>(g_malloc0(size));
    auto string = static_cast<SpiceString *>(
        g_malloc0(sizeof(SpiceString) + sizeof(SpiceRasterGlyph *)));
    SpiceRect box = { 0, 0, WIDTH, HEIGHT };
    SpiceClip clip = { SPICE_CLIP_TYPE_NONE, nullptr };
    SpiceText text = {};

    glyph->width = WIDTH;
    glyph->height = HEIGHT;
    for (int line = 0; line < HEIGHT; ++line) {
        memset(glyph->data + line * WIDTH, bits[line] == '1' ? 0xff : 0, WIDTH);
    }
    string->length = 1;
    string->flags = SPICE_STRING_FLAGS_RASTER_A8;
    string->glyphs[0] = glyph;
    text.str = string;
    text.fore_brush.type = SPICE_BRUSH_TYPE_SOLID;
    text.fore_brush.u.color = 0xffffff;
    text.fore_mode = SPICE_ROPD_OP_PUT;
    canvas->ops->draw_text(canvas, &box, &clip, &text);
    g_free(string);
    g_free(glyph);
}

static void check(const char *bits)
{
    uint32_t pixels[HEIGHT][WIDTH] = {};
    SpiceCanvas *canvas = canvas_create_for_data(WIDTH, HEIGHT, SPICE_SURFACE_FMT_32_xRGB,
                                                 reinterpret_cast<uint8_t *>(pixels), WIDTH * 4,
                                                 nullptr, nullptr, nullptr, nullptr, nullptr);

    g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*untested path A8 glyphs*");
    draw_glyph(canvas, bits);
    g_test_assert_expected_messages();
    canvas->ops->destroy(canvas);
    for (int line = 0; line < HEIGHT; ++line) {
        for (uint32_t pixel : pixels[line]) {
            g_assert_cmphex(pixel & 0xffffff, ==, bits[HEIGHT - 1 - line] == '1' ? 0xffffff : 0);
        }
    }
}

static void a8()
{
    for (const char *bits : { "1111", "0000", "1000", "0100", "0010", "0001" }) {
        check(bits);
    }
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/glyphs/a8", a8);
    return g_test_run();
}
