/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "clipboard.h"

struct Clipboard {
    SpiceMainChannel *channel;
    GByteArray *copied; /* what the guest gets, NULL before */
    int64_t received_bytes;
    int64_t sent_bytes;
    char *received_sha256; /* NULL before, as the next */
    char *sent_sha256;
};

static char *sha256(const guint8 *data, gsize size)
{
    return g_compute_checksum_for_data(G_CHECKSUM_SHA256, data, size);
}

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

    clipboard->received_bytes = size;
    g_free(clipboard->received_sha256);
    clipboard->received_sha256 = sha256(data, size);
    g_clear_pointer(&clipboard->copied, g_byte_array_unref);
    clipboard->copied = g_byte_array_append(g_byte_array_sized_new(size), data, size);
    for (guint i = 0; i < size; i++) {
        clipboard->copied->data[i] ^= 0xff;
    }
    spice_main_channel_clipboard_selection_grab(channel, selection, types, G_N_ELEMENTS(types));
}

static gboolean on_request(SpiceMainChannel *channel, guint selection, guint type,
                           Clipboard *clipboard)
{
    GByteArray *copied = clipboard->copied;

    if (copied == NULL) {
        return FALSE;
    }
    clipboard->sent_bytes = copied->len;
    g_free(clipboard->sent_sha256);
    clipboard->sent_sha256 = sha256(copied->data, copied->len);
    spice_main_channel_clipboard_selection_notify(channel, selection, type, copied->data,
                                                  copied->len);
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
    g_clear_pointer(&clipboard->copied, g_byte_array_unref);
    g_free(clipboard->received_sha256);
    g_free(clipboard->sent_sha256);
    g_free(clipboard);
}

int64_t clipboard_bytes(const Clipboard *clipboard)
{
    return clipboard->received_bytes + clipboard->sent_bytes;
}

void clipboard_report(const Clipboard *clipboard, JsonBuilder *json)
{
    json_builder_begin_object(json);
    json_put_int(json, "received_bytes", clipboard->received_bytes);
    json_put_string(json, "received_sha256", clipboard->received_sha256);
    json_put_int(json, "sent_bytes", clipboard->sent_bytes);
    json_put_string(json, "sent_sha256", clipboard->sent_sha256);
    json_builder_end_object(json);
}
