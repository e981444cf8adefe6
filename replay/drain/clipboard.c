/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clipboard that the client shares with the guest's agent, over the main channel: requests what
 * the guest copies, and offers it back with every bit inverted: a paste of
 * ./run live deployment. */
#include "channel.h"

typedef struct Clipboard {
    Channel channel;
    GByteArray *inverted; /* what the guest gets, NULL before it has copied something */
} Clipboard;

static gboolean on_grab(SpiceMainChannel *spice, guint selection, gpointer types, guint num_types,
                        Clipboard *clipboard G_GNUC_UNUSED)
{
    if (num_types > 0) {
        spice_main_channel_clipboard_selection_request(spice, selection, ((guint32 *)types)[0]);
    }
    return TRUE;
}

static void on_data(SpiceMainChannel *spice, guint selection, guint type, gpointer data,
                    guint size, Clipboard *clipboard)
{
    guint32 types[] = { type };

    g_clear_pointer(&clipboard->inverted, g_byte_array_unref);
    clipboard->inverted = g_byte_array_append(g_byte_array_sized_new(size), data, size);
    for (guint i = 0; i < size; i++) {
        clipboard->inverted->data[i] ^= 0xff;
    }
    spice_main_channel_clipboard_selection_grab(spice, selection, types, G_N_ELEMENTS(types));
}

static gboolean on_request(SpiceMainChannel *spice, guint selection, guint type,
                           Clipboard *clipboard)
{
    if (clipboard->inverted == NULL) {
        return FALSE;
    }
    spice_main_channel_clipboard_selection_notify(spice, selection, type,
                                                  clipboard->inverted->data,
                                                  clipboard->inverted->len);
    return TRUE;
}

static void watch(Channel *channel, const Options *options)
{
    if (options->channels) {
        g_signal_connect(channel->spice, "main-clipboard-selection-grab", G_CALLBACK(on_grab),
                         channel);
        g_signal_connect(channel->spice, "main-clipboard-selection", G_CALLBACK(on_data), channel);
        g_signal_connect(channel->spice, "main-clipboard-selection-request", G_CALLBACK(on_request),
                         channel);
    }
}

static void clear(Channel *channel)
{
    g_clear_pointer(&((Clipboard *)channel)->inverted, g_byte_array_unref);
}

const ChannelKind clipboard_kind = { .size = sizeof(Clipboard), .watch = watch, .clear = clear };
