/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A channel of the session, of any type, and what watches it. */

#pragma once

#include <spice-client.h>
#include <stdbool.h>
#include <stdint.h>

#include "options.h"

typedef enum ChannelState {
    CHANNEL_CONNECTING,
    CHANNEL_OPEN,
    CHANNEL_REOPENING, /* closed by us, and connected again as soon as that is done */
    CHANNEL_CLOSED,
} ChannelState;

typedef struct Channel Channel;

/* What is done with a channel of a type: a file each. Signal handlers have the channel as their
 * data. */
typedef struct ChannelKind {
    size_t size; /* of its struct, which begins with a Channel */
    void (*watch)(Channel *channel, const Options *options); /* before it connects */
    void (*opened)(Channel *channel);                        /* NULL: nothing */
    GVariant *(*report)(const Channel *channel);             /* floating; NULL: nothing to say */
    void (*clear)(Channel *channel);                         /* frees all but the struct; or NULL */
} ChannelKind;

extern const ChannelKind clipboard_kind, cursor_kind, display_kind, inputs_kind, playback_kind,
    port_kind;

struct Channel {
    const ChannelKind *kind;
    SpiceChannel *spice;
    int type; /* SPICE_CHANNEL_MAIN and so on */
    int id;
    char *name; /* "main", otherwise with the id: "display-0" */
    ChannelState state;
    int64_t events; /* increases with everything that the server sends except pings and acks */
};

/* Watches the library's channel. */
Channel *channel_new(SpiceChannel *spice, const Options *options);
void channel_free(Channel *channel);

/* Bytes that the library read from the server on this channel, without TLS. */
int64_t channel_bytes(const Channel *channel);

/* The one of a type and id, or NULL. */
Channel *channel_find(const GPtrArray *channels, int type, int id);
