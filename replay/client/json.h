/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A writer of one-line JSON: each call appends a value, commas are its own business.
 *
 * Inside an object every value is preceded by json_name(); a caller who does not open and close
 * in pairs gets broken text, nothing checks it. */

#ifndef DRAIN_JSON_H_
#define DRAIN_JSON_H_

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Json {
    GString *text;
    bool comma; /* a value precedes: the next one at this level needs a comma */
} Json;

Json *json_new(void);
void json_free(Json *json);

void json_open(Json *json, char bracket);  /* '{' or '[' */
void json_close(Json *json, char bracket); /* '}' or ']' */
void json_name(Json *json, const char *name);

void json_int(Json *json, int64_t value);
void json_real(Json *json, double value); /* six decimals */
void json_null(Json *json);

/* Name and value at once. */
void json_put_int(Json *json, const char *name, int64_t value);
void json_put_real(Json *json, const char *name, double value);
void json_put_string(Json *json, const char *name, const char *value); /* NULL becomes null */

/* Writes the text and a newline to stdout and flushes. */
void json_print(const Json *json);

#endif /* DRAIN_JSON_H_ */
