/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json.h"

#include <stdio.h>

void json_put_int(JsonBuilder *json, const char *name, gint64 value)
{
    json_builder_set_member_name(json, name);
    json_builder_add_int_value(json, value);
}

void json_put_real(JsonBuilder *json, const char *name, double value)
{
    json_builder_set_member_name(json, name);
    json_builder_add_double_value(json, value);
}

void json_put_string(JsonBuilder *json, const char *name, const char *value)
{
    json_builder_set_member_name(json, name);
    if (value == NULL) {
        json_builder_add_null_value(json);
    } else {
        char *valid = g_utf8_make_valid(value, -1);

        json_builder_add_string_value(json, valid);
        g_free(valid);
    }
}

void json_print(JsonBuilder *json)
{
    JsonNode *root = json_builder_get_root(json);
    char *line = json_to_string(root, FALSE);

    puts(line);
    fflush(stdout);
    g_free(line);
    json_node_unref(root);
    g_object_unref(json);
}

char *json_quoted(const char *text)
{
    char *valid = g_utf8_make_valid(text, -1);
    JsonNode *node = json_node_init_string(json_node_alloc(), valid);
    char *quoted = json_to_string(node, FALSE);

    json_node_unref(node);
    g_free(valid);
    return quoted;
}
