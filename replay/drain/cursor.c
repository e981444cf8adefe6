/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cursor.h"

#include "../common/clock.h"
#include "../common/json.h"

typedef struct Move {
    int x;
    int y;
    int64_t now_ns;
} Move;

struct Cursor {
    SpiceChannel *channel;
    int64_t moves;
    GArray *kept; /* Move, or NULL */
};

static void on_move(SpiceChannel *channel G_GNUC_UNUSED, gint x, gint y, Cursor *cursor)
{
    cursor->moves++;
    if (cursor->kept != NULL) {
        Move move = { x, y, clock_ns() };

        g_array_append_val(cursor->kept, move);
    }
}

Cursor *cursor_new(SpiceChannel *channel, bool keep_moves)
{
    Cursor *cursor = g_new0(Cursor, 1);

    cursor->channel = g_object_ref(channel);
    cursor->kept = keep_moves ? g_array_new(FALSE, FALSE, sizeof(Move)) : NULL;
    g_signal_connect(channel, "cursor-move", G_CALLBACK(on_move), cursor);
    return cursor;
}

void cursor_free(Cursor *cursor)
{
    g_signal_handlers_disconnect_by_data(cursor->channel, cursor);
    g_object_unref(cursor->channel);
    g_clear_pointer(&cursor->kept, g_array_unref);
    g_free(cursor);
}

int64_t cursor_moves(const Cursor *cursor)
{
    return cursor->moves;
}

GVariant *cursor_report_moves(const Cursor *cursor)
{
    return json_rows("(iix)", cursor->kept);
}
