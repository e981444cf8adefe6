/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A guest may change the sizes of what it draws between the pass that counts them and the one
 * that copies: nothing is written behind what was allocated, and the drawing is refused.
 */
#include <config.h>

#include <functional>

#include "test-glib-compat.h"
#include "test-memslot.h"

#include "push-visibility.h"

enum { GUARD = 4096, UNTOUCHED = 0x5a, COUNT = 64 };

/* what the guest does when memory is allocated for a copy, once; then that memory, and its end */
static std::function<void()> on_malloc;
static uint8_t *copy, *copy_end;

/* These are instead of GLib's. */
gpointer g_malloc(gsize size)
{
    auto memory = static_cast<uint8_t *>(malloc(size + GUARD));

    if (on_malloc) {
        copy = memory;
        copy_end = memory + size;
        memset(copy_end, UNTOUCHED, GUARD);
        on_malloc();
        on_malloc = nullptr;
    }
    return memory;
}

void g_free(gpointer memory)
{
    if (memory && memory == copy) {
        for (int i = 0; i < GUARD; ++i) {
            g_assert_cmphex(copy_end[i], ==, UNTOUCHED);
        }
        copy = nullptr;
    }
    free(memory);
}

static void check(const QXLDrawable &drawable, const std::function<void()> &change,
                  const char *message)
{
    TestSlots slots;

    g_assert_true(slots.parse(drawable));
    on_malloc = change;
    g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, message);
    const bool refused = !slots.parse(drawable);
    g_assert_null(copy);
    g_assert_true(refused);
    g_test_assert_expected_messages();
}

/* As many bytes in both passes, first in one glyph, then one in each. In the copy each glyph is
 * padded. */
static void glyphs()
{
    struct {
        QXLString string;
        uint8_t data[COUNT * (sizeof(QXLRasterGlyph) + 1)];
    } command = {};
    QXLDrawable drawable = {};
    const auto fill = [&](bool in_one) {
        uint8_t *at = command.data;

        memset(command.data, 0, sizeof(command.data));
        for (int i = 0; i < COUNT; ++i) {
            auto glyph = reinterpret_cast<QXLRasterGlyph *>(at);

            glyph->width = !in_one ? 1 : i == 0 ? COUNT : 0;
            glyph->height = 1;
            at += sizeof(*glyph) + glyph->width;
        }
    };

    fill(true);
    command.string.data_size = command.string.chunk.data_size = sizeof(command.data);
    command.string.length = COUNT;
    command.string.flags = SPICE_STRING_FLAGS_RASTER_A8;
    drawable.type = QXL_DRAW_TEXT;
    drawable.u.text.str = to_physical(&command);
    check(drawable, [&] { fill(false); }, "*a string that changes*");
}

static QXLDrawable stroke(const QXLPath *path)
{
    QXLDrawable drawable = {};

    drawable.type = QXL_DRAW_STROKE;
    drawable.u.stroke.path = to_physical(path);
    return drawable;
}

/* In the second pass one segment has points, which lie behind what the guest has given. */
static void path(gconstpointer data)
{
    struct {
        QXLPath path;
        QXLPathSeg segments[COUNT];
        QXLPointFix behind[COUNT];
    } command = {};
    const int segment = GPOINTER_TO_INT(data);

    command.path.data_size = command.path.chunk.data_size = sizeof(command.segments);
    check(stroke(&command.path), [&] { command.segments[segment].count = COUNT / 2; },
          "*a path that changes*");
}

/* What lies in no slot of memory is not there, which is the same to who reads it. */
static void no_string()
{
    QXLDrawable drawable = {};
    TestSlots slots(to_physical(&drawable), to_physical(&drawable + 1));

    drawable.type = QXL_DRAW_TEXT;
    drawable.u.text.str = 1;
    g_test_expect_message(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "*virtual address out of range*");
    g_assert_false(slots.parse(drawable));
    g_test_assert_expected_messages();
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, nullptr);
    g_test_add_func("/server/guest-race/glyphs", glyphs);
    g_test_add_func("/server/guest-race/no-string", no_string);
    g_test_add_data_func("/server/guest-race/path-first", GINT_TO_POINTER(0), path);
    g_test_add_data_func("/server/guest-race/path-last", GINT_TO_POINTER(COUNT - 2), path);
    return g_test_run();
}
