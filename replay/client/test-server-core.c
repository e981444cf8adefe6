/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../player/core-glib.h"
#include "test-server.h"

static TestChannelUpFunc channel_up = NULL;

static gboolean call_channel_up(gpointer opaque)
{
    SpiceChannelEventInfo *info = opaque;

    channel_up(info->type, info->id);
    g_free(info);
    return G_SOURCE_REMOVE;
}

/* Display and cursor channels report from the worker's thread. */
static void channel_event(int event, SpiceChannelEventInfo *info)
{
    if (event == SPICE_CHANNEL_EVENT_INITIALIZED) {
        g_idle_add(call_channel_up, g_memdup2(info, sizeof(*info)));
    }
}

SpiceCoreInterface *test_core(TestChannelUpFunc on_channel_up)
{
    channel_up = on_channel_up;
    return core_glib_interface(channel_event);
}
