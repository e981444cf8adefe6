/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures how long the drawings of a display client have waited for its path, and how long the
 * guest has waited for the client. Part of catch-up, see dcc-catch-up.h. */
#ifndef DCC_BACKLOG_H_
#define DCC_BACKLOG_H_

#include "dcc.h"
#include "red-catch-up.h"

#include "push-visibility.h"

struct Drawable;

/* To be called from the thread of the display only. */
class DccBacklog
{
public:
    /* @dcc owns this, as part of its DccCatchUp. */
    explicit DccBacklog(DisplayChannelClient *init_dcc): dcc(init_dcc) {}

    /* See DccCatchUp. */
    void pushed(bool waits, uint32_t delay, uint32_t bytes);
    void guest_waits(bool waits);

    /* Whether @drawable has waited for the path for too long. */
    bool is_late(const Drawable *drawable) const;

    /* See RedCatchUpPath. */
    bool is_passing() const { return path.is_passing(); }

    /* Whether the oldest drawing in the pipe is late, or the guest has waited for this client
     * for as long as a drawing may. The guest's waiting time restarts from 0 when the worker has
     * taken all commands. */
    bool is_too_long() const;

    /* Whether the guest would wait for this client although another client keeps up. */
    bool holds_up_others() const;

private:
    DisplayChannelClient *const dcc;
    RedCatchUpPath path;
    /* microseconds after which a drawing that waits for the path is late */
    uint64_t late_after = RED_CATCH_UP_LATE;
    /* how long the guest has waited since the worker last took all commands, and since when it
     * waits now (0: it does not). Plain elapsed time: RedCatchUpPath needs two attempts to send,
     * and a wait that one pong ends may have only one. */
    uint64_t waited = 0;
    uint64_t waiting_since = 0;
};

#include "pop-visibility.h"

#endif /* DCC_BACKLOG_H_ */
