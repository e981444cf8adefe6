/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "device.h"

/*
 * The devices beside the recorded display, so that the other channels have
 * traffic too (device.h).
 */
typedef struct Devices Devices;

/*
 * list: "all", or some of sound, sound-raw, inputs, pointer, port,
 * separated by commas; port:MIB says how much is
 * transferred. NULL with *error set to one line if it is invalid. The server
 * must be initialised and have no client.
 */
Devices *devices_new(const Guest *guest, const char *list, char **error);

void devices_start(Devices *devices);

/* Stop all traffic. */
void devices_stop(Devices *devices);

/* Between start and stop. */
bool devices_are_running(const Devices *devices);

/* Finite traffic has reached the client, and every device has run for a moment. */
bool devices_are_finished(const Devices *devices);

/* The unfinished ones, for a message. To be freed. */
char *devices_unfinished(const Devices *devices);

/* Increases as they get closer to being finished; sound does not count, as it never is. */
uint64_t devices_progress(const Devices *devices);

/* Their results: an object with one member per device. Floating. */
GVariant *devices_report(const Devices *devices);

/* After the server is destroyed. */
void devices_free(Devices *devices);
