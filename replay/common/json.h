/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COMMON_JSON_H_
#define COMMON_JSON_H_

#include <json-glib/json-glib.h>

/* Shorthands for json-glib. The programs print lines of JSON. */

/* Name and value at once. A string need not be UTF-8; NULL becomes null. */
void json_put_int(JsonBuilder *json, const char *name, gint64 value);
void json_put_real(JsonBuilder *json, const char *name, double value);
void json_put_string(JsonBuilder *json, const char *name, const char *value);

/* Prints the line, flushes, and frees the builder. */
void json_print(JsonBuilder *json);

/* The text as a JSON string with its quotes, to be freed. It need not be UTF-8. */
char *json_quoted(const char *text);

#endif /* COMMON_JSON_H_ */
