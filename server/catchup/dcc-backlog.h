/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How long the drawings of a display client have waited for its path, and how long the guest has
 * because of that. Part of catch-up, see dcc-catch-up.h. */
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
    explicit DccBacklog(DisplayChannelClient *init_dcc): dcc(init_dcc) {}

    /* See DccCatchUp. */
    void pushed(bool waits, uint32_t delay, uint32_t bytes);
    void guest_waits(bool waits);

    /* Whether the path has made it wait for too long. */
    bool is_late(const Drawable *drawable) const;

    /* See RedCatchUpPath. */
    bool is_passing() const { return path.is_passing(); }

    /* Whether the oldest drawing in the pipe is late, or the guest has waited for that long: then
     * it need not wait again until the worker has taken all commands. */
    bool is_too_long() const;

    /* Whether the guest would wait for this client, while another one takes what it draws. */
    bool holds_up_others() const;

private:
    DisplayChannelClient *const dcc;
    RedCatchUpPath path;
    /* microseconds after which a drawing that waits for the path is late */
    uint64_t late_after = RED_CATCH_UP_LATE;
    /* how long the guest has waited since the worker had last taken all commands, and since when
     * it waits, 0: it does not. Elapsed time, as one pong may end a wait during which the path
     * was tried only once. */
    uint64_t waited = 0;
    uint64_t waiting_since = 0;
};

#include "pop-visibility.h"

#endif /* DCC_BACKLOG_H_ */
