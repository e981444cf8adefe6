/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A glyph is drawn nowhere but onto the surface, wherever the guest says that it is; one that is
 * far away is left out.
 */
#include <config.h>

#include "test-guest-surface.h"

#include "push-visibility.h"

/* edges of glyphs from -FURTHEST - 1 to FURTHEST are computed */
enum { WHITE = 0xffffff, FURTHEST = INT16_MAX / 2 };

/* Two glyphs, each as large as the surface, of so many bits a pixel. */
template <int BITS> struct TextOf
{
    struct Glyph {
        QXLRasterGlyph head;
        uint8_t data[SIDE * SIDE * BITS / 8];
    };
    struct {
        QXLString string;
        Glyph glyphs[2];
    } command = {};
    TestGuest guest;

    TextOf(QXLPoint first, QXLPoint second)
    {
        auto &text = guest.drawable.u.text;

        command.string.data_size = command.string.chunk.data_size = sizeof(command.glyphs);
        command.string.length = 2;
        command.string.flags = BITS == 1 ? SPICE_STRING_FLAGS_RASTER_A1 :
                                           SPICE_STRING_FLAGS_RASTER_A4;
        for (Glyph &glyph : command.glyphs) {
            glyph.head.width = glyph.head.height = SIDE;
            memset(glyph.data, 0xff, sizeof(glyph.data));
        }
        command.glyphs[0].head.render_pos = first;
        command.glyphs[1].head.render_pos = second;
        guest.drawable.type = QXL_DRAW_TEXT;
        text.str = reinterpret_cast<uintptr_t>(&command);
        text.fore_brush.type = SPICE_BRUSH_TYPE_SOLID;
        text.fore_brush.u.color = WHITE;
        text.fore_mode = SPICE_ROPD_OP_PUT;
    }

    void draw(int left_out, uint32_t colour)
    {
        for (int i = 0; i < left_out; ++i) {
            g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*a glyph far away*");
        }
        guest.draw();
        guest.check(colour);
    }
};

using Text = TextOf<1>;

static void close_by()
{
    Text({ 0, 0 }, { SIDE, SIDE }).draw(0, WHITE);
    Text({ 0, 0 }, { -SIDE, -SIDE }).draw(0, WHITE);
    /* where no surface is, but pixman draws what is in between */
    Text({ 0, 0 }, { FURTHEST - SIDE, 0 }).draw(0, WHITE);
    Text({ 0, -FURTHEST - 1 }, { 0, 0 }).draw(0, WHITE);
}

/* One edge wraps, or a distance does. */
static void far_away()
{
    for (int32_t away : { INT32_MAX, INT32_MIN, INT32_MAX - SIDE, FURTHEST - SIDE + 1,
                          -FURTHEST - 2 }) {
        Text({ 0, 0 }, { away, 0 }).draw(1, WHITE);
        Text({ away, 0 }, { 0, 0 }).draw(1, WHITE);
        Text({ 0, 0 }, { 0, away }).draw(1, WHITE);
        Text({ 0, away }, { 0, 0 }).draw(1, WHITE);
    }
}

static void both_far()
{
    Text({ INT32_MAX, 0 }, { INT32_MIN + 100, 0 }).draw(2, TestGuest::OWN);
    Text({ 0, INT32_MAX }, { 0, INT32_MIN + 100 }).draw(2, TestGuest::OWN);
}

/* The last row of a mask that is as large as can be, and of one whose rows cannot be counted. */
static void both_ends()
{
    const int32_t end = FURTHEST - SIDE, beyond = INT16_MAX - SIDE;

    TextOf<4>({ -FURTHEST - 1, -FURTHEST - 1 }, { end, end }).draw(0, TestGuest::OWN);
    TextOf<4>({ INT16_MIN, INT16_MIN }, { beyond, beyond }).draw(2, TestGuest::OWN);
}

/* The sum of the two positions wraps. */
static void origin()
{
    Text text({ 0, 0 }, { 0, INT32_MAX });

    text.command.glyphs[1].head.glyph_origin = { 0, INT32_MAX };
    text.draw(1, WHITE);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/guest-text/near", close_by);
    g_test_add_func("/server/guest-text/far", far_away);
    g_test_add_func("/server/guest-text/both-far", both_far);
    g_test_add_func("/server/guest-text/both-ends", both_ends);
    g_test_add_func("/server/guest-text/origin", origin);
    return g_test_run();
}
