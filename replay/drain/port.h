/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A port channel: what it sends is counted and hashed. */

#ifndef DRAIN_PORT_H_
#define DRAIN_PORT_H_

#include <spice-client.h>
#include <stdbool.h>

typedef struct Port Port;

/* answers: a server that closes its end of the port, after all data, is sent a break. */
Port *port_new(SpiceChannel *channel, bool answers);
void port_free(Port *port);
int64_t port_bytes(const Port *port);

/* An object: the port's name, bytes, and sha256 of all data so far. The library handles webdav
 * itself and does not show its data: there bytes and sha256 are null. */
GVariant *port_report(const Port *port);

#endif /* DRAIN_PORT_H_ */
