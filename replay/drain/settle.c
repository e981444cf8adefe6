/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "settle.h"

struct Settle {
    SettleActivityFunc activity;
    SettleFunc on_settled;
    void *opaque;
    int64_t seen; /* the activity at the last restart of the timer */
    guint timer;
};

static gboolean on_quiet(gpointer opaque)
{
    Settle *settle = opaque;
    int64_t now = settle->activity(settle->opaque);

    if (now != settle->seen) {
        settle->seen = now;
        return G_SOURCE_CONTINUE;
    }
    settle->timer = 0;
    settle->on_settled(settle->opaque);
    return G_SOURCE_REMOVE;
}

Settle *settle_new(int quiet_ms, SettleActivityFunc activity, SettleFunc on_settled, void *opaque)
{
    Settle *settle = g_new0(Settle, 1);

    settle->activity = activity;
    settle->on_settled = on_settled;
    settle->opaque = opaque;
    settle->seen = activity(opaque);
    settle->timer = g_timeout_add(quiet_ms, on_quiet, settle);
    return settle;
}

void settle_free(Settle *settle)
{
    if (settle == NULL) {
        return;
    }
    g_clear_handle_id(&settle->timer, g_source_remove);
    g_free(settle);
}
