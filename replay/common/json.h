/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* The programs print lines of JSON. What they say is a GVariant: a{sv} becomes an object, an array or tuple a list, an
 * empty maybe null. Functions take the floating reference of a value. */

/* A member of an object (G_VARIANT_TYPE_VARDICT). */
void json_put(GVariantBuilder *object, const char *name, GVariant *value);

/* A maybe of a string, which need not be UTF-8; NULL becomes null. */
GVariant *json_text(const char *text);

/* A list. type: of an element with the layout of the C type, such as (ux) of a struct of unsigned int and int64_t. */
GVariant *json_rows(const char *type, const GArray *rows);

/* Prints the line and flushes; false if standard output cannot be written. */
bool json_print(GVariant *said);

/* Likewise of {"event": name}. */
bool json_event(const char *name);
