/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef DEVICES_H_
#define DEVICES_H_

#include <stdbool.h>
#include <stdint.h>

#include "device.h"

/*
 * The devices that send and take beside the recorded display, so that the
 * other channels have traffic too. See device.h for what one is.
 */
typedef struct Devices Devices;

/*
 * list: "all", or some of sound, sound-raw, record, inputs, pointer, agent,
 * port, separated by commas; agent:KIB and port:MIB say how much is
 * transferred. NULL with *error set, one line, when it makes no sense. The
 * server must be initialised and have no client.
 */
Devices *devices_new(const Guest *guest, const char *list, char **error);

void devices_start(Devices *devices);

/* They are quiet from now on. */
void devices_stop(Devices *devices);

/* Between start and stop. */
bool devices_are_running(const Devices *devices);

/* All that has an end has reached the client, and every device has run for a moment. */
bool devices_are_finished(const Devices *devices);

/* Which are not, for people. To be freed. */
char *devices_unfinished(const Devices *devices);

/* Grows while they come closer to being finished; not with sound, which never is. */
uint64_t devices_progress(const Devices *devices);

/* What they did: a JSON object with one member a device. To be freed. */
char *devices_report(const Devices *devices);

/* After the server is destroyed. */
void devices_free(Devices *devices);

#endif /* DEVICES_H_ */
