/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "control.h"

#include <stdio.h>
#include <unistd.h>

#include "diag.h"
#include "../common/json.h"

struct Control {
    const Session *session;
    GIOChannel *input;
    guint source;
    int buttons; /* mask of the pressed buttons */
};

static SpiceInputsChannel *inputs_of(const Control *control)
{
    const Channel *channel = channel_find(control->session->channels, SPICE_CHANNEL_INPUTS, 0);

    return channel != NULL ? SPICE_INPUTS_CHANNEL(channel->spice) : NULL;
}

static void save(const Control *control, int display, const char *path)
{
    const Picture *picture = session_picture(control->session, display);
    GError *error = NULL;
    bool saved = picture != NULL && picture_save_png(picture, path, &error);

    if (error != NULL) {
        diag_error("cannot save %s: %s", path, error->message);
        g_error_free(error);
    }
    json_print(g_variant_new_parsed("{'event': <'picture'>, 'saved': <%i>}", saved));
}

static void press(Control *control, SpiceInputsChannel *inputs, int button, bool down)
{
    /* the mask has no bits for the wheel */
    int mask = button <= SPICE_MOUSE_BUTTON_RIGHT ? 1 << (button - 1) : 0;

    if (down) {
        control->buttons |= mask;
        spice_inputs_channel_button_press(inputs, button, control->buttons);
    } else {
        control->buttons &= ~mask;
        spice_inputs_channel_button_release(inputs, button, control->buttons);
    }
}

static bool obey(Control *control, const char *order)
{
    SpiceInputsChannel *inputs = inputs_of(control);
    int one, two, end = 0;

    if (sscanf(order, "picture %d %n", &one, &end) == 1 && order[end] != '\0') {
        save(control, one, order + end);
        return true;
    }
    if (sscanf(order, "reopen %d%n", &one, &end) == 1 && order[end] == '\0') {
        return session_reopen_display(control->session, one);
    }
    if (inputs == NULL) {
        return false;
    }
    if (sscanf(order, "key %d %d%n", &one, &two, &end) == 2 && order[end] == '\0') {
        (two ? spice_inputs_channel_key_press : spice_inputs_channel_key_release)(inputs, (guint)one);
        return true;
    }
    if (sscanf(order, "move %d %d%n", &one, &two, &end) == 2 && order[end] == '\0') {
        spice_inputs_channel_position(inputs, one, two, 0, control->buttons);
        return true;
    }
    if (sscanf(order, "button %d %d%n", &one, &two, &end) == 2 && order[end] == '\0' &&
        one >= SPICE_MOUSE_BUTTON_LEFT && one <= SPICE_MOUSE_BUTTON_DOWN) {
        press(control, inputs, one, two != 0);
        return true;
    }
    return false;
}

static gboolean on_input(GIOChannel *input, GIOCondition condition G_GNUC_UNUSED, gpointer opaque)
{
    Control *control = opaque;
    char *line = NULL;
    GIOStatus status;

    while ((status = g_io_channel_read_line(input, &line, NULL, NULL, NULL)) == G_IO_STATUS_NORMAL) {
        g_strchomp(line);
        if (!obey(control, line)) {
            diag_error("cannot obey: %s", line);
        }
        g_free(line);
    }
    if (status == G_IO_STATUS_AGAIN) {
        return G_SOURCE_CONTINUE;
    }
    control->source = 0;
    return G_SOURCE_REMOVE;
}

Control *control_new(const Session *session)
{
    Control *control = g_new0(Control, 1);

    control->session = session;
    control->input = g_io_channel_unix_new(STDIN_FILENO);
    g_io_channel_set_encoding(control->input, NULL, NULL);
    g_io_channel_set_flags(control->input, G_IO_FLAG_NONBLOCK, NULL);
    control->source = g_io_add_watch(control->input, G_IO_IN | G_IO_HUP, on_input, control);
    return control;
}

void control_free(Control *control)
{
    if (control == NULL) {
        return;
    }
    g_clear_handle_id(&control->source, g_source_remove);
    g_io_channel_unref(control->input);
    g_free(control);
}
