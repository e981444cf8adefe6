/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies within the screen (COPY_BITS, as when text scrolls) that a client gets although it is
 * behind. A kept copy comes after all drawings of the screen that were before it and are sent, and
 * before the next piece of the screen. Part of catch-up, see dcc-catch-up.h. */
#ifndef DCC_COPIES_H_
#define DCC_COPIES_H_

#include "dcc.h"

#include "push-visibility.h"

struct Drawable;

/* To be called from the thread of the display only. */
class DccCopies
{
public:
    explicit DccCopies(DisplayChannelClient *init_dcc): dcc(init_dcc) {}

    /* Whether it is a copy that the client can make as well, and a refresh need not wait longer. */
    bool can_keep(const Drawable *drawable) const;

    /* Find the refresh in the pipe that the copy @drawable must overtake. False if something of the
     * screen is before it which the copy must not overtake. */
    bool find_refresh(const Drawable *drawable, RedChannelClient::Pipe::iterator *refresh) const;

    /* Whether a kept copy is in the pipe after a drawing of the screen: one that waits, or @before,
     * which was the oldest, null: none. If that drawing were dropped, the copy would have to be. */
    bool is_after_screen(const RedPipeItem *before) const;

    /* A copy is kept. */
    void kept() { ++n_kept; }

    /* A refresh has its turn. */
    void refreshed() { n_kept = 0; }

private:
    bool is_on_screen(const RedPipeItem *item) const;

    DisplayChannelClient *const dcc;
    /* since the last refresh */
    unsigned n_kept = 0;
};

#include "pop-visibility.h"

#endif /* DCC_COPIES_H_ */
