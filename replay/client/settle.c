/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "settle.h"

struct Settle {
    const Display *display;
    SettleFunc on_settled;
    void *opaque;
    int64_t seen_events; /* of the display when the time was started anew */
    guint timer;
};

static gboolean on_quiet(gpointer opaque)
{
    Settle *settle = opaque;
    int64_t events = display_events(settle->display);

    if (events != settle->seen_events) {
        settle->seen_events = events;
        return G_SOURCE_CONTINUE;
    }
    settle->timer = 0;
    settle->on_settled(settle->opaque);
    return G_SOURCE_REMOVE;
}

Settle *settle_new(const Display *display, int quiet_ms, SettleFunc on_settled, void *opaque)
{
    Settle *settle = g_new0(Settle, 1);

    settle->display = display;
    settle->on_settled = on_settled;
    settle->opaque = opaque;
    settle->seen_events = display_events(display);
    settle->timer = g_timeout_add(quiet_ms, on_quiet, settle);
    return settle;
}

void settle_free(Settle *settle)
{
    if (settle == NULL) {
        return;
    }
    if (settle->timer != 0) {
        g_source_remove(settle->timer);
    }
    g_free(settle);
}
