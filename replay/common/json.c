/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json.h"

#include <json-glib/json-glib.h>
#include <stdio.h>

void json_put(GVariantBuilder *object, const char *name, GVariant *value)
{
    g_variant_builder_add(object, "{sv}", name, value);
}

GVariant *json_text(const char *text)
{
    GVariant *valid = text ? g_variant_new_take_string(g_utf8_make_valid(text, -1)) : NULL;

    return g_variant_new_maybe(G_VARIANT_TYPE_STRING, valid);
}

GVariant *json_rows(const char *type, const GArray *rows)
{
    return g_variant_new_fixed_array(G_VARIANT_TYPE(type), rows->data, rows->len,
                                     g_array_get_element_size((GArray *) rows));
}

bool json_print(GVariant *said)
{
    char *line = json_gvariant_serialize_data(g_variant_ref_sink(said), NULL);
    bool is_printed = puts(line) != EOF && fflush(stdout) == 0;

    g_free(line);
    g_variant_unref(said);
    return is_printed;
}

bool json_event(const char *name)
{
    return json_print(g_variant_new_parsed("{'event': <%s>}", name));
}
