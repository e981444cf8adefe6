/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cursor channel's moves, which are its events. */
#include "../common/clock.h"
#include "../common/json.h"
#include "channel.h"

typedef struct Move {
    int x;
    int y;
    int64_t now_ns;
} Move;

typedef struct Cursor {
    Channel channel;
    GArray *kept; /* Move; NULL without --channels */
} Cursor;

static void on_move(SpiceChannel *spice G_GNUC_UNUSED, gint x, gint y, Cursor *cursor)
{
    cursor->channel.events++;
    if (cursor->kept != NULL) {
        Move move = { x, y, clock_ns() };

        g_array_append_val(cursor->kept, move);
    }
}

static void watch(Channel *channel, const Options *options)
{
    ((Cursor *)channel)->kept = options->channels ? g_array_new(FALSE, FALSE, sizeof(Move)) : NULL;
    g_signal_connect(channel->spice, "cursor-move", G_CALLBACK(on_move), channel);
}

/* A list of [x, y, time in ns]. */
static GVariant *report(const Channel *channel)
{
    return json_rows("(iix)", ((const Cursor *)channel)->kept);
}

static void clear(Channel *channel)
{
    g_clear_pointer(&((Cursor *)channel)->kept, g_array_unref);
}

const ChannelKind cursor_kind = {
    .size = sizeof(Cursor), .watch = watch, .report = report, .clear = clear,
};
