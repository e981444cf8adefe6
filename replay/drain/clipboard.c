/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "clipboard.h"

struct Clipboard {
    SpiceMainChannel *channel;
    GByteArray *inverted; /* what the guest gets, NULL before it has copied something */
};

static gboolean on_grab(SpiceMainChannel *channel, guint selection, gpointer types,
                        guint num_types, Clipboard *clipboard G_GNUC_UNUSED)
{
    if (num_types > 0) {
        spice_main_channel_clipboard_selection_request(channel, selection, ((guint32 *)types)[0]);
    }
    return TRUE;
}

static void on_data(SpiceMainChannel *channel, guint selection, guint type, gpointer data,
                    guint size, Clipboard *clipboard)
{
    guint32 types[] = { type };

    g_clear_pointer(&clipboard->inverted, g_byte_array_unref);
    clipboard->inverted = g_byte_array_append(g_byte_array_sized_new(size), data, size);
    for (guint i = 0; i < size; i++) {
        clipboard->inverted->data[i] ^= 0xff;
    }
    spice_main_channel_clipboard_selection_grab(channel, selection, types, G_N_ELEMENTS(types));
}

static gboolean on_request(SpiceMainChannel *channel, guint selection, guint type,
                           Clipboard *clipboard)
{
    if (clipboard->inverted == NULL) {
        return FALSE;
    }
    spice_main_channel_clipboard_selection_notify(channel, selection, type,
                                                  clipboard->inverted->data,
                                                  clipboard->inverted->len);
    return TRUE;
}

Clipboard *clipboard_new(SpiceChannel *channel)
{
    Clipboard *clipboard = g_new0(Clipboard, 1);

    clipboard->channel = g_object_ref(SPICE_MAIN_CHANNEL(channel));
    g_signal_connect(channel, "main-clipboard-selection-grab", G_CALLBACK(on_grab), clipboard);
    g_signal_connect(channel, "main-clipboard-selection", G_CALLBACK(on_data), clipboard);
    g_signal_connect(channel, "main-clipboard-selection-request", G_CALLBACK(on_request),
                     clipboard);
    return clipboard;
}

void clipboard_free(Clipboard *clipboard)
{
    g_signal_handlers_disconnect_by_data(clipboard->channel, clipboard);
    g_object_unref(clipboard->channel);
    g_clear_pointer(&clipboard->inverted, g_byte_array_unref);
    g_free(clipboard);
}
