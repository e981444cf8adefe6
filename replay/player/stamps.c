/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stamps.h"

#include <stdbool.h>

typedef struct Stamp {
    unsigned int number;
    int64_t time_ns;
} Stamp;

GArray *stamps_new(void)
{
    return g_array_new(false, false, sizeof(Stamp));
}

void stamps_add(GArray *stamps, unsigned int number, int64_t time_ns)
{
    Stamp stamp = { number, time_ns };

    g_array_append_val(stamps, stamp);
}

void stamps_report(const GArray *stamps, GString *json)
{
    g_string_append_c(json, '[');
    for (unsigned int i = 0; i < stamps->len; i++) {
        const Stamp *stamp = &g_array_index(stamps, Stamp, i);

        g_string_append_printf(json, "%s[%u,%" G_GINT64_FORMAT "]", i ? "," : "", stamp->number,
                               stamp->time_ns);
    }
    g_string_append_c(json, ']');
}
