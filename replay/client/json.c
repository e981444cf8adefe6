/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json.h"

#include <inttypes.h>
#include <stdio.h>

static void separate(Json *json)
{
    if (json->comma) {
        g_string_append_c(json->text, ',');
    }
    json->comma = true;
}

static void append_quoted(GString *text, const char *value)
{
    g_string_append_c(text, '"');
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            g_string_append_c(text, '\\');
            g_string_append_c(text, *c);
        } else if ((unsigned char)*c < 0x20) {
            g_string_append_printf(text, "\\u%04x", *c);
        } else {
            g_string_append_c(text, *c);
        }
    }
    g_string_append_c(text, '"');
}

Json *json_new(void)
{
    Json *json = g_new0(Json, 1);

    json->text = g_string_new(NULL);
    return json;
}

void json_free(Json *json)
{
    g_string_free(json->text, TRUE);
    g_free(json);
}

void json_open(Json *json, char bracket)
{
    separate(json);
    g_string_append_c(json->text, bracket);
    json->comma = false;
}

void json_close(Json *json, char bracket)
{
    g_string_append_c(json->text, bracket);
    json->comma = true;
}

void json_name(Json *json, const char *name)
{
    separate(json);
    append_quoted(json->text, name);
    g_string_append_c(json->text, ':');
    json->comma = false;
}

void json_int(Json *json, int64_t value)
{
    separate(json);
    g_string_append_printf(json->text, "%" PRId64, value);
}

void json_real(Json *json, double value)
{
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    separate(json);
    g_string_append(json->text, g_ascii_formatd(digits, sizeof(digits), "%.6f", value));
}

void json_null(Json *json)
{
    separate(json);
    g_string_append(json->text, "null");
}

void json_put_int(Json *json, const char *name, int64_t value)
{
    json_name(json, name);
    json_int(json, value);
}

void json_put_real(Json *json, const char *name, double value)
{
    json_name(json, name);
    json_real(json, value);
}

void json_put_string(Json *json, const char *name, const char *value)
{
    json_name(json, name);
    if (value == NULL) {
        json_null(json);
        return;
    }
    separate(json);
    append_quoted(json->text, value);
}

void json_print(const Json *json)
{
    puts(json->text->str);
    fflush(stdout);
}
