/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A command that contradicts itself, or asks for what a canvas cannot do, is refused. The server
 * goes on.
 */
#include <config.h>

#include "test-drawing.h"
#include "test-link.h"

#include "push-visibility.h"

enum {
    SCALE_MODES = 256,
    ROP3_CODES = 256,
    /* a square of this side has 2^32 pixels */
    HUGE_SIDE = 0x10000,
};

static const QXLRect all = { 0, 0, SIDE, SIDE };

/* A picture of white, to draw with. */
struct White
{
    std::vector<uint8_t> data = std::vector<uint8_t>(SIDE * SIDE * 4, 0xff);
    BitmapImage image{ SPICE_BITMAP_FMT_32BIT, data.data(), SIDE * 4 };
};

static bool draws(DrawingGuest &guest)
{
    const uint32_t *pixels = guest.pixels();

    guest.draw();
    return std::any_of(pixels, pixels + SIDE * SIDE,
                       [](uint32_t pixel) { return (pixel & 0xffffff) != 0; });
}

static void set_white_copy(DrawingGuest *guest, const White &white)
{
    guest->drawable.type = QXL_DRAW_COPY;
    guest->drawable.u.copy.src_bitmap = white.image.address();
    guest->drawable.u.copy.src_area = all;
    guest->drawable.u.copy.rop_descriptor = SPICE_ROPD_OP_PUT;
}

static void command_type()
{
    const White white;
    DrawingGuest guest;

    for (uint32_t type : { uint32_t{QXL_CMD_NOP}, uint32_t{QXL_CMD_CURSOR}, 99u, 0xffffffffu }) {
        guest.device.push(type, &guest.drawable);
    }
    set_white_copy(&guest, white);
    g_assert_true(draws(guest));
}

static void clip()
{
    struct
    {
        QXLClipRects rects;
        QXLRect area;
    } clip = {};
    const White white;

    clip.rects.chunk.data_size = sizeof(QXLRect);
    memcpy(clip.rects.chunk.data, &all, sizeof(all));
    for (uint32_t num_rects : { 0u, 1u, 2u, 0x10000001u, 0xffffffffu }) {
        DrawingGuest guest;

        clip.rects.num_rects = num_rects;
        set_white_copy(&guest, white);
        guest.drawable.clip.type = SPICE_CLIP_TYPE_RECTS;
        guest.drawable.clip.data = reinterpret_cast<uintptr_t>(&clip);
        g_assert_cmpint(draws(guest), ==, num_rects == 1);
    }
}

/* A line from corner to corner, of two points. */
struct Line
{
    struct
    {
        QXLPath path;
        uint32_t numbers[6];
    } command = {};
    DrawingGuest guest;

    explicit Line(uint32_t points)
    {
        const uint32_t numbers[] =
            { SPICE_PATH_BEGIN | SPICE_PATH_END, points, 0, 0, SIDE << 4, SIDE << 4 };
        auto &stroke = guest.drawable.u.stroke;

        command.path.data_size = command.path.chunk.data_size = sizeof(numbers);
        memcpy(command.path.chunk.data, numbers, sizeof(numbers));
        guest.drawable.type = QXL_DRAW_STROKE;
        stroke.path = reinterpret_cast<uintptr_t>(&command);
        stroke.brush.type = SPICE_BRUSH_TYPE_SOLID;
        stroke.brush.u.color = 0xffffff;
        stroke.fore_mode = SPICE_ROPD_OP_PUT;
    }
};

static void path()
{
    for (uint32_t points : { 2u, 3u, 0x20000002u, 0xffffffffu }) {
        Line line(points);

        g_assert_cmpint(draws(line.guest), ==, points == 2);
    }
}

static void style()
{
    Line line(2);

    line.guest.drawable.u.stroke.attr.flags = SPICE_LINE_FLAGS_STYLED;
    line.guest.drawable.u.stroke.attr.style_nseg = 2;
    g_assert_false(draws(line.guest));
}

/* One glyph as large as the surface. */
struct Text
{
    struct
    {
        QXLString string;
        struct
        {
            QXLRasterGlyph head;
            uint8_t data[SIDE * SIDE / 8];
        } glyph;
    } command = {};
    DrawingGuest guest;

    Text()
    {
        auto &text = guest.drawable.u.text;

        command.string.data_size = command.string.chunk.data_size = sizeof(command.glyph);
        command.string.length = 1;
        command.string.flags = SPICE_STRING_FLAGS_RASTER_A1;
        command.glyph.head.width = command.glyph.head.height = SIDE;
        memset(command.glyph.data, 0xff, sizeof(command.glyph.data));
        guest.drawable.type = QXL_DRAW_TEXT;
        text.str = reinterpret_cast<uintptr_t>(&command);
        text.fore_brush.type = SPICE_BRUSH_TYPE_SOLID;
        text.fore_brush.u.color = 0xffffff;
        text.fore_mode = SPICE_ROPD_OP_PUT;
    }
};

