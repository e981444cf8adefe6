/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json.h"

#include <glib.h>
#include <stdio.h>

/* A file's name may be any bytes; JSON is UTF-8. */
void json_print_string(const char *text)
{
    char *valid = g_utf8_make_valid(text, -1);

    putchar('"');
    for (const char *p = valid; *p; p++) {
        unsigned char c = *p;

        if (c == '"' || c == '\\') {
            printf("\\%c", c);
        } else if (c < 0x20) {
            printf("\\u%04x", c);
        } else {
            putchar(c);
        }
    }
    putchar('"');
    g_free(valid);
}
