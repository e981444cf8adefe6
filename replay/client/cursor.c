/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pointer.h"

#include "clock.h"

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

struct Inputs {
    SpiceChannel *channel;
    int interval_ms;
    guint timer; /* source id, 0 before inputs_start() */
    int64_t motions;
};

static void on_move(SpiceChannel *channel G_GNUC_UNUSED, gint x, gint y, Cursor *cursor)
{
    cursor->moves++;
    if (cursor->kept != NULL) {
        Move move = { x, y, clock_now_ns() };

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

void cursor_report_moves(const Cursor *cursor, Json *json)
{
    if (cursor->kept == NULL) {
        json_null(json);
        return;
    }
    json_open(json, '[');
    for (guint i = 0; i < cursor->kept->len; i++) {
        const Move *move = &g_array_index(cursor->kept, Move, i);

        json_open(json, '[');
        json_int(json, move->x);
        json_int(json, move->y);
        json_int(json, move->now_ns);
        json_close(json, ']');
    }
    json_close(json, ']');
}

static gboolean send_motion(gpointer opaque)
{
    Inputs *inputs = opaque;

    spice_inputs_channel_motion(SPICE_INPUTS_CHANNEL(inputs->channel), 1, 0, 0);
    inputs->motions++;
    return G_SOURCE_CONTINUE;
}

Inputs *inputs_new(SpiceChannel *channel, int interval_ms)
{
    Inputs *inputs = g_new0(Inputs, 1);

    inputs->channel = g_object_ref(channel);
    inputs->interval_ms = interval_ms;
    return inputs;
}

void inputs_free(Inputs *inputs)
{
    if (inputs->timer != 0) {
        g_source_remove(inputs->timer);
    }
    g_object_unref(inputs->channel);
    g_free(inputs);
}

void inputs_start(Inputs *inputs)
{
    if (inputs->interval_ms > 0 && inputs->timer == 0) {
        inputs->timer = g_timeout_add(inputs->interval_ms, send_motion, inputs);
    }
}

int64_t inputs_motions(const Inputs *inputs)
{
    return inputs->motions;
}
