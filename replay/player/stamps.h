/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef STAMPS_H_
#define STAMPS_H_

#include <glib.h>
#include <stdint.h>

/* What a device has sent, piece by piece: its number, and when. To be freed with g_array_unref. */
GArray *stamps_new(void);

void stamps_add(GArray *stamps, unsigned int number, int64_t time_ns);

/* Appends them as a JSON list of [number, ns]. */
void stamps_report(const GArray *stamps, GString *json);

#endif /* STAMPS_H_ */
