/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keyboard and mouse. Scroll Lock is answered with its light at once, as a guest
 * does: the time until a client sees it is the time of an echo. No tablet: with
 * one the server sends no cursor moves, and those of the recording are wanted.
 */
#include "device.h"

#include <spice/enums.h>

#define SCAN_RELEASE 0x80
#define SCAN_SCROLL_LOCK 0x46

typedef struct DeviceInputs {
    Device device;
    SpiceKbdInstance keyboard;
    SpiceMouseInstance mouse;
    uint8_t leds;
    uint64_t keys;              /* pressed */
    uint64_t motions;           /* sum of the horizontal ones */
} DeviceInputs;

static void push_scan(SpiceKbdInstance *keyboard, uint8_t code)
{
    DeviceInputs *inputs = SPICE_CONTAINEROF(keyboard, DeviceInputs, keyboard);

    if (code & SCAN_RELEASE) {
        return;
    }
    inputs->keys++;
    if (code == SCAN_SCROLL_LOCK) {
        inputs->leds ^= SPICE_KEYBOARD_MODIFIER_FLAGS_SCROLL_LOCK;
        spice_server_kbd_leds(keyboard, inputs->leds);
    }
}

static uint8_t get_leds(SpiceKbdInstance *keyboard)
{
    return SPICE_CONTAINEROF(keyboard, DeviceInputs, keyboard)->leds;
}

static void motion(SpiceMouseInstance *mouse, int dx, int dy G_GNUC_UNUSED, int dz G_GNUC_UNUSED,
                   uint32_t buttons G_GNUC_UNUSED)
{
    SPICE_CONTAINEROF(mouse, DeviceInputs, mouse)->motions += dx;
}

static void buttons(SpiceMouseInstance *mouse G_GNUC_UNUSED, uint32_t state G_GNUC_UNUSED)
{
}

static const SpiceKbdInterface keyboard_interface = {
    .base = {
        .type = SPICE_INTERFACE_KEYBOARD,
        .description = "a keyboard",
        .major_version = SPICE_INTERFACE_KEYBOARD_MAJOR,
        .minor_version = SPICE_INTERFACE_KEYBOARD_MINOR,
    },
    .push_scan_freg = push_scan,
    .get_leds = get_leds,
};

static const SpiceMouseInterface mouse_interface = {
    .base = {
        .type = SPICE_INTERFACE_MOUSE,
        .description = "a mouse",
        .major_version = SPICE_INTERFACE_MOUSE_MAJOR,
        .minor_version = SPICE_INTERFACE_MOUSE_MINOR,
    },
    .motion = motion,
    .buttons = buttons,
};

static bool is_finished(const Device *device)
{
    const DeviceInputs *inputs = (const DeviceInputs *) device;

    return inputs->keys > 0 && inputs->motions > 0;
}

static GVariant *report(const Device *device)
{
    const DeviceInputs *inputs = (const DeviceInputs *) device;

    return g_variant_new_parsed("{'keys': <%t>, 'motions': <%t>}", inputs->keys, inputs->motions);
}

static void add(Device *device, const Guest *guest, uint64_t bytes G_GNUC_UNUSED)
{
    DeviceInputs *inputs = (DeviceInputs *) device;

    inputs->keyboard.base.sif = &keyboard_interface.base;
    inputs->mouse.base.sif = &mouse_interface.base;
    spice_server_add_interface(guest->server, &inputs->keyboard.base);
    spice_server_add_interface(guest->server, &inputs->mouse.base);
}

const DeviceKind device_inputs = {
    .name = "inputs",
    .reported = "inputs",
    .in_all = true,
    .size = sizeof(DeviceInputs),
    .add = add,
    .is_finished = is_finished,
    .report = report,
};