static void text()
{
    typedef void Change(Text *text);
    Change *const changes[] = {
        [](Text *) {},
        [](Text *text) { text->command.string.flags = 0; },
        [](Text *text) { text->command.string.length = 0; },
        [](Text *text) {
            text->command.string.length = 0;
            text->command.string.data_size = text->command.string.chunk.data_size = 0;
        },
        [](Text *text) { text->command.string.length = 2; },
        [](Text *text) { text->command.string.data_size += 1; },
        [](Text *text) {
            text->command.string.data_size = text->command.string.chunk.data_size = 1;
        },
        [](Text *text) {
            text->command.string.data_size = text->command.string.chunk.data_size -= 1;
        },
        [](Text *text) { text->command.glyph.head.height += 1; },
        [](Text *text) { text->command.glyph.head.height -= 1; },
        [](Text *text) {
            text->command.glyph.head.width = text->command.glyph.head.height = UINT16_MAX;
        },
    };

    for (Change *change : changes) {
        Text text;

        change(&text);
        g_assert_cmpint(draws(text.guest), ==, change == changes[0]);
    }
}

static void text_mode()
{
    for (uint16_t mode : { SPICE_ROPD_OP_PUT, SPICE_ROPD_OP_OR, SPICE_ROPD_OP_XOR }) {
        Text text;

        text.guest.drawable.u.text.back_area = all;
        text.guest.drawable.u.text.back_brush.type = SPICE_BRUSH_TYPE_SOLID;
        text.guest.drawable.u.text.fore_mode = mode;
        g_assert_true(draws(text.guest));
    }
}

/* The canvas has code for all those that need a pattern, a source and a destination, and for no
 * others. */
static void rop3_codes()
{
    const White white;
    DrawingGuest guest;
    int known = 0;

    guest.drawable.type = QXL_DRAW_ROP3;
    guest.drawable.u.rop3.src_bitmap = white.image.address();
    guest.drawable.u.rop3.src_area = all;
    guest.drawable.u.rop3.brush.type = SPICE_BRUSH_TYPE_SOLID;
    guest.device.push(QXL_CMD_SURFACE, &guest.surface);
    for (int code = 0; code < ROP3_CODES; ++code) {
        QXLRect area = all, dirty = {};

        guest.drawable.u.rop3.rop3 = code;
        guest.device.push(QXL_CMD_DRAW, &guest.drawable);
        guest.device.run();
        spice_qxl_update_area(&guest.device.qxl, SURFACE, &area, &dirty, 1, 1);
        known += dirty.right == SIDE;
    }
    g_assert_cmpint(known, ==, 218);
}

static void scale_modes()
{
    const White white;

    for (int mode = 0; mode < SCALE_MODES; mode += mode < 4 ? 1 : 63) {
        DrawingGuest guest;

        set_white_copy(&guest, white);
        guest.drawable.u.copy.src_area = { 0, 0, SIDE / 2, SIDE / 2 };
        guest.drawable.u.copy.scale_mode = mode;
        g_assert_true(draws(guest));
    }
}

/* An image to cache of 2^32 pixels, which are 0 in 32 bits. */
static void cached_size()
{
    White white;
    DrawingGuest guest;

    g_assert_cmpint(spice_server_set_noauth(guest.device.server), ==, 0);
    guest.device.run();
    TestDisplayClient client(guest.device.server);
    client.display.next_message(SPICE_MSG_DISPLAY_MARK);

    white.image.descriptor.flags = QXL_IMAGE_CACHE;
    white.image.descriptor.width = white.image.descriptor.height = HUGE_SIDE;
    set_white_copy(&guest, white);
    guest.device.push(QXL_CMD_SURFACE, &guest.surface);
    guest.device.push(QXL_CMD_DRAW, &guest.drawable);
    spice_qxl_wakeup(&guest.device.qxl);
    client.display.next_message(SPICE_MSG_DISPLAY_DRAW_COPY);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    /* the server warns of each */
    g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL));
    g_test_add_func("/server/bad-commands/command-type", command_type);
    g_test_add_func("/server/bad-commands/clip", clip);
    g_test_add_func("/server/bad-commands/path", path);
    g_test_add_func("/server/bad-commands/style", style);
    g_test_add_func("/server/bad-commands/text", text);
    g_test_add_func("/server/bad-commands/text-mode", text_mode);
    g_test_add_func("/server/bad-commands/rop3-codes", rop3_codes);
    g_test_add_func("/server/bad-commands/scale-modes", scale_modes);
    g_test_add_func("/server/bad-commands/cached-size", cached_size);
    return g_test_run();
}
