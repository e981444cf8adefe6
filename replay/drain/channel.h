/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A channel of the session, of any type, and what watches it. */

#ifndef DRAIN_CHANNEL_H_
#define DRAIN_CHANNEL_H_

#include <spice-client.h>
#include <stdint.h>

#include "clipboard.h"
#include "display.h"
#include "inputs.h"
#include "options.h"
#include "cursor.h"
#include "port.h"
#include "sound.h"

typedef enum ChannelState {
    CHANNEL_CONNECTING,
    CHANNEL_OPEN,
    CHANNEL_REOPENING, /* closed by us, and connected again as soon as that is done */
    CHANNEL_CLOSED,
} ChannelState;

typedef struct Channel {
    SpiceChannel *spice;
    int type; /* SPICE_CHANNEL_MAIN and so on */
    int id;
    char *name; /* "main", otherwise with the id: "display-0" */
    ChannelState state;

    /* One per channel type; all NULL for a channel that is only read. */
    Clipboard *clipboard;
    Display *display;
    Cursor *cursor;
    Inputs *inputs;
    Playback *playback;
    Port *port;
} Channel;

/* Watches the library's channel from before it connects. on_marker and opaque: see display.h;
 * only display 0 has markers. */
Channel *channel_new(SpiceChannel *spice, const Options *options, DisplayMarkerFunc on_marker,
                     void *opaque);
void channel_free(Channel *channel);

/* Bytes that the library read from the server on this channel, without TLS. */
int64_t channel_bytes(const Channel *channel);

/* Increases with everything that the server sends except pings and acks. */
int64_t channel_events(const Channel *channel);

#endif /* DRAIN_CHANNEL_H_ */
