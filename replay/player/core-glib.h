/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <spice.h>

/*
 * Timers and watches for the library, on GLib's default main context. The
 * library calls these from the thread that runs the main loop only: its
 * workers bring their own.
 */

typedef void (*CoreChannelEvent)(int event, SpiceChannelEventInfo *info);

/* One per process: every call returns the same. */
SpiceCoreInterface *core_glib_interface(CoreChannelEvent channel_event);
