/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <config.h>

#include "dcc-backlog.h"
#include "dcc-damage.h"
#include "dcc-private.h"
#include "display-channel-private.h"

void DccBacklog::pushed(bool waits, uint32_t delay, uint32_t bytes)
{
    const uint64_t now = g_get_monotonic_time();

    path.pushed(now, waits, bytes ? dcc->get_message_serial() : 0, bytes);
    late_after = red_catch_up_late(delay);
    if (waiting_since && dcc->get_pipe_size() <= MAX_PIPE_SIZE) {
        waited += now - waiting_since;
        waiting_since = 0;
    }
}

void DccBacklog::guest_waits(bool waits)
{
    if (!waits) {
        waited = 0;
        waiting_since = 0;
    } else if (!waiting_since && dcc->get_pipe_size() > MAX_PIPE_SIZE) {
        waiting_since = g_get_monotonic_time();
    }
}

bool DccBacklog::is_late(const Drawable *drawable) const
{
    return path.waited(drawable->creation_time / 1000) > late_after;
}

bool DccBacklog::is_too_long() const
{
    const auto &pipe = dcc->get_pipe();

    if ((waiting_since ? path.refused(waiting_since - waited) : waited) > late_after) {
        return true;
    }
    for (auto l = pipe.rbegin(); l != pipe.rend(); ++l) {
        if ((*l)->type == RED_PIPE_ITEM_TYPE_DRAW) {
            const auto item = static_cast<const RedDrawablePipeItem *>(l->get());

            if (!item->is_kept && !dcc_is_frame(dcc, item->drawable)) {
                return is_late(item->drawable);
            }
        }
    }
    return false;
}

bool DccBacklog::holds_up_others() const
{
    DisplayChannelClient *other;

    if (dcc->get_pipe_size() <= MAX_PIPE_SIZE) {
        return false;
    }
    GLIST_FOREACH(dcc->get_channel()->get_clients(), DisplayChannelClient, other) {
        if (other->get_pipe_size() <= MAX_PIPE_SIZE) {
            return true;
        }
    }
    return false;
}
